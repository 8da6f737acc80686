"""Simulated arm and gripper that the emulated controller drives: interface and kinematic implementation."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.base.units import SECOND_NS

Array = NDArray[np.float64]


class Plant(Protocol):
    """An arm and a gripper that move only in `advance`."""

    @property
    def q_rad(self) -> Array:
        """``(6,)`` measured joint angles."""
        ...

    @property
    def qd_radps(self) -> Array:
        """``(6,)`` measured joint velocities."""
        ...

    @property
    def gripper(self) -> float:
        """Measured gripper in [0, 1]: 0 open, 1 closed."""
        ...

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers are moving."""
        ...

    @property
    def contact_violation(self) -> str | None:
        """Why the controller has to make a protective stop, or None."""
        ...

    def set_arm_target(self, q_rad: Array, qd_radps: Array) -> None:
        """Set the target ``q_rad``, which moves with ``qd_radps`` until the next call."""
        ...

    def set_gripper_target(self, gripper: float, speed_per_s: float) -> None:
        """Move the fingers to ``gripper`` in [0, 1] at ``speed_per_s`` strokes a second."""
        ...

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        ...

    def advance(self, duration_ns: int) -> None:
        """Let time pass."""
        ...

    def clear_contact_violation(self) -> None:
        """Forget a contact, as after the operator's acknowledgement."""
        ...

    def reset(self) -> None:
        """Be as at the start: arm, fingers and what they touch."""
        ...


class KinematicPlant:
    """A `Plant` without masses, objects or contacts that follows its targets exactly.

    Args:
        q_rad: ``(6,)``, initial joint angles.

    Attributes:
        object_at: Position in [0, 1] at which closing fingers meet an object; None for no object.
        contact_violation: Set it to simulate a collision.
    """

    def __init__(self, q_rad: ArrayLike = HOME_Q_RAD) -> None:
        self._start_rad = np.array(q_rad, dtype=np.float64)
        self.reset()

    def reset(self) -> None:
        """Be at the initial joint angles with open fingers, without object or contact."""
        self.q_rad = self._start_rad.copy()
        self.qd_radps = np.zeros(6)
        self.gripper = self._gripper_target = 0.0
        self._gripper_speed_per_s = 1.0
        self.object_at: float | None = None
        self.contact_violation: str | None = None

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers are moving."""
        return self.gripper != self._reachable()

    def set_arm_target(self, q_rad: Array, qd_radps: Array) -> None:
        """Be at ``q_rad`` now and move on with ``qd_radps``."""
        self.q_rad, self.qd_radps = q_rad.copy(), qd_radps.copy()

    def set_gripper_target(self, gripper: float, speed_per_s: float) -> None:
        """Move the fingers to ``gripper`` in [0, 1] at ``speed_per_s`` strokes a second."""
        self._gripper_target, self._gripper_speed_per_s = gripper, speed_per_s

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        self._gripper_target = self.gripper

    def advance(self, duration_ns: int) -> None:
        """Let time pass."""
        duration_s = duration_ns / SECOND_NS
        self.q_rad = self.q_rad + self.qd_radps * duration_s
        distance = self._reachable() - self.gripper
        limit = self._gripper_speed_per_s * duration_s
        self.gripper += distance if abs(distance) <= limit else float(np.copysign(limit, distance))

    def clear_contact_violation(self) -> None:
        """Clear the simulated collision."""
        self.contact_violation = None

    def _reachable(self) -> float:
        if self.object_at is not None and self.gripper <= self.object_at < self._gripper_target:
            return self.object_at
        return self._gripper_target
