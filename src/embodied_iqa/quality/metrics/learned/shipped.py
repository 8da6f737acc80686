"""The trained metrics of this package, by plain name: ``embodied-nr``, ``embodied-fr#calibrated``."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

from embodied_iqa.quality.metrics.metric import Needs

CALIBRATED: Final = "#calibrated"
"""Behind a name or a folder: the value is the predicted label instead of the rank."""
SHIPPED: Final = MappingProxyType(
    {"embodied-nr": Needs.NOTHING, "embodied-fr": Needs.REFERENCE, "resnet-18": Needs.NOTHING}
)
"""What each needs, by name. Their cards say on what they were trained and what they reached."""
_FOLDER: Final = Path(__file__).with_name("weights")


def shipped_name(word: str) -> str | None:
    """Return the name of a shipped metric that a word means, as ``Embodied_NR``; None if none.

    ``#calibrated`` behind it stays.
    """
    plain = word.strip().lower().replace("_", "-")
    return plain if plain.removesuffix(CALIBRATED) in SHIPPED else None


def shipped_folder(name: str) -> Path | None:
    """Return the folder with network and card of a shipped metric; None if it is not one."""
    known = shipped_name(name)
    return None if known is None else _FOLDER / known.removesuffix(CALIBRATED)
