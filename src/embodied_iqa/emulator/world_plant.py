"""The MuJoCo world as what the emulated controller drives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.simulation.world import World

__all__ = ["WorldPlant"]


class WorldPlant:
    """A `Plant` that is the simulated cell; a push against table, wall or floor makes a protective stop.

    Args:
        world: The cell; whoever owns it may look at it and reset it between two ticks.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def q_rad(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint angles."""
        return self._world.q_rad

    @property
    def qd_radps(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint velocities."""
        return self._world.qd_radps

    @property
    def gripper(self) -> float:
        """Measured gripper in [0, 1]: 0 open, 1 closed."""
        return self._world.gripper

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers are on their way."""
        return self._world.gripper_moving

    @property
    def contact(self) -> str:
        """What the robot pushes against too hard; empty if nothing."""
        return self._world.contact_violation or ""

    def command(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64]) -> None:
        """Be at ``q_rad`` now and move on with ``qd_radps``."""
        self._world.set_arm_target(q_rad, qd_radps)

    def command_gripper(self, position: float, speed_per_s: float) -> None:
        """Move the fingers."""
        self._world.set_gripper_target(position, speed_per_s)

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        self._world.stop_gripper()

    def advance(self, duration_ns: int) -> None:
        """Let simulated time pass."""
        self._world.advance(duration_ns)

    def recover(self) -> None:
        """Forget a contact; a lasting push raises it again."""
        self._world.clear_contact_violation()
