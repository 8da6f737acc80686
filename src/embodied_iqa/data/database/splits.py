"""Splits for training metrics: each reference is on one side, with all its distorted images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

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


def split_columns(reference_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return a column for each repetition, ``split_seed0`` to ``split_seed9``: train or val by reference."""
    columns = {}
    for seed in SPLIT_SEEDS:
        training = training_references(reference_ids, seed)
        columns[f"split_seed{seed}"] = ["train" if name in training else "val" for name in reference_ids]
    return columns
