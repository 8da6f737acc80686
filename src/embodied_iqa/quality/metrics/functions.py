"""Metrics made of plain functions, and metrics of images of another size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.input_checks import check_image
from embodied_iqa.quality.metrics.metric import Image, Metric, MetricContext, MetricInfo, Needs


def required(reference: Image | None, info: MetricInfo) -> Image:
    """Return the reference.

    Raises:
        InputError: There is none.
    """
    if reference is None:
        raise InputError(f"{info.name} compares with a reference", expected="the undistorted image")
    return reference


@dataclass(frozen=True, slots=True)
class FullReference:
    """A full-reference metric.

    Attributes:
        info: Description.
        function: ``function(reference, distorted) -> value``.
    """

    info: MetricInfo
    function: Callable[[Image, Image], float]

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of an image; see `Metric`."""
        return self.function(required(reference, self.info), distorted)


@dataclass(frozen=True, slots=True)
class NoReference:
    """A metric without reference.

    Attributes:
        info: Description.
        function: ``function(distorted) -> value``.
    """

    info: MetricInfo
    function: Callable[[Image], float]

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of an image; see `Metric`."""
        return self.function(distorted)


class AtSize:
    """A metric of the images after they are resized to what a policy sees (area averaging).

    Args:
        metric: The metric.
        width_px: Width of its images.
        height_px: Their height.

    Raises:
        InputError: The size is too small for the metric.
    """

    def __init__(self, metric: Metric, width_px: int, height_px: int) -> None:
        info = metric.info
        if min(width_px, height_px) < info.smallest_px:
            raise InputError(
                f"{info.name} needs larger images",
                expected=f"at least {info.smallest_px} pixels a side",
                got=f"{width_px}x{height_px}",
            )
        self._metric = metric
        self._size_px = (width_px, height_px)
        self.info = replace(info, name=f"{info.name}:{width_px}x{height_px}", smallest_px=1)

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of an image; see `Metric`."""
        small = None if self.info.needs is Needs.NOTHING else self._resized(required(reference, self.info))
        return self._metric.measure(self._resized(distorted), small, context)

    def _resized(self, image: Image) -> Image:
        check_image(image)
        resized: Image = cv2.resize(image, self._size_px, interpolation=cv2.INTER_AREA)
        return resized
