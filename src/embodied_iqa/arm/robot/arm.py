"""What every arm offers, whichever driver moves it: the seam between a controller and a robot."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.messages import ArmState
from embodied_iqa.base.kinematics.models import ArmModel


class Arm(Protocol):
    """An arm of six joints that streams joint targets: a real one, or the simulated one.

    The arm calls its user with each new state, in which the user sets targets, and with each silence. No call
    hangs. Nothing moves before `rearm`; a fault disarms the arm until it is armed again.
    """

    @property
    def model(self) -> ArmModel:
        """Model whose geometry and joint limits the arm has."""

    @property
    def problem(self) -> str:
        """Why the arm is unavailable; empty where it is available."""

    def counts(self) -> dict[str, object]:
        """Return what diagnostics show of the driver, by name."""

    def read(self) -> ArmState | None:
        """Return the newest state, or None where the arm is unavailable."""

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Set the joint target ``(6,)`` (rad) of this period."""

    def move(self, position: float) -> None:
        """Set the target of the gripper, 0 open to 1 closed."""

    def answer(self) -> None:
        """Send the targets that respond to the newest state."""

    def stop(self, reason: str) -> None:
        """Stop the arm at once; it ignores targets until it is armed again."""

    def rearm(self, reason: str) -> None:
        """Arm: accept joint targets.

        Raises:
            InputError: The arm does not arm.
        """

    def retry(self) -> None:
        """Try an arm again at once that was refused; where it is refused again, that is reported."""

    def close(self) -> None:
        """Release the arm."""
