"""Interface of the simulated arm and gripper that the emulated controller drives."""

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
        """Whether the fingers are moving."""
        ...

    @property
    def contact_violation(self) -> str | None:
        """Why the controller has to make a protective stop, or None."""
        ...

    def set_arm_target(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64]) -> None:
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
