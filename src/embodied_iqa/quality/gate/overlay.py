"""An image with the gate's verdict on it, for people who look on."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.lazy import INSTALL_DATA, Later
from embodied_iqa.quality.gate.judge import ImageQuality

cv2: Any = Later("cv2", INSTALL_DATA)

_LARGEST_PX: Final = 640
_BAR_PX, _LINE_PX, _LEFT_PX = 44, 18, 6
_FONT, _SCALE, _THICKNESS_PX = 0, 0.42, 1
"""OpenCV's ``FONT_HERSHEY_SIMPLEX``, its size, and that of its lines."""
_COLOURS: Final = {Verdict.PASS: (20, 110, 50), Verdict.HOLD: (150, 95, 0), Verdict.REJECT: (170, 25, 25)}
"""Red, green, blue, dark enough for white letters."""
_WHITE: Final = (255, 255, 255)


def overlaid(rgb: NDArray[np.uint8], quality: ImageQuality) -> NDArray[np.uint8]:
    """Return ``(H, W, 3)`` uint8 RGB: the image, at most 640 px a side, below a bar with verdict and reason.

    Args:
        rgb: ``(H, W, 3)`` uint8 RGB, as it was judged.
        quality: What the gate says of it.
    """
    scale = min(1.0, _LARGEST_PX / max(rgb.shape[:2]))
    if scale < 1.0:
        size = [max(1, round(scale * side)) for side in rgb.shape[1::-1]]  # a line of pixels stays one
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    height, width, _ = rgb.shape
    shown = np.empty((height + _BAR_PX, width, 3), np.uint8)
    shown[_BAR_PX:] = rgb
    shown[:_BAR_PX] = _COLOURS[quality.verdict]
    for number, line in enumerate(_lines(quality), start=1):
        place = (_LEFT_PX, number * _LINE_PX)
        words = _shortened(line, width - 2 * _LEFT_PX)
        cv2.putText(shown, words, place, _FONT, _SCALE, _WHITE, _THICKNESS_PX, cv2.LINE_AA)
    return shown


def _shortened(line: str, width_px: int) -> str:
    """Return a line that fits: whole, or its beginning and three dots; nothing where that is too wide."""

    def is_wide(text: str) -> bool:
        return bool(cv2.getTextSize(text, _FONT, _SCALE, _THICKNESS_PX)[0][0] > width_px)

    if not is_wide(line):
        return line
    kept = bisect_left(range(1, len(line)), True, key=lambda length: is_wide(f"{line[:length]}..."))
    return f"{line[:kept]}..." if kept else ""


def _lines(quality: ImageQuality) -> tuple[str, str]:
    predicted = quality.prediction
    value = "" if predicted is None else f"  predicted {predicted.value:.3f} of {predicted.threshold:.3f}"
    return f"{quality.view} {quality.verdict.name}{value}", quality.reason
