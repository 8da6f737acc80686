"""The emulated robot as its program sees it: joint target, kinematics with the tool, settings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.arm.emulator.motions import Trapezoid, brake, move_joints, move_line
from embodied_iqa.arm.emulator.plant import Plant
from embodied_iqa.base.kinematics import UR5, Kinematics, choose
from embodied_iqa.base.kinematics.geometry import UrGeometry

Array = NDArray[np.float64]

_STEADY_RADPS = 1e-3
_LONGEST_STOP_S = 10.0
_ARRIVED_RAD = 1e-4
_BRAKE_RADPS2 = 20.0
"""Deceleration of joints without a target, after a program has ended or at a safety stop."""


class Reference:
    """The joint target from tick to tick; without a new target it comes to rest.

    Args:
        q_rad: ``(6,)``, initial joint angles.
        tick_s: Period of the control loop.
    """

    def __init__(self, q_rad: ArrayLike, tick_s: float) -> None:
        self._tick_s = tick_s
        self.restart(q_rad)

    def restart(self, q_rad: ArrayLike) -> None:
        """Stand still at ``q_rad``."""
        self.q_rad = np.array(q_rad, dtype=np.float64)
        self.qd_radps = np.zeros(6)
        self._next: Array | None = None

    @property
    def is_resting(self) -> bool:
        """Whether it stands still and has no new target."""
        return self._next is None and not self.qd_radps.any()

    def follow(self, q_rad: Array) -> None:
        """Be at ``q_rad`` at the end of this tick."""
        self._next = q_rad

    def plan_tick(self) -> Array:
        """Return the velocity ``(6,)`` (rad/s) of this tick."""
        if self._next is not None:
            self.qd_radps = (self._next - self.q_rad) / self._tick_s
        else:
            fastest = float(np.abs(self.qd_radps).max())
            slower = max(fastest - _BRAKE_RADPS2 * self._tick_s, 0.0)
            self.qd_radps = self.qd_radps * (slower / fastest) if fastest > 0.0 else np.zeros(6)
        return self.qd_radps

    def end_tick(self) -> None:
        """Set the target to the end of the tick."""
        self.q_rad = self.q_rad + self.qd_radps * self._tick_s if self._next is None else self._next
        self._next = None


class Machine:
    """An arm controlled by a program.

    Args:
        plant: The arm and gripper.
        tick_s: Period of the control loop.
        geometry: The arm's lengths.

    Attributes:
        reference: The joint targets.
        speed_fraction: Speed slider, 0 to 1; scales the time of moves and the speed of speedj and speedl.
        payload_kg: Set by the program or at the pendant.
        payload_centre_m: ``(x, y, z)``, set by the program.
        watchdog_s: The program stops if its command register is not written for longer; None disables it.
        is_passing: Whether time passes in this tick; otherwise motions wait.
    """

    def __init__(self, plant: Plant, tick_s: float, geometry: UrGeometry = UR5) -> None:
        self.plant = plant
        self.tick_s = tick_s
        self.reference = Reference(plant.q_rad, tick_s)
        self.kinematics = self.flange = Kinematics(geometry=geometry)
        self.speed_fraction = 1.0
        self.payload_kg = 0.0
        self.payload_centre_m = (0.0, 0.0, 0.0)
        self.watchdog_s: float | None = None
        self.is_passing = True

    def warm_up(self) -> None:
        """Load the compiled kinematics, which takes seconds the first time."""
        self.inverse(self.kinematics.forward(self.reference.q_rad))
        self.kinematics.jacobian(self.reference.q_rad)

    def set_tool(self, T_flange_tool: Array) -> None:
        """Set the tool centre point in the flange's frame."""
        self.kinematics = Kinematics(T_flange_tool, self.flange.geometry)

    def inverse(self, T_base_tool: Array, near_rad: Array | None = None) -> Array | None:
        """Return the joint angles ``(6,)`` nearest to ``near_rad`` (default: the present target), or None."""
        near_rad = self.reference.q_rad if near_rad is None else near_rad
        return choose(self.kinematics, T_base_tool, near_rad).q_rad

    def move_joints(self, q_rad: Array, speed: float, acceleration: float) -> Iterator[Array]:
        """Move from the present target in joint space."""
        return move_joints(self.reference.q_rad, q_rad, speed, acceleration, self._motion_step_s)

    def move_line(self, T_base_tool: Array, speed: float, acceleration: float) -> Iterator[Array]:
        """Move the tool from the present target along a line."""

        def plan(length_m: float) -> Trapezoid:
            return Trapezoid.plan(length_m, speed, acceleration)

        return move_line(self.kinematics, self.reference.q_rad, T_base_tool, plan, self._motion_step_s)

    def stop_joints(self, deceleration: float) -> Iterator[Array]:
        """Come to rest with a joint deceleration (rad/s2)."""
        return self._brake(float(np.abs(self.reference.qd_radps).max()) / max(deceleration, 1e-6))

    def stop_line(self, deceleration: float) -> Iterator[Array]:
        """Come to rest with a deceleration of the tool (m/s2)."""
        velocity = self.kinematics.jacobian(self.reference.q_rad) @ self.reference.qd_radps
        return self._brake(float(np.linalg.norm(velocity[:3])) / max(deceleration, 1e-6))

    @property
    def is_steady(self) -> bool:
        """Whether target and arm are at rest."""
        fastest = max(np.abs(self.reference.qd_radps).max(), np.abs(self.plant.qd_radps).max())
        return bool(fastest < _STEADY_RADPS)

    @property
    def has_arrived(self) -> bool:
        """Whether the arm is at rest at its target."""
        away = float(np.abs(self.plant.q_rad - self.reference.q_rad).max())
        return self.is_steady and away < _ARRIVED_RAD

    def _motion_step_s(self) -> float:
        return self._passed_s() * self.speed_fraction

    def _passed_s(self) -> float:
        return self.tick_s if self.is_passing else 0.0

    def _brake(self, duration_s: float) -> Iterator[Array]:
        reference = self.reference
        return brake(reference.q_rad, reference.qd_radps, min(duration_s, _LONGEST_STOP_S), self._passed_s)
