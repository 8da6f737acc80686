"""Images and depth of `sensor_msgs/msg/CompressedImage`, as the plugins of image_transport write them."""

from __future__ import annotations

import struct
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import decode
from embodied_iqa.imaging.images.encodings import DEPTHS, ENCODINGS, depth_mm_of_metres, eight_bits
from embodied_iqa.imaging.images.header_size import claimed_pixels

_FORMATS: Final = ("jpeg", "jpg", "png")
_EXPECTED: Final = "jpeg or png, or as image_transport has it, 'rgb8; jpeg compressed bgr8'"
_DEPTH_HEADER: Final = struct.Struct("<iff")
"""Of compressed_depth_image_transport: kind of quantisation, and its two numbers, a and b."""
_DEPTH_EXPECTED: Final = "16UC1 or 32FC1 as PNG, such as '16UC1; compressedDepth png'"
_MOST_PIXELS: Final = 64_000_000
"""More than any camera of a robot has: a few bytes of PNG could claim a thousand times as many."""


def rgb_of_file(form: str, data: bytes) -> NDArray[np.uint8]:
    """Return a compressed image as ``(H, W, 3)`` uint8 RGB, C-contiguous, read-only.

    Grey becomes RGB, 16 bits become 8 by `eight_bits`, alpha is dropped.

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


def depth_mm_of_file(form: str, data: bytes) -> NDArray[np.uint16]:
    """Return compressed depth as ``(H, W)`` uint16 in mm; 0 where it is unknown.

    ``compressedDepth`` of 16UC1 holds whole millimetres, of 32FC1 the inverse of depth in steps: ``v`` stands
    for ``a / (v - b)`` m.

    Args:
        form: The message's ``format``: ``<encoding>; compressedDepth [png]``, or ``16UC1; png compressed``.
        data: The file, for ``compressedDepth`` after a header of 12 bytes.

    Raises:
        InputError: The format is another one, such as RVL, or the file is damaged or too large.
    """
    encoding, _, rest = form.partition(";")
    encoding, words = encoding.strip(), rest.lower().split()
    is_plugin = words[:1] == ["compresseddepth"]
    is_png = words in (["compresseddepth"], ["compresseddepth", "png"]) or words[:1] == ["png"]
    if encoding not in DEPTHS or not is_png or (encoding == "32FC1" and not is_plugin):
        raise InputError("unknown format of compressed depth", expected=_DEPTH_EXPECTED, got=form)
    if is_plugin and len(data) < _DEPTH_HEADER.size:
        raise InputError("compressed depth is cut short", expected=f"{_DEPTH_HEADER.size} bytes of header")
    file = data[_DEPTH_HEADER.size :] if is_plugin else data
    if claimed_pixels(file) > _MOST_PIXELS:
        raise InputError("compressed depth is too large", expected=f"at most {_MOST_PIXELS} pixels")
    steps = decode(file, cv2.IMREAD_UNCHANGED, "compressed depth")
    if steps.dtype != np.uint16 or steps.ndim != 2:
        got = f"{steps.dtype} {steps.shape}"
        raise InputError("compressed depth has other values", expected="16 bits, one channel", got=got)
    if encoding == "16UC1":
        return steps.astype(np.uint16, copy=False)
    _kind, a, b = _DEPTH_HEADER.unpack_from(data)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        metres = np.where(steps > 0, a / (steps.astype(np.float64) - b), 0.0)
    return depth_mm_of_metres(metres)
