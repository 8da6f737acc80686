"""The vision models of a build, loaded once in each process, and their checked predictions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Prediction, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models
from embodied_iqa.quality.metrics.metric import Image


@lru_cache(maxsize=4)
def models_of(words: tuple[str, ...], task: VisionTask) -> tuple[VisionModel, ...]:
    """Return the models of a task, in a fixed order.

    Args:
        words: References of models (docs/vision-models.md).
        task: Models of other tasks are left out.

    Raises:
        UsageError: None of them does this task, or a name comes twice.
        UserError: A model cannot be loaded.
    """
    found = tuple(model for model in _loaded(words) if model.info.task is task)
    if not found:
        raise UsageError(f"no model for {task}", expected="one or more", got=", ".join(words))
    return found


@lru_cache(maxsize=1)
def _loaded(words: tuple[str, ...]) -> tuple[VisionModel, ...]:
    return tuple(load_vision_models(words))


def predictions_of(model: VisionModel, images: Sequence[Image], names: Sequence[str]) -> list[Prediction]:
    """Return the predictions of a model, which `load_vision_models` checks.

    Args:
        model: The model.
        images: ``(H, W, 3)`` uint8 RGB each.
        names: Of the images, for messages.

    Raises:
        InputError: The model failed, or predicted something that is not usable; names model and image.
    """
    try:
        return list(model.predict(images))
    except InputError as error:
        if len(images) > 1:  # find the image
            for image, name in zip(images, names, strict=True):
                predictions_of(model, [image], [name])
        raise InputError(f"image {names[0]}: {first_line(error)}") from error
