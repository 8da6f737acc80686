"""The members that ship with the package, one factory each for the catalogue, and those of a user's own."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from embodied_iqa.errors import UsageError
from embodied_iqa.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.subjects.model_card import ModelCard, load_card
from embodied_iqa.subjects.options import VlaRequest, VlmRequest

__all__ = [
    "MODELS",
    "VLA_NAMES",
    "VLM_NAMES",
    "card_of",
    "make_panel_vla",
    "make_panel_vlm",
    "make_trained_vla",
    "make_trained_vlm",
    "names_in",
]

MODELS: Final = Path(str(files("embodied_iqa.subjects.backends.panel"))) / "models"
"""Networks and cards that ship with the package."""

VLA_NAMES: Final = (
    "panel-vla-film",
    "panel-vla-query",
    "panel-vla-side",
    "panel-vla-hand",
    "panel-vla-hybrid",
)
VLM_NAMES: Final = (
    "panel-vlm-fine",
    "panel-vlm-plain",
    "panel-vlm-mixer",
    "panel-vlm-side",
    "panel-vlm-hand",
)


def make_panel_vla(name: str, folder: Path = MODELS) -> LearnedVla:
    """Load a learned VLA."""
    return LearnedVla(folder, name)


def make_panel_vlm(name: str, folder: Path = MODELS) -> LearnedVlm:
    """Load a learned VLM."""
    return LearnedVlm(folder, name)


def make_trained_vla(request: VlaRequest) -> LearnedVla:
    """Load a learned VLA of the user's own, ``panel:FOLDER/MEMBER``."""
    place = Path(request.reference.target).expanduser()
    return LearnedVla(place.parent, place.name, called=request.reference.text)


def make_trained_vlm(request: VlmRequest) -> LearnedVlm:
    """Load a learned VLM of the user's own, ``panel:FOLDER/MEMBER``."""
    place = Path(request.reference.target).expanduser()
    return LearnedVlm(place.parent, place.name, called=request.reference.text)


def card_of(name: str, folder: Path = MODELS) -> ModelCard:
    """Return a member's card."""
    return load_card(folder / f"{name}.json")


def names_in(folder: Path = MODELS) -> tuple[str, ...]:
    """List the members whose network and card lie in a folder, in the panel's order.

    Raises:
        UsageError: There is none.
    """
    names = tuple(
        name for name in (*VLA_NAMES, *VLM_NAMES) if all((folder / f"{name}{end}").is_file() for end in _ENDS)
    )
    if not names:
        raise UsageError(f"no members of the panel in {folder}", expected="NAME.onnx with NAME.json")
    return names


_ENDS: Final = (".onnx", ".json")

vla_film = partial(make_panel_vla, "panel-vla-film")
vla_query = partial(make_panel_vla, "panel-vla-query")
vla_side = partial(make_panel_vla, "panel-vla-side")
vla_hand = partial(make_panel_vla, "panel-vla-hand")
vla_hybrid = partial(make_panel_vla, "panel-vla-hybrid")
vlm_fine = partial(make_panel_vlm, "panel-vlm-fine")
vlm_plain = partial(make_panel_vlm, "panel-vlm-plain")
vlm_mixer = partial(make_panel_vlm, "panel-vlm-mixer")
vlm_side = partial(make_panel_vlm, "panel-vlm-side")
vlm_hand = partial(make_panel_vlm, "panel-vlm-hand")
