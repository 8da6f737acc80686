"""Metrics in the user's own code, ``python:module:factory``, and in plug-ins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.plugins import Plugin
from embodied_iqa.base.user_code import PREFIX, load_factory, own_code
from embodied_iqa.quality.metrics.functions import required
from embodied_iqa.quality.metrics.input_checks import check_image, check_pair
from embodied_iqa.quality.metrics.metric import Image, Metric, MetricContext, MetricInfo, Needs

_ROUNDING: Final = 1e-6
"""Share of its ends by which a value may leave the range: float32 has 7 digits."""


class OwnMetric:
    """A metric of the user's own under the name of its reference; its input and its result are checked.

    Args:
        metric: What the factory made.
        name: Its full name.

    Raises:
        InputError: It is not a metric.
    """

    def __init__(self, metric: Any, name: str) -> None:
        if not isinstance(metric, Metric) or not isinstance(metric.info, MetricInfo):
            raise InputError(
                f"what {name} makes is not a metric",
                expected="`info`, a MetricInfo, and a method `measure`",
                got=type(metric).__name__,
            )
        self._metric = metric
        self.info = replace(metric.info, name=name)

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of an image; see `Metric`."""
        info = self.info
        if info.needs is Needs.REFERENCE:
            check_pair(required(reference, info), distorted, info.smallest_px)
        else:
            check_image(distorted, info.smallest_px)
        with own_code(f"{info.name} fails"):
            returned = self._metric.measure(distorted, reference, context)
            if isinstance(returned, str | bytes | bool):
                raise InputError(f"{info.name} returned no number", expected="a number", got=returned)
            value = float(returned)
        if math.isnan(value):
            raise InputError(f"{info.name} returned nan", expected="a number")
        _check_range(value, info)
        return value

    def close(self) -> None:
        """Close the user's metric, where it can be closed."""
        close = getattr(self._metric, "close", None)
        if callable(close):
            close()


def _check_range(value: float, info: MetricInfo) -> None:
    """Refuse a value outside the range that the metric states, by more than rounding."""
    ends = [end for end in (info.lowest, info.highest) if math.isfinite(end)]
    rounding = _ROUNDING * max([1.0, *map(abs, ends)])
    if not info.lowest - rounding <= value <= info.highest + rounding:
        expected = f"{info.lowest:g} to {info.highest:g}, as its info states"
        raise InputError(f"{info.name} left its range", expected=expected, got=value)


def make(target: str) -> Metric:
    """Make the metric of ``module:factory``.

    Raises:
        UserError: It cannot be imported, or makes something else.
    """
    return _checked_metric(load_factory(target), f"{PREFIX}{target}", f"{PREFIX}{target}")


def make_plugin(plugin: Plugin) -> Metric:
    """Make the metric of another distribution, under its plain name.

    Raises:
        UserError: It cannot be imported, or makes something else.
    """
    return _checked_metric(plugin.load(), plugin.name, f"the {plugin}")


def _checked_metric(factory: Callable[[], Any], name: str, words: str) -> Metric:
    with own_code(f"{words} cannot be made"):
        metric = factory()
    return OwnMetric(metric, name)
