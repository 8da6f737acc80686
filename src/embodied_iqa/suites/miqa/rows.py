"""Rows of a database of machine-vision quality."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.imaging.distortions.region import RegionMode


class Part(StrEnum):
    """Side of the split by reference, 4:1."""

    TRAIN = "train"
    VALIDATION = "val"


@dataclass(frozen=True, slots=True)
class MiqaRow:
    """Labels of one distorted image; all in [0, 1], higher is better.

    Attributes:
        image: Its path below ``images/``, which identifies it.
        reference: Name of its source image.
        category: Class of the source image; empty if unknown.
        kind: Type of the distortion, as in its name.
        roi_level: Level inside the region of interest, 1 to 5.
        background_level: Level outside, 1 to 5.
        mode: The part that is distorted more.
        part: Side of the split.
        weighted_consistency: Agreement of the models with their own predictions on the source image.
        weighted_accuracy: Agreement of the models with the truth.
        composite: Mean of the two.
        mean_consistency: Without weights; None where a published file lacks it, as the next three.
        std_consistency: Standard deviation over the models (of the population).
        mean_accuracy: As for consistency.
        std_accuracy: As for consistency.
    """

    image: str
    reference: str
    category: str
    kind: str
    roi_level: int
    background_level: int
    mode: RegionMode
    part: Part
    weighted_consistency: float
    weighted_accuracy: float
    composite: float
    mean_consistency: float | None = None
    std_consistency: float | None = None
    mean_accuracy: float | None = None
    std_accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class ModelValues:
    """Measures of every model on one image, from which labels are computed.

    Attributes:
        image: Path below ``images/``; the reference's name for the clean image.
        consistency: ``(M,)`` in the order of the manifest, in [0, 1].
        accuracy: ``(M,)`` likewise.
    """

    image: str
    consistency: tuple[float, ...]
    accuracy: tuple[float, ...]
