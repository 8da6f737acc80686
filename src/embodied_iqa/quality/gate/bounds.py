"""Bounds of a statistic, and the fault that a value beyond them indicates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.gate.image_statistics import Statistic

_MAX_REASONS: Final = 3
_MORE_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Symptom:
    """Fault that a statistic beyond its bounds indicates; None where that side is not a fault.

    Attributes:
        low: Below the lower bound.
        high: Above the upper bound.
        digits: Digits after the point in messages.
    """

    low: str | None
    high: str | None
    digits: int


SYMPTOMS: Final[dict[Statistic, Symptom]] = {
    Statistic.SHARPNESS: Symptom("blurred", "oversharp or noisy", 1),
    Statistic.EXPOSURE: Symptom("too dark", "too bright", 3),
    Statistic.CLIPPED_DARK: Symptom(None, "shadows lost", 4),
    Statistic.CLIPPED_BRIGHT: Symptom(None, "highlights lost", 4),
    Statistic.CONTRAST: Symptom("too little contrast", "too much contrast", 3),
    Statistic.NOISE: Symptom("smoothed", "noisy", 2),
    Statistic.BLOCKINESS: Symptom("blocky off the 8 x 8 grid", "blocky", 2),
    Statistic.DETAIL: Symptom("blurred", "oversharp or noisy", 3),
    Statistic.SPECKS: Symptom(None, "specks", 5),
    Statistic.TONES: Symptom("tones missing", None, 3),
    Statistic.REPEATED: Symptom(None, "rows or columns repeated", 3),
    Statistic.FLAT: Symptom(None, "blocks lost", 4),
    Statistic.CHROMA: Symptom("colours faded", "colours too strong", 2),
    Statistic.CHROMA_DETAIL: Symptom("colours smeared", "colours noisy or shifted", 3),
    Statistic.VIVIDNESS: Symptom("colours faded", "colours too strong", 0),
}
"""For every statistic."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A statistic outside of its ordinary range.

    Attributes:
        statistic: Which one.
        value: Of the image.
        low: Lower end of the range.
        high: Upper end of the range.
    """

    statistic: Statistic
    value: float
    low: float
    high: float

    @property
    def is_low(self) -> bool:
        """Whether the value is below the range."""
        return self.value < self.low

    @property
    def target(self) -> float:
        """Middle of the range; the end that the value breaks where the range has one end or holds 0."""
        if self.low > 0 and math.isfinite(self.high):
            return math.sqrt(self.low * self.high)
        return self.low if self.is_low else self.high

    @property
    def gain(self) -> float:
        """Target over value; a value of 0 counts as very small."""
        return self.target / max(self.value, 1e-6)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The ordinary range of one statistic; infinite where a side is not a fault.

    Attributes:
        hard_low: Below it: REJECT.
        soft_low: Below it: HOLD.
        soft_high: Above it: HOLD.
        hard_high: Above it: REJECT.
    """

    hard_low: float
    soft_low: float
    soft_high: float
    hard_high: float

    def __post_init__(self) -> None:
        if not self.hard_low <= self.soft_low <= self.soft_high <= self.hard_high:  # refuses NaN too
            raise InputError(
                "wrong bounds",
                expected="hard_low <= soft_low <= soft_high <= hard_high",
                got=f"{self.hard_low}, {self.soft_low}, {self.soft_high}, {self.hard_high}",
            )

    def judge(self, value: float) -> Verdict:
        """Return the verdict on a value; NaN is rejected."""
        if math.isnan(value) or not self.hard_low <= value <= self.hard_high:
            return Verdict.REJECT
        return Verdict.PASS if self.soft_low <= value <= self.soft_high else Verdict.HOLD

    def explain(self, statistic: Statistic, value: float) -> str:
        """Name the bound that a value breaks: "sharpness 12.3 below 20.1: blurred"; empty for none."""
        symptom = SYMPTOMS[statistic]
        severity = self.judge(value)
        if severity is Verdict.PASS:
            return ""
        if value < self.soft_low:
            bound = self.hard_low if severity is Verdict.REJECT else self.soft_low
            side, meaning = "below", symptom.low
        else:
            bound = self.hard_high if severity is Verdict.REJECT else self.soft_high
            side, meaning = "above", symptom.high
        seen, limit = _told_apart(value, bound, symptom.digits)
        return f"{statistic.replace('_', ' ')} {seen} {side} {limit}: {meaning}"


def _told_apart(value: float, bound: float, digits: int) -> tuple[str, str]:
    """Return two numbers with at least so many digits, and as many more as it takes to tell them apart."""
    texts = ((f"{value:.{more}f}", f"{bound:.{more}f}") for more in range(digits, digits + _MORE_DIGITS))
    return next(((one, other) for one, other in texts if one != other), (repr(value), repr(bound)))


def shortened(reasons: Sequence[str]) -> str:
    """Return the first three reasons, and how many more there are."""
    more = len(reasons) - _MAX_REASONS
    return "; ".join(reasons[:_MAX_REASONS]) + (f"; {more} more" if more > 0 else "")
