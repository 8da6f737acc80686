"""Formats of the images that members of the panel see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.panel.format import LARGE_PX, SMALL_PX, Framing


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """Format of a member's images.

    Attributes:
        framing: Part of the camera's image.
        size_px: Width and height.
    """

    framing: Framing
    size_px: tuple[int, int]

    def file(self, view: View) -> str:
        """Return the name of the file of a view's images."""
        return f"{view}-{self.framing}-{self.size_px[0]}.npy"


SMALL_WHOLE: Final = ImageFormat(Framing.WHOLE, SMALL_PX)
LARGE_WHOLE: Final = ImageFormat(Framing.WHOLE, LARGE_PX)
SMALL_CLOSE: Final = ImageFormat(Framing.CLOSE, SMALL_PX)
FORMATS: Final[tuple[tuple[View, ImageFormat], ...]] = (
    (View.TOP, SMALL_WHOLE),
    (View.TOP, LARGE_WHOLE),
    (View.TOP, SMALL_CLOSE),
    (View.SIDE, SMALL_CLOSE),
    (View.WRIST, SMALL_WHOLE),
    (View.WRIST, SMALL_CLOSE),
)
"""Views and formats of the images that are stored."""
