"""Arms whose joints policies command."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import TOOL_2F140_M, UR5, tool_along_z
from embodied_iqa.models.subjects.actions.rotations import about
from embodied_iqa.models.subjects.actions.serial_arm import SerialArm

Array = NDArray[np.float64]

_HAND_M: Final = 0.15
"""Approximate distance from the Panda's flange to between the pads of DROID's Robotiq 2F-85."""


def _transform(R: Array, position_m: tuple[float, float, float]) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, position_m
    return T


def _panda() -> SerialArm:
    """Franka Emika's Denavit-Hartenberg parameters after Craig (Robot and interface specifications)."""
    quarter = math.pi / 2
    table = (
        (0.0, 0.333, 0.0),
        (0.0, 0.0, -quarter),
        (0.0, 0.316, quarter),
        (0.0825, 0.0, quarter),
        (-0.0825, 0.384, -quarter),
        (0.0, 0.0, quarter),
        (0.088, 0.0, quarter),
    )
    links = [_transform(about(0, alpha), (a, 0.0, 0.0)) @ tool_along_z(d) for a, d, alpha in table]
    # DROID's fingers open along the flange's y, ours along the tool's x.
    end = tool_along_z(0.107) @ _transform(about(2, quarter), (0.0, 0.0, _HAND_M))
    return SerialArm(
        name="panda",
        T_links=np.array(links),
        axes=np.tile([0.0, 0.0, 1.0], (7, 1)),
        T_end=end,
        q_min_rad=np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
        q_max_rad=np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
        q_home_rad=np.array([0.0, -math.pi / 5, 0.0, -4 * math.pi / 5, 0.0, 3 * math.pi / 5, 0.0]),
    )


def _vx300s() -> SerialArm:
    """Trossen's ViperX 300 6DOF, from Interbotix's mr_descriptions (interbotix_xs_modules)."""
    offsets = (
        (0.0, 0.0, 0.079),
        (0.0, 0.0, 0.04805),
        (0.05955, 0.0, 0.3),
        (0.2, 0.0, 0.0),
        (0.1, 0.0, 0.0),
        (0.069744, 0.0, 0.0),
    )
    x, y, z = np.eye(3)
    # The gripper points along x there and along z here; its fingers open along y there and along x here.
    end = _transform(np.column_stack([-y, -z, x]), (0.1072, 0.0, 0.0))
    return SerialArm(
        name="vx300s",
        T_links=np.array([_transform(np.eye(3), offset) for offset in offsets]),
        axes=np.array([z, y, y, x, y, x]),
        T_end=end,
        q_min_rad=np.array([-3.14158, -1.85005, -1.76278, -3.14158, -1.8675, -3.14158]),
        q_max_rad=np.array([3.14158, 1.25664, 1.6057, 3.14158, 2.23402, 3.14158]),
        q_home_rad=np.array([0.0, -0.96, 1.16, 0.0, -0.3, 0.0]),
    )


def _ur5() -> SerialArm:
    """Return the UR5 of this package in REP-103's ``base_link``, with its tool."""
    quarter = math.pi / 2
    alphas = (quarter, 0.0, 0.0, quarter, -quarter, 0.0)
    behind = [
        tool_along_z(float(d)) @ _transform(about(0, alpha), (float(a), 0.0, 0.0))
        for (d, a, _, _), alpha in zip(UR5.table, alphas, strict=True)
    ]
    # A standard DH row is a turn, then a link: each link belongs in front of the next joint.
    first = _transform(about(2, math.pi), (0.0, 0.0, 0.0))
    return SerialArm(
        name="ur5",
        T_links=np.array([first, *behind[:-1]]),
        axes=np.tile([0.0, 0.0, 1.0], (6, 1)),
        T_end=behind[-1] @ tool_along_z(TOOL_2F140_M),
        q_min_rad=np.full(6, -2 * math.pi),
        q_max_rad=np.full(6, 2 * math.pi),
        q_home_rad=np.array([-0.27638, -1.76327, 1.43628, -1.24381, -quarter, -0.27638]),
    )


ARMS: Final[dict[str, Callable[[], SerialArm]]] = {"panda": _panda, "vx300s": _vx300s, "ur5": _ur5}
"""Factory of each arm."""


@cache
def arm_of(name: str) -> SerialArm:
    """Return an arm by name.

    Raises:
        UsageError: The arm is unknown.
    """
    if name not in ARMS:
        raise UsageError("the kinematics of this arm are not known", got=name, available=ARMS)
    return ARMS[name]()
