"""Ranges of numbers that fields of configurations and options take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

MAX_SEED: Final = 2**63 - 1
"""Greatest seed."""
_WORDS: Final = {MAX_SEED: "2**63 - 1", math.pi: "pi", math.pi / 2: "pi/2"}


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers that a field or an option takes; NaN is none of them.

    Attributes:
        low: Least number.
        high: Greatest number.
        ends: Which of the two belong to it: ``[]`` both, ``(]`` the greatest, ``()`` none.
    """

    low: float
    high: float
    ends: Literal["[]", "(]", "()"] = "[]"

    def __contains__(self, number: float) -> bool:
        """Return whether it is one of the numbers."""
        above = self.low <= number if self.ends == "[]" else self.low < number
        return above and (number < self.high if self.ends == "()" else number <= self.high)

    def __str__(self) -> str:
        """Return it in words, as in "expected 1 to 9"."""
        low, top = _short(self.low), _short(self.high)
        if self.ends == "()":
            return f"above {low}, below {top}"
        if self.ends == "(]":
            return f"above {low}, up to {top}"
        if self.high == math.inf:
            return f"{low} or more"
        return low if low == top else f"{low} to {top}"


def _short(number: float) -> str:
    """Return a number with as many digits as it needs, or in words."""
    if number in _WORDS:
        return _WORDS[number]
    return short if float(short := f"{number:g}") == number else repr(number)
