"""Which way up an image is, as EXIF says it, for an installation without OpenCV."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

EXIF: Final = b"Exif\0\0"
_TAG: Final = 0x0112
_SHORT: Final = 3
_APP1: Final = 0xE1
_AFTER: Final = frozenset({0xDA, 0xD9})
"""Markers of the pixels and of the end."""
_FLIPS: Final = {1: "", 2: "x", 3: "xy", 4: "y", 5: "t", 6: "tx", 7: "txy", 8: "ty"}
"""Orientation to what turns an image upright: exchange the axes, then reverse columns and rows."""


def jpeg_orientation(data: bytes) -> int | None:
    """Return the orientation of a JPEG file: 1 to 8, 1 without EXIF; None where its EXIF data is unclear."""
    if EXIF not in data:
        return 1
    found = [content for marker, content in _segments(data) if marker == _APP1 and content.startswith(EXIF)]
    return orientation(found[0][len(EXIF) :]) if len(found) == 1 else None


def orientation(exif: bytes) -> int | None:
    """Return the orientation in EXIF data, from its TIFF header on: 1 to 8, 1 for none; None if unclear."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    try:
        if order is None:
            return None
        (first,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, first)
        for at in range(first + 2, first + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, at)
            if tag == _TAG:
                return value if kind == _SHORT and value in _FLIPS else None
    except struct.error:
        return None
    return 1


def upright(pixels: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """Return an image turned upright.

    Args:
        pixels: ``(H, W)`` or ``(H, W, C)`` as stored.
        turn: Its orientation, 1 to 8.
    """
    flips = _FLIPS[turn]
    if "t" in flips:
        pixels = pixels.swapaxes(0, 1)
    return np.ascontiguousarray(pixels[:: -1 if "y" in flips else 1, :: -1 if "x" in flips else 1])


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield markers and contents of the segments before the pixels."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if marker in _AFTER:
            return
        (size,) = struct.unpack_from(">H", data, at + 2)
        yield marker, data[at + 4 : at + 2 + size]
        at += 2 + max(size, 2)
