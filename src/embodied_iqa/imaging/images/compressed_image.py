"""JPEG and PNG images of `sensor_msgs/msg/CompressedImage`, as image_transport writes them."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import decode
from embodied_iqa.imaging.images.encodings import DEPTHS, ENCODINGS, eight_bits
from embodied_iqa.imaging.images.header_size import claimed_pixels

_FORMATS: Final = ("jpeg", "jpg", "png")
_EXPECTED: Final = "jpeg or png, or as image_transport has it, 'rgb8; jpeg compressed bgr8'"
_MOST_PIXELS: Final = 64_000_000
"""More than any camera of a robot has: a few bytes of PNG could claim a thousand times as many."""


def rgb_of_file(form: str, data: bytes) -> NDArray[np.uint8]:
    """Return a compressed image as ``(H, W, 3)`` uint8 RGB, C-contiguous, read-only.

    Gray becomes RGB, 16 bits become 8 by `eight_bits`, alpha is dropped.

    Args:
        form: The message's ``format``: that of the file, or ``<encoding>; <file> compressed <encoding>``. Its
            last word says which order the encoder took for blue, green, red.
        data: The file.

    Raises:
        InputError: The format is another one, or the file is damaged or too large.
    """
    encoding, is_long, rest = form.partition(";")
    words = (rest if is_long else form).lower().split()
    if not words or words[0] not in _FORMATS:
        raise InputError("unknown format of a compressed image", expected=_EXPECTED, got=form)
    if is_long and encoding.strip() not in ENCODINGS:
        expected = "a depth topic without compression" if encoding.strip() in DEPTHS else _EXPECTED
        raise InputError("a compressed image does not convert to RGB", expected=expected, got=form)
    if claimed_pixels(data) > _MOST_PIXELS:
        raise InputError("a compressed image is too large", expected=f"at most {_MOST_PIXELS} pixels")
    pixels = decode(data, cv2.IMREAD_UNCHANGED, "a compressed image")
    if encoding.startswith("bayer") and pixels.ndim == 2:
        raise InputError("a compressed mosaic is not an image", expected=_EXPECTED, got=form)
    rgb = np.ascontiguousarray(_rgb_of(pixels, red_first=words[-1].startswith("rgb")))
    rgb.flags.writeable = False
    return rgb


def _rgb_of(pixels: NDArray[np.generic], *, red_first: bool) -> NDArray[np.uint8]:
    """Return decoded pixels as RGB; ``red_first`` if the encoder was given RGB as though it were BGR."""
    if pixels.dtype == np.uint16:
        pixels = eight_bits(pixels.astype(np.uint16))
    if pixels.dtype != np.uint8:
        raise InputError("a compressed image has other values", expected="8 or 16 bits", got=pixels.dtype)
    plain = pixels.astype(np.uint8, copy=False)
    if plain.ndim == 2:
        return np.asarray(cv2.cvtColor(plain, cv2.COLOR_GRAY2RGB), np.uint8)
    plain = plain[:, :, :3]
    return plain if red_first else np.asarray(cv2.cvtColor(plain, cv2.COLOR_BGR2RGB), np.uint8)
