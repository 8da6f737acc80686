"""Metrics by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.metrics.gmsd import gmsd
from embodied_iqa.metrics.psnr import psnr
from embodied_iqa.metrics.ssim import ssim
from embodied_iqa.user_code import PREFIX, load_object


@dataclass(frozen=True, slots=True)
class FullReferenceMetric:
    """A metric that compares a distorted picture with its reference.

    Attributes:
        name: Name in the registry.
        measure: ``measure(reference, distorted) -> value``.
        higher_is_better: Direction.
        perfect: Value of the reference itself.
        worst: Value of a picture in which nothing of the reference is left, for scaling.
        source: Paper.
    """

    name: str
    measure: Callable[[NDArray[np.uint8], NDArray[np.uint8]], float]
    higher_is_better: bool
    perfect: float
    worst: float
    source: str


FULL_REFERENCE = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            FullReferenceMetric("psnr", psnr, True, math.inf, 0.0, "mean squared error in decibels"),
            FullReferenceMetric("ssim", ssim, True, 1.0, 0.0, "Wang et al. 2004"),
            FullReferenceMetric("gmsd", gmsd, False, 0.0, 0.35, "Xue et al. 2014"),
        )
    }
)
"""Full-reference metrics by name."""


def full_reference_metric(name: str) -> FullReferenceMetric:
    """Return a metric by name; ``"python:module:name"`` is one in the user's own module.

    Raises:
        UsageError: Unknown metric.
        InputError: The user's module fails, or the name is not a `FullReferenceMetric`.
    """
    if name.startswith(PREFIX):
        metric = load_object(name.removeprefix(PREFIX))
        if not isinstance(metric, FullReferenceMetric):
            raise InputError(f"{name} is not a metric", expected="a FullReferenceMetric")
        return metric
    if name not in FULL_REFERENCE:
        raise UsageError("unknown full-reference metric", got=name, available=FULL_REFERENCE)
    return FULL_REFERENCE[name]
