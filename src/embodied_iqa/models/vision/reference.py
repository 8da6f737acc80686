"""References to vision models in command lines and databases; every prediction of one is checked.

panel                                            the embedded vision panel, all of its models
panel:NAME                                       one of them
panel:FOLDER                                     a panel that `embodied-iqa train vision-panel` made
panel:FOLDER/NAME                                one of its models
transformers:FOLDER                              a checkpoint on this machine, for Hugging Face transformers
torchvision:NAME                                 a model of torchvision, if its usual weights are cached
torchvision:NAME,weights=FILE.safetensors        the same with the user's weights
python:my_models.vision:make                     a factory in the user's own code

Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_code import check_target, own_code
from embodied_iqa.models.subjects.subject_options import LoadingOptions, Progress, silent
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


class VisionBackend(StrEnum):
    """What runs a vision model."""

    PANEL = "panel"
    TRANSFORMERS = "transformers"
    TORCHVISION = "torchvision"
    PYTHON = "python"


FORMS: Final = (
    "panel",
    "panel:NAME",
    "panel:FOLDER[/NAME] of `embodied-iqa train vision-panel`",
    "transformers:FOLDER",
    "torchvision:NAME[,weights=FILE.safetensors]",
    "python:MODULE:FACTORY",
)
"""For error messages and help."""
_FACTORIES: Final = {
    VisionBackend.TRANSFORMERS: "embodied_iqa.models.vision.backends.transformers:make",
    VisionBackend.TORCHVISION: "embodied_iqa.models.vision.backends.torchvision:make",
    VisionBackend.PYTHON: "embodied_iqa.models.vision.backends.python:make",
}
_MODELS_OF_TRAINING: Final = "models"
_PANEL: Final = "embodied_iqa.models.vision.backends.panel:load_vision_panel"


@dataclass(frozen=True, slots=True)
class VisionReference:
    """A parsed reference.

    Attributes:
        text: As given, without blanks around it.
        backend: What runs the model.
        target: Behind the colon; empty for the whole embedded panel.
    """

    text: str
    backend: VisionBackend
    target: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class VisionRequest:
    """Input of a back end.

    Attributes:
        reference: Which model.
        loading: How a checkpoint is loaded.
        progress: Takes lines that report how far loading is.
    """

    reference: VisionReference
    loading: LoadingOptions
    progress: Progress


def parse_vision_reference(text: str) -> VisionReference:
    """Parse a reference; nothing is loaded.

    Raises:
        UsageError: The text has none of the forms, or names a folder or a module that does not exist.
    """
    text = text.strip()
    scheme, colon, target = text.partition(":")
    if scheme not in set(VisionBackend) or bool(target) != bool(colon) or not (colon or scheme == "panel"):
        raise UsageError("not a vision model", got=text, available=FORMS)
    backend = VisionBackend(scheme)
    if backend is VisionBackend.PYTHON:
        check_target(target)
    if backend is VisionBackend.TRANSFORMERS and not Path(target).expanduser().is_dir():
        raise UsageError("not a folder with a checkpoint", expected=FORMS[3], got=text)
    return VisionReference(text, backend, target)


def load_vision_models(
    texts: str | Iterable[str], loading: LoadingOptions | None = None, progress: Progress = silent
) -> list[VisionModel]:
    """Load the models of references, in their order; their predictions are checked.

    Args:
        texts: One reference or several (docs/vision-models.md); a panel stands for all of its models.
        loading: How checkpoints are loaded.
        progress: Takes lines that report how far loading is.

    Raises:
        UserError: A reference is wrong, a model cannot be loaded, or two have the same name.
    """
    texts = [texts] if isinstance(texts, str) else texts
    references = [parse_vision_reference(text) for text in texts]
    models: list[VisionModel] = []
    for reference in references:
        request = VisionRequest(reference, loading or LoadingOptions(), progress)
        with own_code(f"{reference} cannot be loaded"):
            models += [CheckedModel(model) for model in _models_of(request)]
    names = [model.info.name for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError("two vision models have the same name", expected="each model once", got=twice[0])
    return models


def _models_of(request: VisionRequest) -> list[VisionModel]:
    if request.reference.backend is VisionBackend.PANEL:
        return _of_panel(request.reference)
    return cast("list[VisionModel]", load(_FACTORIES[request.reference.backend])(request))


def _of_panel(reference: VisionReference) -> list[VisionModel]:
    """Return all models of a panel, or the one that is named."""
    folder, name = _folder_and_name(reference.target)
    if folder is not None and (folder / _MODELS_OF_TRAINING).is_dir():
        folder /= _MODELS_OF_TRAINING
    models = cast("list[VisionModel]", load(_PANEL)(folder))
    chosen = [model for model in models if name in {"", model.info.name}]
    if not chosen:
        available = [model.info.name for model in models]
        raise UsageError("no such model in the vision panel", got=name, available=available)
    return chosen


def _folder_and_name(target: str) -> tuple[Path | None, str]:
    """Return the folder, None for the embedded panel, and the name, empty for all models."""
    path = Path(target).expanduser()
    if not target or path.is_dir():
        return (path if target else None), ""
    if "/" not in target:
        return None, target
    if not path.parent.is_dir():
        raise UsageError("no vision panel in this folder", expected=FORMS[2], got=str(path.parent))
    return path.parent, path.name
