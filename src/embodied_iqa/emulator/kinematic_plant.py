"""An arm that follows its target exactly: fast, for tests of protocols and drivers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.scenes.dimensions import HOME_Q_RAD
from embodied_iqa.units import SECOND_NS

__all__ = ["KinematicPlant"]


class KinematicPlant:
    """A `Plant` without masses, objects or contacts.

    Args:
        q_rad: ``(6,)``, the joint angles at the start.

    Attributes:
        object_at: Position in [0, 1] at which closing fingers meet an object; None for no object.
        contact_violation: Set it to simulate a collision.
    """

    def __init__(self, q_rad: ArrayLike = HOME_Q_RAD) -> None:
        self._q_rad = np.array(q_rad, dtype=np.float64)
        self._qd_radps = np.zeros(6)
        self._gripper = self._gripper_target = 0.0
        self._gripper_speed_per_s = 1.0
        self.object_at: float | None = None
        self.contact_violation: str | None = None

    @property
    def q_rad(self) -> NDArray[np.float64]:
        """``(6,)`` joint angles."""
        return self._q_rad

    @property
    def qd_radps(self) -> NDArray[np.float64]:
        """``(6,)`` joint velocities."""
        return self._qd_radps

    @property
    def gripper(self) -> float:
        """The gripper in [0, 1]: 0 open, 1 closed."""
        return self._gripper

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers are moving."""
        return self._gripper != self._reachable()

    def set_arm_target(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64]) -> None:
        """Be at ``q_rad`` now and move on with ``qd_radps``."""
        self._q_rad, self._qd_radps = q_rad.copy(), qd_radps.copy()

    def set_gripper_target(self, gripper: float, speed_per_s: float) -> None:
        """Move the fingers to ``gripper`` in [0, 1] at ``speed_per_s`` strokes a second."""
        self._gripper_target, self._gripper_speed_per_s = gripper, speed_per_s

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        self._gripper_target = self._gripper

    def advance(self, duration_ns: int) -> None:
        """Let time pass."""
        duration_s = duration_ns / SECOND_NS
        self._q_rad = self._q_rad + self._qd_radps * duration_s
        distance = self._reachable() - self._gripper
        limit = self._gripper_speed_per_s * duration_s
        self._gripper += distance if abs(distance) <= limit else float(np.copysign(limit, distance))

    def clear_contact_violation(self) -> None:
        """Forget a contact."""
        self.contact_violation = None

    def _reachable(self) -> float:
        if self.object_at is not None and self._gripper <= self.object_at < self._gripper_target:
            return self.object_at
        return self._gripper_target
