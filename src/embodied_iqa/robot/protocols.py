"""Measured states of arm and gripper, and the interface of a gripper driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArmState", "Gripper", "GripperState"]


@dataclass(frozen=True, slots=True)
class GripperState:
    """A measured gripper.

    Attributes:
        position: Opening in [0, 1]: 0 open, 1 closed.
        moving: The fingers are on their way.
        object_held: The fingers stopped on something before they arrived.
    """

    position: float
    moving: bool = False
    object_held: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArmState:
    """A measured arm.

    Attributes:
        stamp_ns: When it was measured, ROS time; a state with an old stamp counts as none.
        q_rad: ``(6,)`` float64, joint angles.
        qd_radps: ``(6,)`` float64, joint velocities.
        gripper: The gripper.
        protective_stop: The robot's controller has stopped by itself.
        emergency_stop: The emergency stop is pressed.
        contact: Why the arm thinks that it touches something; empty if it does not.
    """

    stamp_ns: int
    q_rad: NDArray[np.float64]
    qd_radps: NDArray[np.float64]
    gripper: GripperState
    protective_stop: bool = False
    emergency_stop: bool = False
    contact: str = ""


class Gripper(Protocol):
    """A driver of a gripper."""

    def read(self) -> GripperState:
        """Return the newest measured state without blocking.

        Raises:
            InputError: The connection is lost.
        """
        ...

    def move(self, position: float) -> None:
        """Start moving to ``position`` in [0, 1] (0 open, 1 closed) and return at once."""
        ...

    def close(self) -> None:
        """Give the device back; calling it twice is fine."""
        ...
