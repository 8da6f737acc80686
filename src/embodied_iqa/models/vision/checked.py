"""Vision models whose predictions are checked: a label is never made of an unusable one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.user_code import own_code
from embodied_iqa.models.vision.average_precision import MOST_PREDICTIONS
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask


class CheckedModel:
    """A vision model that raises an `InputError` with its name where it fails or predicts what is not usable.

    Of more than 100 instances, those with the best scores are kept.

    Args:
        model: The model.
    """

    def __init__(self, model: VisionModel) -> None:
        self._model = model

    @property
    def info(self) -> VisionModelInfo:
        """What is known of the model."""
        return self._model.info

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return one prediction for each image, see `VisionModel.predict`.

        Raises:
            InputError: The model fails, or its prediction is not usable.
        """
        name = self.info.name
        with own_code(f"{name} fails"):
            try:
                made = list(self._model.predict(images))
            except UserError as error:
                raise InputError(f"{name}: {error}") from error
        if len(made) != len(images):
            raise self._unusable("number of predictions", str(len(images)), len(made))
        return [self._checked(one, image) for one, image in zip(made, images, strict=True)]

    def _checked(self, prediction: Prediction, image: NDArray[np.uint8]) -> Prediction:
        wanted = Classification if self.info.task is VisionTask.CLASSIFICATION else Instances
        if not isinstance(prediction, wanted):
            raise self._unusable("prediction", wanted.__name__, type(prediction).__name__)
        labels = (
            {prediction.label} - {""} if isinstance(prediction, Classification) else set(prediction.labels)
        )
        if not labels <= set(self.info.classes):
            unknown = min(labels - set(self.info.classes))
            raise self._unusable("class", "one of the classes that it names", unknown)
        scores = np.atleast_1d(
            prediction.score if isinstance(prediction, Classification) else prediction.scores
        )
        if not ((scores >= 0) & (scores <= 1)).all():  # NaN is refused, too
            raise self._unusable("score", "numbers in [0, 1]", float(scores.flat[_first_outside(scores)]))
        return self._ranked(prediction, image) if isinstance(prediction, Instances) else prediction

    def _ranked(self, instances: Instances, image: NDArray[np.uint8]) -> Instances:
        """Return the instances by falling score, at most 100."""
        masks = instances.masks if self.info.task is VisionTask.SEGMENTATION else None
        if self.info.task is VisionTask.SEGMENTATION:
            expected = (len(instances), *image.shape[:2])
            if masks is None or masks.dtype != bool or masks.shape != expected:
                got = None if masks is None else f"{masks.dtype} {masks.shape}"
                raise self._unusable("masks", f"bool {expected}", got or "none")
        order = np.argsort(-instances.scores, kind="stable")[:MOST_PREDICTIONS]
        return Instances(
            tuple(instances.labels[row] for row in order),
            instances.scores[order],
            instances.boxes_px[order],
            None if masks is None else masks[order],
        )

    def _unusable(self, what: str, expected: str, got: object) -> InputError:
        return InputError(f"{self.info.name}: unusable {what}", expected=expected, got=got)


def _first_outside(scores: NDArray[np.float64]) -> int:
    return int(np.flatnonzero(~((scores >= 0) & (scores <= 1)))[0])
