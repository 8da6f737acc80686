"""The tool's frame, drawn into an image where the hand-eye calibration has it."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.runs.cell.cell_check import tool_pixel
from embodied_iqa.runs.cell.seen_camera import SeenCamera

_AXIS_M: Final = 0.05
_COLOURS: Final = ((230, 50, 50), (50, 200, 50), (60, 90, 240))
_RING: Final = (255, 255, 0)


def with_tool(
    seen: SeenCamera, T_base_camera: NDArray[np.float64] | None, T_base_tool: NDArray[np.float64] | None
) -> NDArray[np.uint8] | None:
    """Return the last image with the tool point as a ring and 5 cm of its axes, x red, y green, z blue.

    Args:
        seen: The camera.
        T_base_camera: Its pose ``(4, 4)`` (m); None where it is not known: the image is as it was.
        T_base_tool: Pose of the tool ``(4, 4)`` (m); None likewise.

    Returns:
        ``(H, W, 3)`` uint8 RGB; None where there is no image.
    """
    if seen.rgb is None:
        return None
    canvas = seen.rgb.copy()
    if T_base_camera is None or T_base_tool is None:
        return canvas
    origin = tool_pixel(seen, T_base_camera, T_base_tool[:3, 3])
    if origin is None:
        return canvas
    for axis, colour in enumerate(_COLOURS):
        end = tool_pixel(seen, T_base_camera, T_base_tool[:3, 3] + _AXIS_M * T_base_tool[:3, axis])
        if end is not None:
            cv2.line(canvas, _corner(origin), _corner(end), colour, 2, cv2.LINE_AA)
    cv2.circle(canvas, _corner(origin), 8, _RING, 2, cv2.LINE_AA)
    return canvas


def _corner(pixel: NDArray[np.float64]) -> tuple[int, int]:
    u, v = np.clip(pixel, -10_000, 10_000).round().astype(int)
    return int(u), int(v)
