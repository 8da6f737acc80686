"""PNG in NumPy, for an installation without OpenCV: 8 bits a channel, as cameras and screens write it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.exif import orientation, upright

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER: Final = struct.Struct(">IIBBBBB")
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Colour type to channels."""
_PALETTE: Final = 3
_FILTERS: Final = 5


def png_pixels(data: bytes) -> NDArray[np.uint8] | None:
    """Return a PNG file as ``(H, W, 3)`` uint8 RGB: grey becomes RGB, alpha is dropped.

    Args:
        data: The file, whose checksums are right.

    Returns:
        None for what this does not read: other depths, interlaced, with unclear EXIF data, or damaged.
    """
    chunks = list(_chunks(data))
    turn = _orientation(chunks)
    if not chunks or chunks[0][0] != b"IHDR" or turn is None or len(chunks[0][1]) != _HEADER.size:
        return None
    width, height, depth, colour, _, _, interlaced = _HEADER.unpack(chunks[0][1])
    channels = _CHANNELS.get(colour)
    if depth != 8 or interlaced or channels is None or not width * height:
        return None
    lines = _lines(chunks, height, 1 + width * channels)
    if lines is None or lines[:, 0].max() >= _FILTERS:
        return None
    pixels = _unfiltered(lines[:, 0], lines[:, 1:].reshape(height, width, channels))
    if colour == _PALETTE:
        looked_up = _looked_up(pixels[..., 0], dict(chunks).get(b"PLTE", b""))
        return None if looked_up is None else upright(looked_up, turn)
    return upright(pixels[..., :3] if channels >= 3 else np.repeat(pixels[..., :1], 3, axis=2), turn)


def unread_png(data: bytes) -> str:
    """Return why `png_pixels` does not read a PNG file; nothing of one that it reads, or damaged."""
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != _HEADER.size:
        return ""
    _, _, depth, colour, _, _, interlaced = _HEADER.unpack(chunks[0][1])
    if colour not in _CHANNELS:
        return ""
    if depth != 8:
        return f"has {depth} bit{'s' if depth > 1 else ''} a channel"
    if interlaced:
        return "is interlaced"
    return "has unclear EXIF data" if _orientation(chunks) is None else ""


def _orientation(chunks: list[tuple[bytes, bytes]]) -> int | None:
    exif = dict(chunks).get(b"eXIf")
    return 1 if exif is None else orientation(exif)


def png_file(rgb: NDArray[np.uint8]) -> bytes:
    """Return an image ``(H, W, 3)`` uint8 RGB as a PNG file."""
    height, width, _ = rgb.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = rgb.reshape(height, 3 * width)
    header = _HEADER.pack(width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the chunks of a file, whole ones only."""
    at = len(_SIGNATURE) if data.startswith(_SIGNATURE) else len(data)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if at + 12 + size > len(data):
            return
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _lines(chunks: list[tuple[bytes, bytes]], height: int, line_bytes: int) -> NDArray[np.uint8] | None:
    """Return the filtered lines, each behind the number of its filter; None where they are damaged."""
    inflater = zlib.decompressobj()
    packed = b"".join(content for name, content in chunks if name == b"IDAT")
    try:
        found = inflater.decompress(packed, height * line_bytes)
    except zlib.error:
        return None
    if len(found) != height * line_bytes:
        return None
    return np.frombuffer(found, np.uint8).reshape(height, line_bytes)


def _unfiltered(filters: NDArray[np.uint8], values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Undo the filters of all lines together, one diagonal of pixels after the other.

    A pixel follows from those to the left, above, and above to the left, on the two diagonals before.

    Args:
        filters: Of each line, ``(H,)``.
        values: What is stored, ``(H, W, channels)``.
    """
    height, width, channels = values.shape
    found = np.zeros((height + 1, width + 1, channels), np.int16)  # a line above and a column to the left
    for diagonal in range(height + width - 1):
        rows = np.arange(max(0, diagonal - width + 1), min(height - 1, diagonal) + 1)
        columns = diagonal - rows
        left, above, corner = found[rows + 1, columns], found[rows, columns + 1], found[rows, columns]
        expected = _expected(filters[rows, np.newaxis], left, above, corner)
        found[rows + 1, columns + 1] = (values[rows, columns] + expected) & 0xFF
    return found[1:, 1:].astype(np.uint8)


def _expected(
    filters: NDArray[np.uint8], left: NDArray[np.int16], above: NDArray[np.int16], corner: NDArray[np.int16]
) -> NDArray[np.int16]:
    """Return what each filter expects of a pixel (PNG specification, section 9)."""
    far_left, far_above = np.abs(above - corner), np.abs(left - corner)
    far_corner = np.abs(left + above - 2 * corner)
    nearest = np.where(far_above <= far_corner, above, corner)
    paeth = np.where((far_left <= far_above) & (far_left <= far_corner), left, nearest)
    return np.choose(filters, [np.zeros_like(left), left, above, (left + above) // 2, paeth])


def _looked_up(places: NDArray[np.uint8], palette: bytes) -> NDArray[np.uint8] | None:
    if len(palette) % 3 or int(places.max()) >= len(palette) // 3:
        return None
    return np.frombuffer(palette, np.uint8).reshape(-1, 3)[places]
