"""The interface of metrics that are trained anew for each split of a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.drawing import drawn_of_each
from embodied_iqa.quality.metrics.image_set import ImageSet

FEWEST_REFERENCES: Final = 6
"""Of a training set of a recipe; a sixth of them validates."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Labelled images; a validation part, if one is needed, is taken from these by reference.

    Attributes:
        images: Where the images come from.
        pair_ids: ``(N,)`` pairs to train on; pairs of one reference are neighbours.
        reference_ids: ``(N,)`` the reference of each pair.
        labels: ``(N,)`` finite, higher is better.
        kinds: ``(N,)`` what was done to each image, such as ``12:3`` for a distortion and its level; empty
            if unknown. Not to be predicted from: it only tells which images should have about one label.
    """

    images: ImageSet
    pair_ids: tuple[str, ...]
    reference_ids: tuple[str, ...]
    labels: NDArray[np.float64]
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(self.pair_ids), len(self.reference_ids), len(self.labels)}
        sizes |= {len(self.kinds)} if self.kinds else set()
        if len(sizes) != 1 or not np.isfinite(self.labels).all():
            raise InputError("wrong training set", expected="a finite label for each pair", got=sizes)

    def part(self, rows: NDArray[np.int64]) -> TrainingSet:
        """Return the pairs of some rows, in this order."""
        ids, owners = ([words[row] for row in rows] for words in (self.pair_ids, self.reference_ids))
        kinds = tuple(self.kinds[row] for row in rows) if self.kinds else ()
        return TrainingSet(self.images, tuple(ids), tuple(owners), self.labels[rows], kinds)

    def of_each(self, most: int, seed: int) -> TrainingSet:
        """Return at most so many pairs of each reference, drawn by the seed; 0 for all."""
        return self.part(np.flatnonzero(drawn_of_each(self.pair_ids, self.reference_ids, most, seed)))


@runtime_checkable
class Trainable(Protocol):
    """A metric before its training. Stateless: the same set and seed give the same metric."""

    @property
    def name(self) -> str:
        """Name of the recipe, such as `embodied-nr`."""
        ...

    @property
    def version(self) -> str:
        """Changes with everything that the result depends on beside set and seed."""
        ...

    def train(self, samples: TrainingSet, out: Path, seed: int) -> str:
        """Train a metric, or continue where a training in this folder was interrupted.

        Args:
            samples: What to learn from; nothing else of the database may be used.
            out: Folder for the metric; only this one is written.
            seed: Of everything random.

        Returns:
            Name of the trained metric for `metrics.catalogue.metric_by_name`.

        Raises:
            InputError: The set is too small, or a file is damaged.
        """
        ...
