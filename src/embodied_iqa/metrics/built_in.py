"""The metrics that are part of this package, by name."""

from __future__ import annotations

import math
import re
from types import MappingProxyType
from typing import Final

from embodied_iqa.errors import UsageError
from embodied_iqa.metrics.functions import AtSize, FullReference
from embodied_iqa.metrics.gmsd import gmsd
from embodied_iqa.metrics.metric import Metric, MetricInfo, Needs
from embodied_iqa.metrics.psnr import psnr
from embodied_iqa.metrics.ssim import ssim

_SIZE: Final = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")

_ALL: Final[tuple[Metric, ...]] = (
    FullReference(
        MetricInfo("psnr", Needs.REFERENCE, True, 0.0, math.inf, "mean squared error in decibels"), psnr
    ),
    FullReference(
        MetricInfo("ssim", Needs.REFERENCE, True, -1.0, 1.0, "Wang et al. 2004", smallest_px=11), ssim
    ),
    FullReference(
        MetricInfo("gmsd", Needs.REFERENCE, False, 0.0, 0.5, "Xue et al. 2014", smallest_px=8), gmsd
    ),
)

BUILT_IN: Final = MappingProxyType({metric.info.name: metric for metric in _ALL})
"""Built-in metrics by name."""


def built_in(name: str) -> Metric:
    """Return a built-in metric; ``"psnr:240x180"`` is PSNR of pictures resized to 240 x 180.

    Raises:
        UsageError: No such metric, or not a size.
    """
    base, colon, size = name.partition(":")
    if base not in BUILT_IN:
        raise UsageError("unknown metric", got=name, available=BUILT_IN)
    if not colon:
        return BUILT_IN[base]
    pixels = _SIZE.fullmatch(size)
    if pixels is None:
        raise UsageError(
            f"not a size for {base}", expected=f"{base}:WIDTHxHEIGHT, such as {base}:240x180", got=size
        )
    return AtSize(BUILT_IN[base], int(pixels[1]), int(pixels[2]))
