"""Success rates with Wilson confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from embodied_iqa.base.errors import InputError

_Z: Final = 1.959963984540054
"""Quantile of the normal distribution for a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """A success rate.

    Attributes:
        value: In [0, 1].
        low: Lower end of the 95 % interval.
        high: Upper end of the interval.
        n: Number of trials.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{100 * self.value:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"


def wilson(successes: int, n: int, z: float = _Z) -> Share:
    """Return the success rate with Wilson's interval (Wilson 1927).

    Args:
        successes: Their number.
        n: Number of trials.
        z: Quantile of the normal distribution; by default that of a 95 % interval.

    Raises:
        InputError: No trials, or more successes than trials.
    """
    if not 0 <= successes <= n or n < 1:
        raise InputError("wrong number of successes", expected=f"0 to {n}, of at least 1", got=successes)
    share, z2 = successes / n, z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2))
    return Share(share, max(0.0, centre - half), min(1.0, centre + half), n)


def simultaneous_z(intervals: int) -> float:
    """Return the quantile with which several intervals hold all at once in 95 % of the cases (Bonferroni)."""
    return NormalDist().inv_cdf(1.0 - 0.025 / intervals)
