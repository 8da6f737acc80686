"""The vision models of a build, loaded once in each process, and their checked predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Prediction, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models
from embodied_iqa.quality.metrics.metric import Image
from embodied_iqa.suites.miqa.building.reference import MiqaSource

_SHOWN: Final = 8


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


def unknown_categories(
    words: tuple[str, ...], tasks: Sequence[VisionTask], source: MiqaSource
) -> tuple[str, ...]:
    """Return in words which categories of the truth a model does not know: there it can only be wrong.

    Raises:
        UsageError: The models of a task know none of them.
        UserError: See `models_of`.
    """
    notes = []
    for task in tasks:
        models, categories = models_of(words, task), source.categories(task)
        known = {name for model in models for name in model.info.classes}
        if not categories & known:
            raise UsageError(
                f"no model for {task} knows a category of {source.description}",
                expected=f"models with one of the classes {_listed(categories)}",
                got=_listed(known),
            )
        lacking = {model.info.name: categories - set(model.info.classes) for model in models}
        notes += [
            f"{name} ({task}) has no class {_listed(unknown)}: it can only be wrong there"
            for name, unknown in lacking.items()
            if unknown
        ]
    return tuple(notes)


def _listed(names: Iterable[str]) -> str:
    """Return the first names in the order of the alphabet, and the number of the others."""
    ordered = sorted(names)
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more


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
