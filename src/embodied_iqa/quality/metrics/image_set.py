"""Images that metrics are measured on or trained with: distorted images and their references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from embodied_iqa.quality.metrics.metric import Image, MetricContext


@dataclass(frozen=True, slots=True)
class PairImages:
    """A distorted image with what belongs to it.

    Attributes:
        pair_id: Name of the pair.
        distorted: ``(H, W, 3)`` uint8 RGB.
        reference: Of the same shape; None in a set without references.
        context: Camera and task, where known.
    """

    pair_id: str
    distorted: Image
    reference: Image | None
    context: MetricContext = field(default_factory=MetricContext)


class ImageSet(Protocol):
    """Images of a database, by pair. Can be pickled; reads nothing until it is iterated."""

    @property
    def name(self) -> str:
        """Name of the database."""
        ...

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """Yield pairs in the given order; pairs of one reference should be neighbours.

        Raises:
            InputError: A pair does not exist, or a file is missing or damaged.
        """
        ...

    def digest(self, pair_ids: Sequence[str]) -> str:
        """Return a hash of everything that the pixels of these pairs depend on."""
        ...
