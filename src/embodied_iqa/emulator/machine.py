"""The emulated robot as its program sees it: targets, kinematics with the tool, settings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.emulator.motions import Trapezoid, brake, move_joints, move_line
from embodied_iqa.emulator.plant import Plant
from embodied_iqa.emulator.reference import Reference
from embodied_iqa.kinematics import Kinematics, choose

__all__ = ["Machine"]

Array = NDArray[np.float64]

_STEADY_RADPS = 1e-3
_LONGEST_STOP_S = 10.0
_ARRIVED_RAD = 1e-4


class Machine:
    """An arm under the command of a program.

    Args:
        plant: What moves.
        tick_s: Period of the control loop.

    Attributes:
        reference: The joint targets.
        speed_fraction: The speed slider, 0 to 1: scales the time of moves and the speed of speedj and speedl.
        payload_kg: As the program set it.
        payload_centre_m: ``(x, y, z)``, as the program set it.
        watchdog_s: The program stops where its command register is not written for longer; None for never.
    """

    def __init__(self, plant: Plant, tick_s: float) -> None:
        self.plant = plant
        self.tick_s = tick_s
        self.reference = Reference(plant.q_rad, tick_s)
        self.kinematics = Kinematics()
        self.flange = Kinematics()
        self.speed_fraction = 1.0
        self.payload_kg = 0.0
        self.payload_centre_m = (0.0, 0.0, 0.0)
        self.watchdog_s: float | None = None

    def warm_up(self) -> None:
        """Load the compiled kinematics (seconds, the first time) before anyone waits for them."""
        self.inverse(self.kinematics.forward(self.reference.q_rad))
        self.kinematics.jacobian(self.reference.q_rad)

    def set_tool(self, T_flange_tool: Array) -> None:
        """Set the tool centre point in the flange's frame."""
        self.kinematics = Kinematics(T_flange_tool)

    def inverse(self, T_base_tool: Array, near_rad: Array | None = None) -> Array | None:
        """Return the joint angles ``(6,)`` nearest to given ones (or the present target), or None."""
        return choose(
            self.kinematics, T_base_tool, self.reference.q_rad if near_rad is None else near_rad
        ).q_rad

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
        """Whether target and arm stand still."""
        fastest = max(np.abs(self.reference.qd_radps).max(), np.abs(self.plant.qd_radps).max())
        return bool(fastest < _STEADY_RADPS)

    @property
    def has_arrived(self) -> bool:
        """Whether the arm stands at its target."""
        away = float(np.abs(self.plant.q_rad - self.reference.q_rad).max())
        return self.is_steady and away < _ARRIVED_RAD

    def _motion_step_s(self) -> float:
        return self.tick_s * self.speed_fraction

    def _brake(self, duration_s: float) -> Iterator[Array]:
        reference = self.reference
        return brake(reference.q_rad, reference.qd_radps, min(duration_s, _LONGEST_STOP_S), self.tick_s)
