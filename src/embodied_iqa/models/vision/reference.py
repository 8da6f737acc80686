"""References: how command lines and databases name vision models.

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

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_code import check_target, own_code
from embodied_iqa.models.subjects.subject_options import LoadingOptions, Progress, silent
from embodied_iqa.models.vision.checked import CheckedModel
from embodied_iqa.models.vision.model import VisionModel


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
