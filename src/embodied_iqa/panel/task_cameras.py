"""Which camera's picture a member's tasks are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from embodied_iqa.images.frame import View

__all__ = ["camera_of_tasks"]

_WHOLE_TABLE: Final = (View.TOP, View.SIDE)
"""Cameras that show the whole table."""


def camera_of_tasks(views: Sequence[View]) -> View:
    """Return the camera that "left" and "right" are meant for: one that shows the whole table, if any."""
    return next((view for view in views if view in _WHOLE_TABLE), views[0])
