"""What the emulated controller drives: an arm with a gripper, however it is simulated."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Plant"]


class Plant(Protocol):
    """An arm and a gripper that move only in `advance`."""

    @property
    def q_rad(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint angles."""
        ...

    @property
    def qd_radps(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint velocities."""
        ...

    @property
    def gripper(self) -> float:
        """Measured gripper in [0, 1]: 0 open, 1 closed."""
        ...

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers are on their way."""
        ...

    @property
    def contact(self) -> str:
        """Why the controller would make a protective stop; empty where it would not."""
        ...

    def command(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64]) -> None:
        """Be at ``q_rad`` now and move on with ``qd_radps`` until the next command."""
        ...

    def command_gripper(self, position: float, speed_per_s: float) -> None:
        """Move the fingers to ``position`` in [0, 1] with so many strokes a second."""
        ...

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        ...

    def advance(self, duration_ns: int) -> None:
        """Let time pass."""
        ...

    def recover(self) -> None:
        """Forget a contact, as after a person's acknowledgement."""
        ...
