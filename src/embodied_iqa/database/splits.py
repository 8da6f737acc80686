"""Splits for training metrics: each reference is on one side, with all its distorted pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

__all__ = ["SPLIT_SEEDS", "TRAIN_SHARE", "training_references"]

TRAIN_SHARE: Final = 0.8
SPLIT_SEEDS: Final = tuple(range(10))
"""Seeds of the ten repetitions."""


def training_references(reference_ids: Iterable[str], seed: int) -> frozenset[str]:
    """Draw 80 % of the references for training; 984 of 1,230.

    The draw depends on the set of ids and the seed, not on the order of the ids.
    """
    names = sorted(set(reference_ids))
    drawn = np.random.default_rng(seed).permutation(len(names))[: round(TRAIN_SHARE * len(names))]
    return frozenset(names[index] for index in drawn)
