"""Compression through the real codecs: JPEG2000 (09), JPEG (10), WebP (11)."""

from __future__ import annotations

import cv2
from numpy.random import Generator

from embodied_iqa.distortions.calibrated import calibrated_levels
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source, single
from embodied_iqa.distortions.image import Image
from embodied_iqa.errors import InternalError

__all__ = ["ENTRIES", "jpeg", "jpeg2000", "webp"]

_RATES_PER_RATIO = 1000
"""OpenCV takes JPEG2000 rates as whole thousandths of the raw size."""


def _through_codec(image: Image, extension: str, options: tuple[int, int]) -> Image:
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    done, data = cv2.imencode(extension, bgr, options)
    decoded = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB) if done else None
    if decoded is None or decoded.shape != image.shape:
        raise InternalError(f"OpenCV's {extension} codec lost a picture of shape {image.shape}")
    result: Image = decoded
    return result


def jpeg2000(image: Image, rng: Generator, ratio: float) -> Image:
    """Encode with OpenJPEG to ``1 / ratio`` of the raw size (9-7 wavelet, one layer) and decode.

    OpenCV offers whole thousandths of the raw size; the nearest is taken, so that a ratio of 400 is 333.
    """
    del rng
    rate = max(1, round(_RATES_PER_RATIO / ratio))
    result: Image = _through_codec(image, ".jp2", (cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, rate))
    return result


def jpeg(image: Image, rng: Generator, quality: float) -> Image:
    """Encode as baseline JPEG, 4:2:0, ``quality`` 0 to 100 (libjpeg's scale), and decode."""
    del rng
    result: Image = _through_codec(image, ".jpg", (cv2.IMWRITE_JPEG_QUALITY, round(quality)))
    return result


def webp(image: Image, rng: Generator, quality: float) -> Image:
    """Encode as lossy WebP, ``quality`` 1 to 100 (libwebp's scale), and decode."""
    del rng
    result: Image = _through_codec(image, ".webp", (cv2.IMWRITE_WEBP_QUALITY, round(quality)))
    return result


ENTRIES = (
    Entry(
        "09",
        "jpeg2000",
        DistortionClass.COMPRESSION,
        ("ratio",),
        single(16, 32, 45, 120, 400),
        "raw size / compressed size",
        Source.KADID,
        jpeg2000,
        "OpenCV rounds 1000 / ratio to a whole number: level 5 is 333",
    ),
    Entry(
        "10",
        "jpeg",
        DistortionClass.COMPRESSION,
        ("quality",),
        single(43, 36, 24, 7, 4),
        "libjpeg quality",
        Source.KADID,
        jpeg,
    ),
    Entry(
        "11",
        "webp",
        DistortionClass.COMPRESSION,
        ("quality",),
        calibrated_levels("11"),
        "libwebp quality",
        Source.CALIBRATION,
        webp,
        "not in KADID-10k",
    ),
)
