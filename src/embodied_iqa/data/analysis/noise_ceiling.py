"""Noise ceiling of a correlation, from the agreement between disjoint halves of the subjects.

It is the highest SRCC with the mean opinion that noise allows: of a predictor without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import srcc
from embodied_iqa.data.analysis.means import finite_means

Array = NDArray[np.float64]
_MAX_SPLITS: Final = 50


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of the mean opinions of two disjoint halves of the subjects.

    Attributes:
        mean: SRCC, mean over the splits; NaN without any.
        spread: Standard deviation over the splits.
        reliability: Spearman-Brown, ``2 r / (1 + r)``: the SRCC of two full sets of as many subjects.
        ceiling: Square root of `reliability`, the noise ceiling; NaN where halves do not agree.
        splits: Number of splits with a correlation.
        undefined: Number of splits without one.
    """

    mean: float
    spread: float
    reliability: float
    ceiling: float
    splits: int
    undefined: int

    @property
    def reason(self) -> str:
        """Why there is no ceiling; empty where there is one."""
        if np.isfinite(self.ceiling):
            return ""
        return "halves do not agree" if self.splits else "fewer than two subjects"


def noise_ceiling(scores: Array, *, seed: int = 0, most: int = _MAX_SPLITS) -> Ceiling:
    """Split the subjects in halves in all ways, or in a random sample of `most` ways.

    If the number of subjects is odd, one half has one more.

    Args:
        scores: ``(pairs, subjects)``, NaN for missing scores.
        seed: Of the sample.
        most: Maximum number of splits.
    """
    found = [
        srcc(finite_means(scores[:, half], axis=1), finite_means(scores[:, rest], axis=1))
        for half, rest in _splits(scores.shape[1], seed, most)
    ]
    values = np.array([one.value for one in found if one.undefined is None])
    if not len(values):
        return Ceiling(np.nan, np.nan, np.nan, np.nan, 0, len(found))
    mean = float(values.mean())
    reliability = 2 * mean / (1 + mean) if mean > -1 else np.nan
    ceiling = float(np.sqrt(reliability)) if reliability > 0 else np.nan
    undefined = len(found) - len(values)
    return Ceiling(mean, float(values.std()), reliability, ceiling, len(values), undefined)


def joint_ceiling(first: float, second: float) -> float:
    """Return the noise ceiling of a correlation between two mean opinions: the product of both ceilings.

    Args:
        first: Noise ceiling of one side; NaN if undefined.
        second: Of the other side.
    """
    return first * second


def _splits(size: int, seed: int, most: int) -> list[tuple[list[int], list[int]]]:
    half = size // 2
    if half == 0:
        return []
    # of an even number, the half with subject 0 represents both
    total = comb(size, half) // (2 if size % 2 == 0 else 1)
    if total <= most:
        chosen = [c for c in combinations(range(size), half) if size % 2 or 0 in c]
    else:
        generator = np.random.default_rng(seed)
        drawn: dict[tuple[int, ...], None] = {}
        while len(drawn) < most:
            one = {int(i) for i in generator.permutation(size)[:half]}
            if size % 2 == 0 and 0 not in one:
                one = set(range(size)) - one
            drawn[tuple(sorted(one))] = None
        chosen = list(drawn)
    return [(list(c), [i for i in range(size) if i not in c]) for c in chosen]
