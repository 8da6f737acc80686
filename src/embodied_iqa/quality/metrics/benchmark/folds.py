"""Folds: which pairs a metric is trained on, and on which it is tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.analysis.grid import PairTable
from embodied_iqa.data.database.splits import training_references
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Unseen

Mask = NDArray[np.bool_]
LEFT_OUT: Final = 6
"""Distortions that are left out at a time."""
_MOST_PARTITIONS: Final = 10
_TRAINING_SHARE: Final = 0.6
"""Of the subjects: 3 of 5."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A training with its tests; no reference of `train` is in `test` or `seen`.

    Attributes:
        name: Unique in a benchmark; also a folder.
        title: For people.
        train: ``(pairs,)`` to train on.
        test: ``(pairs,)`` on which the metric is tested.
        seen: ``(pairs,)`` on which it is tested for comparison: held-out references, nothing else unseen.
        train_subjects: Subjects whose mean opinion is learned; empty for all.
        test_subjects: Subjects whose mean opinion is predicted; empty for all.
    """

    name: str
    title: str
    train: Mask
    test: Mask
    seen: Mask
    train_subjects: tuple[str, ...] = ()
    test_subjects: tuple[str, ...] = ()

    @property
    def measured(self) -> Mask:
        """Pairs for which values are needed: ``(pairs,)``."""
        return self.test | self.seen


def split_folds(pairs: PairTable, repeats: int) -> tuple[Fold, ...]:
    """Return the splits by reference, 8:2."""
    nothing = np.zeros(len(pairs), np.bool_)
    masks = [_training(pairs, seed) for seed in range(repeats)]
    return tuple(
        Fold(f"split-{seed}", f"split {seed}", train, ~train, nothing) for seed, train in enumerate(masks)
    )


def unseen_folds(kind: Unseen, pairs: PairTable, subjects: Sequence[str]) -> tuple[Fold, ...]:
    """Return the folds of a study of generalisation, on the split with seed 0.

    Args:
        kind: What is unseen.
        pairs: All pairs.
        subjects: Those of the score that is learned.

    Raises:
        InputError: The database has fewer than two views, twelve distortions or four subjects.
    """
    train = _training(pairs, 0)
    makers = {Unseen.TYPES: _types, Unseen.VIEW: _views}
    if kind is Unseen.SUBJECT:
        return tuple(_partitions(train, subjects))
    return tuple(makers[kind](pairs, train))


def _training(pairs: PairTable, seed: int) -> Mask:
    chosen = training_references(pairs.reference_ids.tolist(), seed)
    return np.isin(pairs.reference_ids, list(chosen))


def _types(pairs: PairTable, train: Mask) -> Iterator[Fold]:
    names = np.unique(pairs.distortion_ids)
    if len(names) < 2 * LEFT_OUT:
        raise InputError(
            "too few distortions to leave six out", expected=f"{2 * LEFT_OUT} or more", got=len(names)
        )
    drawn = np.random.default_rng(0).permutation(names)
    for number in range(len(names) // LEFT_OUT):
        left_out = np.sort(drawn[number * LEFT_OUT : (number + 1) * LEFT_OUT])
        out = np.isin(pairs.distortion_ids, left_out)
        title = f"without {', '.join(left_out.tolist())}"
        yield Fold(f"types-{number}", title, train & ~out, ~train & out, ~train & ~out)


def _views(pairs: PairTable, train: Mask) -> Iterator[Fold]:
    views = pairs.labels["view"]
    names = np.unique(views).tolist()
    if len(names) <= 1:
        raise InputError("unseen view needs two views or more", got=", ".join(names))
    for name in names:
        own = views == name
        yield Fold(f"view-{name}", f"without {name}", train & ~own, own, ~train & ~own)


def _partitions(train: Mask, subjects: Sequence[str]) -> Iterator[Fold]:
    size = round(_TRAINING_SHARE * len(subjects))
    chosen = list(combinations(subjects, size))
    if len(subjects) - size <= 1:
        raise InputError("unseen subjects need four subjects or more", got=len(subjects))
    if len(chosen) > _MOST_PARTITIONS:
        drawn = np.random.default_rng(0).permutation(len(chosen))[:_MOST_PARTITIONS]
        chosen = [chosen[at] for at in np.sort(drawn)]
    for number, learned in enumerate(chosen):
        others = tuple(name for name in subjects if name not in learned)
        title = f"predicts {', '.join(others)}"
        yield Fold(f"subject-{number}", title, train, ~train, ~train, tuple(learned), others)
