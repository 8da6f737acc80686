"""How far the tool of an arm reaches, and how near a box of tool positions comes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from embodied_iqa.base.kinematics.geometry import UrGeometry

_STEPS: Final = 721


def reach_m(geometry: UrGeometry, tool_length_m: float) -> float:
    """Return the largest distance of the tool centre point from the shoulder [m].

    The shoulder is the point ``(0, 0, d1)``, where the axes of the first two joints meet. From there the
    stretched arm has the length ``|a2| + |a3|`` in its plane. Links 4 to 6 turn by ``theta4`` and ``theta5``:
    with ``t = d6 + tool``, the tool is at most ``|a2| + |a3| + sqrt(d5^2 + t^2 sin^2 theta5)`` away in the
    plane, and ``d4 + t cos theta5`` across it.

    Args:
        geometry: The arm's lengths.
        tool_length_m: From the flange to the tool centre point, along the flange's z.
    """
    theta5 = np.linspace(0.0, math.pi, _STEPS)
    t_m = geometry.d6_m + tool_length_m
    along = abs(geometry.a2_m) + abs(geometry.a3_m) + np.hypot(geometry.d5_m, t_m * np.sin(theta5))
    return float(np.hypot(along, geometry.d4_m + t_m * np.cos(theta5)).max())


def distance_to_box_m(geometry: UrGeometry, lower_m: Sequence[float], upper_m: Sequence[float]) -> float:
    """Return the distance from the shoulder to the nearest point of a box in the base frame [m]; 0 inside."""
    shoulder = np.array([0.0, 0.0, geometry.d1_m])
    return float(np.linalg.norm(np.clip(shoulder, lower_m, upper_m) - shoulder))
