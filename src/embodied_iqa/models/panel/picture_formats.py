"""Formats of the pictures that members of the panel see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.panel.format import LARGE_PX, SMALL_PX, Framing


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """Format of a member's pictures.

    Attributes:
        framing: Part of the camera's picture.
        size_px: Width and height.
    """

    framing: Framing
    size_px: tuple[int, int]

    def file(self, view: View) -> str:
        """Return the name of the file of a view's pictures."""
        return f"{view}-{self.framing}-{self.size_px[0]}.npy"


SMALL_WHOLE: Final = PictureFormat(Framing.WHOLE, SMALL_PX)
LARGE_WHOLE: Final = PictureFormat(Framing.WHOLE, LARGE_PX)
SMALL_CLOSE: Final = PictureFormat(Framing.CLOSE, SMALL_PX)
FORMATS: Final[tuple[tuple[View, PictureFormat], ...]] = (
    (View.TOP, SMALL_WHOLE),
    (View.TOP, LARGE_WHOLE),
    (View.TOP, SMALL_CLOSE),
    (View.SIDE, SMALL_CLOSE),
    (View.WRIST, SMALL_WHOLE),
    (View.WRIST, SMALL_CLOSE),
)
"""Views and formats of the pictures that are stored."""
