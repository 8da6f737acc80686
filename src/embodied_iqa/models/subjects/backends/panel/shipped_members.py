"""Members of the embedded panel: those that ship with the package, and those of a user's own training."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from embodied_iqa.models.subjects.backends.panel.reactive import ReactiveVla
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.models.subjects.model_card import ModelCard, load_card
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import VlaRequest, VlmRequest

MODELS: Final = Path(str(files("embodied_iqa.models.subjects.backends.panel"))) / "models"
"""Networks and cards that ship with the package."""


def make_vla(request: VlaRequest) -> LearnedVla | ReactiveVla:
    """Load a VLA of the package, or one of a user's own training, ``panel:FOLDER/MEMBER``."""
    folder, name, called = _location(request.reference)
    if card_of(name, folder).step_rate_hz is not None:
        return ReactiveVla(folder, name, called)
    return LearnedVla(folder, name, called, acts=request.options.policy.acts)


def make_vlm(request: VlmRequest) -> LearnedVlm:
    """Load a VLM of the package, or one of a user's own training, ``panel:FOLDER/MEMBER``."""
    return LearnedVlm(*_location(request.reference))


def _location(reference: SubjectReference) -> tuple[Path, str, str]:
    """Return folder and name of the network, and what its answers call it."""
    if reference.backend is Backend.EMBEDDED:
        return MODELS, reference.text, ""
    path = Path(reference.target).expanduser()
    return path.parent, path.name, reference.text


def card_of(name: str, folder: Path = MODELS) -> ModelCard:
    """Return a member's card."""
    return load_card(folder / f"{name}.json")
