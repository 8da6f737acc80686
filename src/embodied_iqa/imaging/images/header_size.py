"""Size of an image as its header claims it: a file that cannot hold so many pixels is not decoded."""

from __future__ import annotations

import struct
from typing import Final

_DEFLATE: Final = 1032
"""Highest compression of PNG: bytes of pixels for one byte of the file."""
_JPEG_PIXELS: Final = 512
"""Most pixels for one byte of a JPEG file: each block of 8x8 takes a bit at least."""
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""PNG colour type to channels."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8"
_IHDR: Final = struct.Struct(">4sIIBB")
_NO_FRAME: Final = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers between those of frame headers (SOF) that start no frame."""


def claims_too_much(data: bytes) -> bool:
    """Return whether a PNG or JPEG file claims more pixels than its bytes can hold.

    A decoder takes memory and time for the claimed size, whatever follows. False for other formats.
    """
    if data.startswith(_PNG):
        return _png_bytes(data) > _DEFLATE * len(data) or _png_chunk_is_cut(data)
    if data.startswith(_JPEG):
        return _jpeg_pixels(data) > _JPEG_PIXELS * len(data)
    return False


def claimed_pixels(data: bytes) -> int:
    """Return how many pixels the header of a PNG or JPEG file claims; 0 for other files."""
    if data.startswith(_PNG) and len(data) >= 12 + _IHDR.size:
        _name, width, height, _depth, _colour = _IHDR.unpack_from(data, 12)
        return int(width * height)
    return _jpeg_pixels(data) if data.startswith(_JPEG) else 0


def _png_bytes(data: bytes) -> int:
    """Return the size of the decompressed rows; 0 without a header."""
    if len(data) < 12 + _IHDR.size:
        return 0
    _name, width, height, depth, colour = _IHDR.unpack_from(data, 12)
    return int(height * (1 + (width * depth * _CHANNELS.get(colour, 1) + 7) // 8))


def _png_chunk_is_cut(data: bytes) -> bool:
    """Return whether a chunk claims to be longer than the rest of the file."""
    at = len(_PNG)
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        at += 12 + size  # with length, name and checksum
        if name == b"IEND":
            return False
    return at > len(data)


def _jpeg_pixels(data: bytes) -> int:
    """Return the number of pixels of the first frame; 0 without one."""
    at = len(_JPEG)
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            at += 1  # decoders skip bytes up to the next marker, too
            continue
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return int(height * width)
        if marker in {0x00, 0x01, 0xFF} or 0xD0 <= marker <= 0xD9:
            at += 1 if marker == 0xFF else 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return 0
