"""Quality metrics in the Python interface: by name, called with images as people hold them."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from embodied_iqa.api.image_batch import Image, ImageBatch, image_batch
from embodied_iqa.base.errors import Description, InputError, UsageError
from embodied_iqa.quality.metrics.built_in import built_in_name
from embodied_iqa.quality.metrics.catalogue import close_metric, known_metrics, metric_by_name
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.metric import Metric, MetricContext, MetricInfo, Needs


class ImageMetric:
    """A quality metric that is called with images; itself a `Metric`.

    It is not differentiable: gradients of tensors are dropped.

    Args:
        metric: What measures one image.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    @property
    def info(self) -> MetricInfo:
        """Name, direction, range, whether it needs the reference, and its source."""
        return self._metric.info

    @property
    def lower_better(self) -> bool:
        """Whether a lower value means a better image."""
        return not self.info.higher_is_better

    @overload
    def __call__(self, distorted: str | Path, reference: Any = None) -> float: ...
    @overload
    def __call__(self, distorted: Any, reference: Any = None) -> Any: ...

    def __call__(self, distorted: Any, reference: Any = None) -> Any:
        """Return the value of each image.

        Args:
            distorted: One RGB image or a batch of N: an array ``(H, W, 3)`` or ``(N, H, W, 3)``, a torch
                tensor ``(3, H, W)`` or ``(N, 3, H, W)``, uint8 or floats from 0 to 1 (rounded to 8 bits), an
                image of Pillow, or the path of a file.
            reference: The same undistorted, or one image for the whole batch; not needed by a metric without
                reference.

        Returns:
            A float for one image; for a batch ``(N,)`` float64, a tensor where the argument is one.

        Warns:
            UserWarning: A trained metric has learned nothing from such images, or a reference is given to a
                metric that takes none: it is ignored.

        Raises:
            InputError: Another type, shape or range, images of different sizes, or the reference is missing.
        """
        batch = image_batch(distorted)
        references = _references(batch, reference, self.info)
        pairs = zip(batch.images, references, strict=True)
        return batch.values([_measured(self._metric, image, other) for image, other in pairs])

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of one image whose camera or task is known; see `Metric`."""
        return self._metric.measure(distorted, reference, context)

    def close(self) -> None:
        """End the process or connection of a metric that has one."""
        close_metric(self._metric)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<metric {self.info.name}>"


def metric(name: str) -> ImageMetric:
    """Return a quality metric, ready to be called: ``metric("ms_ssim")(distorted, reference)``.

    Args:
        name: As `list_metrics` or docs/metrics.md lists it; case does not count, and ``_`` is ``-``.

    Raises:
        UserError: An unknown metric, or it cannot be loaded.
    """
    return ImageMetric(metric_by_name(_named(name)))


def list_metrics(needs: Needs | str | None = None) -> list[str]:
    """Return the names of the metrics that run without files of your own: those built in, then plug-ins.

    Args:
        needs: Only those of this kind: ``"reference"`` or ``"nothing"``, without plug-ins; None for all.
            Nothing of a plug-in is run: one whose module is not there is left out, others may still fail.

    Raises:
        UsageError: No such kind.
    """
    return list(known_metrics(needs))


@overload
def measure(distorted: str | Path, reference: Any = None, metric: str | Metric = ...) -> float: ...


@overload
def measure(distorted: Any, reference: Any = None, metric: str | Metric = ...) -> Any: ...


def measure(distorted: Any, reference: Any = None, metric: str | Metric = "ssim") -> Any:
    """Return the value of a quality metric; see `ImageMetric`, which loads it only once.

    Args:
        distorted: One image or a batch.
        reference: The same undistorted; None for a metric without reference.
        metric: Name of a metric (docs/metrics.md), a metric of `embodied_iqa.metric`, or your own `Metric`.

    Returns:
        A float, or of a batch ``(N,)``.

    Raises:
        UsageError: An unknown metric.
        InputError: Another type, shape or range, images of different sizes, or the reference is missing.
    """
    _check_order(reference)
    if isinstance(metric, ImageMetric):
        return metric(distorted, reference)
    if isinstance(metric, Metric):
        return ImageMetric(metric)(distorted, reference)
    with ImageMetric(metric_by_name(_named(metric))) as named:
        return named(distorted, reference)


def _check_order(reference: object) -> None:
    """Refuse a metric's name in the place of the reference, unless it is a file as well."""
    if isinstance(reference, str) and built_in_name(reference) is not None and not Path(reference).exists():
        raise UsageError(
            "the second argument is the reference", expected=f"metric={reference!r}", got=reference
        )


def _named(name: object) -> str:
    if not isinstance(name, str):
        expected = "the name of a metric, such as 'ssim'"
        raise UsageError("not a metric", expected=expected, got=Description(type(name).__name__))
    return name


def _references(batch: ImageBatch, reference: Any, info: MetricInfo) -> tuple[Image | None, ...]:
    """Return the reference of each image; a single one serves the whole batch."""
    if reference is not None and info.needs is Needs.NOTHING:
        warnings.warn(f"{info.name} takes no reference: the one given is ignored", stacklevel=3)
    if reference is None or info.needs is Needs.NOTHING:
        return (None,) * len(batch.images)
    found = image_batch(reference).images
    if len(found) == 1:
        return found * len(batch.images)
    if len(found) != len(batch.images):
        raise InputError(
            "images and references differ in number", expected=f"1 or {len(batch.images)}", got=len(found)
        )
    return found


def _measured(metric: Metric, distorted: Image, reference: Image | None) -> float:
    if not isinstance(metric, TrainedMetric):
        return metric.measure(distorted, reference)
    values = metric.input.measure(distorted, reference)
    if metric.outside_training(values):
        text = f"outside training: the image is unlike those that {metric.info.name} was trained on"
        warnings.warn(text, stacklevel=4)
    return metric.measure_from(values)
