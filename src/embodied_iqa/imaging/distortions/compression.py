"""Compression by real codecs: JPEG2000 (09), JPEG (10), WebP (11)."""

from __future__ import annotations

import math
import os

import cv2
import numpy as np
from numpy.random import Generator

from embodied_iqa.base.errors import InternalError
from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import Image

_SMALLEST_JPEG2000_PX = 32
"""OpenCV asks for six resolutions: five halvings of the shorter side."""
_SMALLEST_JPEG2000_AREA_PX = 224 * 224
"""Below it the header alone, of about 200 bytes, is more than the highest ratio leaves."""
_RATES_PER_RATIO = 1000
"""OpenCV takes JPEG2000 rates as whole thousandths of the raw size."""

# OpenJPEG reads it for each image. Threads change the time, not the image; `workers` sets 1.
os.environ.setdefault("OPJ_NUM_THREADS", str(min(4, os.cpu_count() or 1)))


def _through_codec(pixels: Image, extension: str, options: tuple[int, int], read_as: int) -> Image:
    done, data = cv2.imencode(extension, pixels, options)
    decoded = cv2.imdecode(data, read_as) if done else None
    if decoded is None or decoded.shape != pixels.shape:
        raise InternalError(f"OpenCV's {extension} codec lost an image of shape {pixels.shape}")
    result: Image = decoded
    return result


def jpeg2000(image: Image, _: Generator, ratio: float) -> Image:
    """Encode with OpenJPEG to ``1 / ratio`` of the raw size (5-3 wavelet, one layer) and decode.

    OpenCV does not transform the components; the standard's transform to YCbCr is done here. Rates are whole
    thousandths of the raw size; the nearest is used, so that a ratio of 400 is 333. Images under 32 px or
    with fewer pixels than 224x224 are continued with their mirror image to that many before, so that the
    ratio is that of the image data and not of the header.
    """
    rate = max(1, math.floor(_RATES_PER_RATIO / ratio + 0.5))
    height, width = image.shape[:2]
    pixels = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)
    scale = max(1.0, math.sqrt(_SMALLEST_JPEG2000_AREA_PX / (height * width)))
    below, right = (max(_SMALLEST_JPEG2000_PX, math.ceil(scale * side)) - side for side in (height, width))
    if below or right:
        pixels = cv2.copyMakeBorder(pixels, 0, below, 0, right, cv2.BORDER_REFLECT)
    options = (cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, rate)
    decoded = _through_codec(pixels, ".jp2", options, cv2.IMREAD_COLOR)
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(decoded[:height, :width]), cv2.COLOR_YCrCb2RGB))


def _rgb_through_codec(image: Image, extension: str, options: tuple[int, int]) -> Image:
    return _through_codec(cv2.cvtColor(image, cv2.COLOR_RGB2BGR), extension, options, cv2.IMREAD_COLOR_RGB)


def jpeg(image: Image, _: Generator, quality: float) -> Image:
    """Encode as baseline JPEG, 4:2:0, ``quality`` 0 to 100 (libjpeg's scale), and decode."""
    return _rgb_through_codec(image, ".jpg", (cv2.IMWRITE_JPEG_QUALITY, round(quality)))


def webp(image: Image, _: Generator, quality: float) -> Image:
    """Encode as lossy WebP, ``quality`` 1 to 100 (libwebp's scale), and decode."""
    return _rgb_through_codec(image, ".webp", (cv2.IMWRITE_WEBP_QUALITY, round(quality)))


_COMPRESSION = DistortionClass.COMPRESSION
ENTRIES = (
    kadid(
        "09",
        _COMPRESSION,
        jpeg2000,
        "raw size / compressed size",
        "OpenCV rounds 1000 / ratio to a whole number: level 5 is 333",
        ratio=(16, 32, 45, 120, 400),
    ),
    kadid("10", _COMPRESSION, jpeg, "libjpeg quality", quality=(43, 36, 24, 7, 4)),
    calibrated("11", _COMPRESSION, webp, "quality", "libwebp quality", "not in KADID-10k"),
)
