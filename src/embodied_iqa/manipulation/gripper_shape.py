"""What everybody who plans for the gripper knows about it: a parallel gripper like a Robotiq 2F-140."""

from __future__ import annotations

from typing import Final

__all__ = ["FINGER_HALF_WIDTH_M", "FINGER_TIP_BEYOND_TOOL_M", "STROKE_M"]

STROKE_M: Final = 0.140
"""Opening between the finger pads at g = 0; closed at g = 1."""

FINGER_TIP_BEYOND_TOOL_M: Final = 0.010
"""The fingers end this far beyond the tool centre point."""

FINGER_HALF_WIDTH_M: Final = 0.014
"""Half of a finger's width, across the direction in which it moves."""
