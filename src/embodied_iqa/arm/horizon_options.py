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
        ensembling: Average each step of a receding chunk with what earlier chunks predicted for its time.
        ensembling_decay: The oldest prediction of a time has weight 1, each newer one exp(-decay) times that
            of the one before, as in ACT.

    Raises:
        UsageError: An option is out of its range, the rate of receding chunks is not set, or chunks that do
            not overlap would be averaged.
    """

    mode: Horizon = Horizon.WHOLE
    execute_steps: int = ranged(5, 1, 100)
    step_rate_hz: float = ranged(0.0, 0.0, 100.0)
    ensembling: bool = False
    ensembling_decay: float = ranged(0.01, 0.0, 10.0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.is_receding and self.step_rate_hz < _SLOWEST_HZ:
            raise UsageError(
                "receding chunks need the control rate of the policy",
                expected=f"horizon.step_rate_hz, {_SLOWEST_HZ:g} to 100 Hz, such as 5 for OpenVLA",
                got=self.step_rate_hz,
            )

        if self.ensembling and not self.is_receding:
            raise UsageError(
                "horizon.ensembling averages chunks that overlap in time; whole chunks do not",
                expected=f"horizon.mode {Horizon.RECEDING}",
                got=self.mode,
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

    def check_policies(self, count: int, subject: str) -> None:
        """Check that one policy alone decides, where its chunks are averaged.

        Raises:
            UsageError: Several take turns: the average of two policies is neither.
        """
        if self.ensembling and count > 1:
            raise UsageError(
                f"{subject} are {count} policies, whose chunks must not be averaged",
                expected="a single policy, or horizon.ensembling false",
            )

    def why_not_ensembled(self, steps: int) -> str | None:
        """Return why chunks of so many steps cannot be averaged; None where they can, or need not be."""
        if not self.ensembling or steps > self.execute_steps:
            return None
        most = f"horizon.execute_steps ({self.execute_steps})"
        return f"horizon.ensembling needs chunks of more steps than {most}, this one has {steps}"

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
