"""Measured states of arm and gripper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArmState", "GripperState"]


@dataclass(frozen=True, slots=True)
class GripperState:
    """A measured gripper.

    Attributes:
        position: Opening in [0, 1]: 0 open, 1 closed.
        moving: Whether the fingers are moving.
        object_held: Whether an object stopped the fingers before their target.
    """

    position: float
    moving: bool = False
    object_held: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArmState:
    """A measured arm.

    Attributes:
        stamp_ns: Time of measurement, ROS time; a state with an old stamp is ignored.
        q_rad: ``(6,)`` float64, joint angles.
        qd_radps: ``(6,)`` float64, joint velocities.
        gripper: State of the gripper.
        protective_stop: Whether the robot's controller made a protective stop.
        emergency_stop: Whether the emergency stop is pressed.
        contact: Why the arm assumes contact; empty if it does not.
    """

    stamp_ns: int
    q_rad: NDArray[np.float64]
    qd_radps: NDArray[np.float64]
    gripper: GripperState
    protective_stop: bool = False
    emergency_stop: bool = False
    contact: str = ""
