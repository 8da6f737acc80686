"""The metrics that are part of this package, by name."""

from __future__ import annotations

import math
import re
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.quality.metrics.brisque import brisque
from embodied_iqa.quality.metrics.fsim import fsim
from embodied_iqa.quality.metrics.functions import AtSize, FullReference, NoReference
from embodied_iqa.quality.metrics.gmsd import gmsd, gmsd_colour
from embodied_iqa.quality.metrics.metric import Metric, MetricInfo, Needs
from embodied_iqa.quality.metrics.ms_ssim import ms_ssim
from embodied_iqa.quality.metrics.niqe import niqe
from embodied_iqa.quality.metrics.piqe import piqe
from embodied_iqa.quality.metrics.psnr import psnr
from embodied_iqa.quality.metrics.ssim import ssim
from embodied_iqa.quality.metrics.vif import vif
from embodied_iqa.quality.metrics.vsi import vsi

_SIZE: Final = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")

_ALL: Final[tuple[Metric, ...]] = (
    FullReference(
        MetricInfo("psnr", Needs.REFERENCE, True, 0.0, math.inf, "mean squared error in decibels"), psnr
    ),
    FullReference(
        MetricInfo("ssim", Needs.REFERENCE, True, -1.0, 1.0, "Wang et al. 2004", smallest_px=11), ssim
    ),
    FullReference(
        MetricInfo("ms-ssim", Needs.REFERENCE, True, 0.0, 1.0, "Wang et al. 2003", smallest_px=161), ms_ssim
    ),
    FullReference(
        MetricInfo("gmsd", Needs.REFERENCE, False, 0.0, 0.5, "Xue et al. 2014", smallest_px=8), gmsd
    ),
    FullReference(
        MetricInfo(
            "gmsd-colour", Needs.REFERENCE, False, 0.0, 0.5, "Xue et al. 2014, each channel", smallest_px=8
        ),
        gmsd_colour,
    ),
    FullReference(
        MetricInfo("fsim", Needs.REFERENCE, True, 0.0, 1.0, "Zhang et al. 2011, FSIMc", smallest_px=16), fsim
    ),
    FullReference(
        MetricInfo("vsi", Needs.REFERENCE, True, 0.0, 1.0, "Zhang et al. 2014", smallest_px=16), vsi
    ),
    FullReference(
        MetricInfo(
            "vif", Needs.REFERENCE, True, 0.0, math.inf, "Sheikh & Bovik 2006, pixel domain", smallest_px=41
        ),
        vif,
    ),
    NoReference(
        MetricInfo(
            "brisque",
            Needs.NOTHING,
            False,
            source="Mittal et al. 2012; SVM of image-quality 1.2.7, trained on LIVE, Apache 2.0",
            smallest_px=32,
            megabytes=0.1,
        ),
        brisque,
    ),
    NoReference(
        MetricInfo(
            "niqe",
            Needs.NOTHING,
            False,
            0.0,
            source="Mittal et al. 2013; fitted on simulated frames and scikit-image's photographs",
            smallest_px=192,
        ),
        niqe,
    ),
    NoReference(
        MetricInfo("piqe", Needs.NOTHING, False, 0.0, 100.0, "Venkatanath et al. 2015", smallest_px=16), piqe
    ),
)

BUILT_IN: Final = MappingProxyType({metric.info.name: metric for metric in _ALL})
"""Built-in metrics by name."""
_ALIASES: Final = MappingProxyType({"ssimc": "ssim", "gmsd-color": "gmsd-colour"})
"""Other names for the same definition: of pyiqa, whose `ssim` is of the luma, and in American spelling."""


def built_in_name(word: str) -> str | None:
    """Return the name of a built-in metric that a word means, as pyiqa's ``ms_ssim``; None if none."""
    plain = word.strip().lower().replace("_", "-")
    name = _ALIASES.get(plain, plain)
    return name if name in BUILT_IN else None


def built_in(name: str) -> Metric:
    """Return a built-in metric; ``"psnr:240x180"`` is PSNR of images resized to 240 x 180.

    Raises:
        UsageError: No such metric, or not a size.
    """
    word, colon, size = name.partition(":")
    base = built_in_name(word)
    if base is None:
        raise UsageError("unknown metric", got=name, available=BUILT_IN)
    if not colon:
        return BUILT_IN[base]
    pixels = _SIZE.fullmatch(size)
    if pixels is None:
        raise UsageError(
            f"not a size for {base}", expected=f"{base}:WIDTHxHEIGHT, such as {base}:240x180", got=size
        )
    return AtSize(BUILT_IN[base], int(pixels[1]), int(pixels[2]))
