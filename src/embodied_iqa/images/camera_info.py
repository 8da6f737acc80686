"""Intrinsics as messages carry them."""

from __future__ import annotations

from typing import Any

from embodied_iqa.images.frame import Intrinsics

__all__ = ["intrinsics_from_info"]


def intrinsics_from_info(info: Any) -> Intrinsics:
    """Return a camera info's pinhole part.

    Args:
        info: Anything with ``width``, ``height`` and the nine ``k``: a sensor_msgs/CameraInfo, live or read
            from a recording.
    """
    k = [float(value) for value in info.k]
    return Intrinsics(int(info.width), int(info.height), k[0], k[4], k[2], k[5])
