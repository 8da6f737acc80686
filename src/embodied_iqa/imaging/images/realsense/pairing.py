"""Pairing of colour and depth images, and counting of lost ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_TOLERANCE_PERIODS: Final = 0.6
"""Half a period is the most by which two free-running sensors of one rate differ; the rest is jitter."""


@dataclass(frozen=True, slots=True)
class SetStamp:
    """Identity of a set of images.

    Attributes:
        colour_number: The camera's count of colour images.
        colour_ms: The colour image's stamp by the camera's clock.
        depth_ms: The depth image's, or None without depth.
    """

    colour_number: int
    colour_ms: float
    depth_ms: float | None


class Pairing:
    """Accepts each colour image once, with the depth image of the same time.

    librealsense emits a set whenever one of its streams has a new image, so the same colour image can
    come twice, first with an old depth image and then with its own.

    Args:
        period_ms: Time between two images.
        with_depth: Whether a set needs depth.
    """

    def __init__(self, period_ms: float, *, with_depth: bool) -> None:
        self._tolerance_ms = _TOLERANCE_PERIODS * period_ms
        self._with_depth = with_depth
        self._last: int | None = None
        self.lost = 0

    def accept(self, stamp: SetStamp) -> bool:
        """Return whether a set is new and complete; skipped colour images count as lost."""
        if self._last is not None and stamp.colour_number == self._last:
            return False
        if self._with_depth and (
            stamp.depth_ms is None or abs(stamp.depth_ms - stamp.colour_ms) > self._tolerance_ms
        ):
            return False
        if self._last is not None and stamp.colour_number > self._last:
            self.lost += stamp.colour_number - self._last - 1
        self._last = stamp.colour_number
        return True

    def restart(self) -> None:
        """Forget the last image: the camera's count starts again."""
        self._last = None
