"""How much of a chunk is executed before the next one is due: vla_node and arm_node have the same options."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS

_SLOWEST_HZ = 0.5


class Horizon(StrEnum):
    """What the arm executes of a chunk."""

    WHOLE = "whole"
    """All of it, at the arm's own speed; then it stands, and the policy decides on what it sees there."""
    RECEDING = "receding"
    """As far as the next chunk comes, at the rate of the policy; the next one is asked for meanwhile."""


@dataclass(frozen=True, slots=True)
class HorizonOptions:
    """How much of a chunk is executed before the next one is due.

    Attributes:
        mode: whole, or receding for a policy whose next chunk is asked for while the arm moves.
        execute_steps: Steps of a receding chunk until the next decision; of a shorter chunk all of them.
        step_rate_hz: Steps of a receding chunk per second, the control rate of the policy [Hz].

    Raises:
        UsageError: An option is out of its range, or the rate of receding chunks is not set.
    """

    mode: Horizon = Horizon.WHOLE
    execute_steps: int = ranged(5, 1, 100)
    step_rate_hz: float = ranged(0.0, 0.0, 100.0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.is_receding and self.step_rate_hz < _SLOWEST_HZ:
            raise UsageError(
                "receding chunks need the control rate of the policy",
                expected=f"horizon.step_rate_hz, {_SLOWEST_HZ:g} to 100 Hz, such as 5 for OpenVLA",
                got=self.step_rate_hz,
            )

    @property
    def is_receding(self) -> bool:
        """Whether the next chunk is asked for while the arm moves."""
        return self.mode is Horizon.RECEDING

    @property
    def period_s(self) -> float:
        """Time between two steps of a receding chunk."""
        return 1.0 / self.step_rate_hz

    def due_ns(self, stamp_ns: int, steps: int) -> int:
        """Return the earliest stamp of the next decision after one on ``stamp_ns`` with so many steps."""
        return stamp_ns + round(min(self.execute_steps, steps) * SECOND_NS / self.step_rate_hz)

    def check_rate(self, rate_hz: float | None, subject: str) -> None:
        """Check that a policy steps at this rate.

        Raises:
            UsageError: Its receding chunks have another one.
        """
        if self.is_receding and rate_hz is not None and abs(rate_hz / self.step_rate_hz - 1.0) > 1e-3:
            raise UsageError(
                f"{subject} was trained at another rate",
                expected=f"horizon.step_rate_hz {rate_hz:g}",
                got=self.step_rate_hz,
            )
