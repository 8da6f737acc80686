"""Changes of low-level attributes of images by distortion, and their correlation with the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import Correlation, srcc
from embodied_iqa.data.analysis.grid import Group, PairTable
from embodied_iqa.data.analysis.means import finite_means

Array = NDArray[np.float64]
ATTRIBUTES: Final = ("luminance", "contrast", "chrominance", "sharpness", "spatial_information")
"""Columns of the database; sharpness is the opposite of blur."""


@dataclass(frozen=True, slots=True)
class PairAttributes:
    """Attributes of all pairs.

    Attributes:
        names: Of the columns.
        distorted: ``(pairs, attributes)`` of the distorted images.
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
        count: Images.
        means: Mean of each attribute.
        changes: Mean change from the reference to the distorted image.
    """

    distortion_id: str
    count: int
    means: tuple[float, ...]
    changes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """Attributes by distortion, and their correlation with the scores.

    Attributes:
        names: Of the attributes.
        rows: By distortion; the first is of the references.
        correlations: SRCC over all pairs of each attribute's absolute change with the mean opinion.
    """

    names: tuple[str, ...]
    rows: tuple[AttributeRow, ...]
    correlations: dict[Group, tuple[Correlation, ...]]


def attribute_table(
    attributes: PairAttributes, pairs: PairTable, opinions: dict[Group, Array]
) -> AttributeTable:
    """Average attributes over distortions."""
    _, first = np.unique(pairs.reference_ids, return_index=True)
    rows = [AttributeRow("", len(first), _means(attributes.reference[first]), (0.0,) * len(attributes.names))]
    changes = attributes.distorted - attributes.reference
    for number in np.unique(pairs.distortion_ids):
        own = pairs.distortion_ids == number
        means = _means(attributes.distorted[own]), _means(changes[own])
        rows.append(AttributeRow(str(number), int(own.sum()), *means))
    correlations = {
        group: tuple(srcc(np.abs(column), opinion) for column in changes.T)
        for group, opinion in opinions.items()
    }
    return AttributeTable(attributes.names, tuple(rows), correlations)


def _means(values: Array) -> tuple[float, ...]:
    return tuple(finite_means(values, axis=0).tolist())
