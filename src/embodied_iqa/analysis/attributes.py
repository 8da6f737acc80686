"""What distortions do to a picture's low-level attributes, before any subject looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.analysis.correlation import Correlation, srcc
from embodied_iqa.analysis.grid import Group, PairTable

__all__ = ["ATTRIBUTES", "AttributeRow", "AttributeTable", "PairAttributes", "attribute_table"]

Array = NDArray[np.float64]
ATTRIBUTES: Final = ("luminance", "contrast", "chrominance", "sharpness", "spatial_information")
"""Columns of the database's pictures; sharpness stands for blur, which is its lack."""


@dataclass(frozen=True, slots=True)
class PairAttributes:
    """Attributes of all pairs.

    Attributes:
        names: Of the columns.
        distorted: ``(pairs, attributes)`` of the distorted pictures.
        reference: ``(pairs, attributes)`` of their references.
    """

    names: tuple[str, ...]
    distorted: Array
    reference: Array


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """One distortion.

    Attributes:
        distortion_id: Two digits; empty for the references themselves.
        count: Pictures.
        means: Mean of each attribute.
        changes: Mean change from the reference to the distorted picture.
    """

    distortion_id: str
    count: int
    means: tuple[float, ...]
    changes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """Attributes by distortion, and how they go with the scores.

    Attributes:
        names: Of the attributes.
        rows: By distortion; the first is of the references.
        correlations: Kind of subject to the SRCC, over all pairs, of each attribute's absolute change with
            the mean opinion.
    """

    names: tuple[str, ...]
    rows: tuple[AttributeRow, ...]
    correlations: dict[Group, tuple[Correlation, ...]]


def attribute_table(found: PairAttributes, pairs: PairTable, opinions: dict[Group, Array]) -> AttributeTable:
    """Average attributes over distortions."""
    _, first = np.unique(pairs.reference_ids, return_index=True)
    references = found.reference[first]
    none = (0.0,) * len(found.names)
    rows = [AttributeRow("", len(first), _means(references), none)]
    changes = found.distorted - found.reference
    for number in np.unique(pairs.distortion_ids):
        own = pairs.distortion_ids == number
        rows.append(
            AttributeRow(str(number), int(own.sum()), _means(found.distorted[own]), _means(changes[own]))
        )
    correlations = {
        group: tuple(srcc(np.abs(changes[:, column]), opinion) for column in range(len(found.names)))
        for group, opinion in opinions.items()
    }
    return AttributeTable(found.names, tuple(rows), correlations)


def _means(values: Array) -> tuple[float, ...]:
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0).sum(axis=0), known.sum(axis=0)
    return tuple(float(s / n) if n else float("nan") for s, n in zip(sums, counts, strict=True))
