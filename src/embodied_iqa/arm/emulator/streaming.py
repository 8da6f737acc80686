"""Motions that continue until they are stopped: servoj, speedj, speedl."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.emulator.machine import Machine
from embodied_iqa.arm.emulator.motions import MAX_JOINT_SPEED_RADPS

Array = NDArray[np.float64]

_DAMPING = 1e-6


class ServoStream:
    """Follow a joint target within the speed limit of the joints.

    The real servoj smooths the target by its gain and look-ahead time; here the arm is there when the time of
    the command is over, at the earliest one tick later.

    Args:
        target_rad: ``(6,)``, the first target.
        time_s: The time in which the command controls the arm, from one target to the next.

    Attributes:
        target_rad: ``(6,)``, the newest target.
        is_new: Whether the target has not been read yet.
    """

    def __init__(self, target_rad: Array, time_s: float) -> None:
        self.target_rad, self.is_new = target_rad, True
        self._left_s = _finite(time_s)

    def set_target(self, target_rad: Array, time_s: float) -> None:
        """Set a target, to be reached in a time.

        The program executes its command again in each tick: only another target begins another time.
        """
        if not np.array_equal(target_rad, self.target_rad):
            self.target_rad, self._left_s = target_rad, _finite(time_s)
        self.is_new = True

    def tick(self, machine: Machine) -> Array:
        """Return the next joint target."""
        q, limit = machine.reference.q_rad, MAX_JOINT_SPEED_RADPS * machine.tick_s
        ticks = max(1, round(self._left_s / machine.tick_s))
        self._left_s -= machine.tick_s
        step: Array = np.clip((self.target_rad - q) / ticks, -limit, limit)
        return q + step


def _finite(time_s: float) -> float:
    return time_s if math.isfinite(time_s) else 0.0


class SpeedStream:
    """Turn the joints or move the tool with a velocity that is reached with limited acceleration.

    Args:
        of_tool: Whether the velocity is the tool's (m/s, rad/s) or the joints' (rad/s).
        velocity: ``(6,)``.
        acceleration: Acceleration of the tool's translation (m/s2) or of the fastest joint (rad/s2).
    """

    def __init__(self, velocity: Array, acceleration: float, *, of_tool: bool) -> None:
        self.of_tool, self.velocity, self.acceleration = of_tool, velocity, acceleration
        self._present = np.zeros(6)

    def change(self, velocity: Array, acceleration: float) -> None:
        """Set a new velocity, approached with the acceleration."""
        self.velocity, self.acceleration = velocity, acceleration

    def tick(self, machine: Machine) -> Array:
        """Return the next joint target."""
        change = self.velocity - self._present
        size = float(np.linalg.norm(change[:3]) if self.of_tool else np.abs(change).max())
        most = self.acceleration * machine.tick_s
        self._present = self._present + (change * (most / size) if size > most else change)
        qd = self._joint_velocity(machine) * machine.speed_fraction
        return machine.reference.q_rad + qd * machine.tick_s

    def _joint_velocity(self, machine: Machine) -> Array:
        if not self.of_tool:
            return self._present
        J = machine.kinematics.jacobian(machine.reference.q_rad)
        qd: Array = J.T @ np.linalg.solve(J @ J.T + _DAMPING * np.eye(6), self._present)
        return np.clip(qd, -MAX_JOINT_SPEED_RADPS, MAX_JOINT_SPEED_RADPS)
