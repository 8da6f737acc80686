"""What the bytes of an image file say before it is decoded: its size, whether it is whole, how deep it is.

A file that cannot hold the pixels that it claims is not decoded. libjpeg fills what is missing with grey and
tells nobody, so that a JPEG file is checked for its end and for lost blocks here. libpng prints what it finds
and drops a damaged chunk without pixels, even one that says which way is up: checksums are compared here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from embodied_iqa.base.files import Buffer

_DEFLATE: Final = 1032
"""Highest compression of PNG: bytes of pixels for one byte of the file."""
_JPEG_PIXELS: Final = 512
"""Most pixels for one byte of a JPEG file: each block of 8x8 takes a bit at least."""
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""PNG colour type to channels."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG_START: Final = b"\xff\xd8\xff"
"""First bytes of a JPEG file."""
_JPEG: Final = JPEG_START[:2]
_JPEG_END: Final = b"\xff\xd9"
_SCAN: Final = 0xDA
_HUFFMAN: Final = 0xC4
_PROGRESSIVE: Final = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_LOST_BLOCK: Final = bytes(512)
"""Of a disk: the least that is lost at once."""
_IHDR: Final = struct.Struct(">4sIIBB")
_NO_FRAME: Final = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers between those of frame headers (SOF) that start no frame."""


def is_jpeg(data: Buffer) -> bool:
    """Return whether bytes begin as a JPEG file does, whatever they are called."""
    return bytes(data[: len(JPEG_START)]) == JPEG_START


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


def is_deep(data: bytes) -> bool:
    """Return whether an image file may hold more than 8 bits a channel."""
    if data.startswith(_PNG):
        return data[24:25] == b"\x10"
    return data.startswith((b"II*\0", b"MM\0*", b"P5", b"P6"))


def jpeg_damage(data: bytes) -> str:
    """Return what is missing of the image data of a JPEG file; nothing where it seems whole."""
    tables: dict[int, int] = {}
    start, progressive = _jpeg_scan(data, tables)
    if start is None:
        return ""
    end = data.rfind(_JPEG_END, start)
    if end < 0:
        return "no end marker FF D9" + (", the data ends in zeros" if data.endswith(bytes(16)) else "")
    # of a progressive file, the bits that refine flat areas may all be zeros
    if not progressive and data.find(_LOST_BLOCK, start, end) >= 0 and not _zeros_are_flat(tables):
        return f"{len(_LOST_BLOCK)} zero bytes or more amid the image data"
    return ""


def png_damage(data: bytes) -> str:
    """Return which chunk of a PNG file is damaged; nothing where all seem whole, and of other formats."""
    if not data.startswith(_PNG):
        return ""
    view = memoryview(data)
    for at, size, name in _png_chunks(data):
        end = at + 8 + size
        if end + 4 <= len(data) and zlib.crc32(view[at + 4 : end]) != int.from_bytes(view[end : end + 4]):
            return f"the checksum of {name.decode('ascii', 'backslashreplace')} is wrong"
    return ""


def _zeros_are_flat(tables: Mapping[int, int]) -> bool:
    """Return whether zero bits are blocks of one colour in every Huffman table: such images may hold many."""
    return all(symbol & (0x0F if table & 0x10 else 0xFF) == 0 for table, symbol in tables.items())


def _jpeg_scan(data: bytes, tables: dict[int, int]) -> tuple[int | None, bool]:
    """Return where the image data begins, None without any, and whether it comes in ever finer scans.

    Add what zero bits mean in each Huffman table.
    """
    at, progressive = len(_JPEG), False
    while at + 4 <= len(data):
        if data[at] != 0xFF or data[at + 1] in {0x00, 0x01, 0xFF} or 0xD0 <= data[at + 1] <= 0xD9:
            at += 1
            continue
        marker, size = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker == _SCAN:
            return at + 2 + size, progressive
        progressive |= marker in _PROGRESSIVE
        if marker == _HUFFMAN:
            table = at + 4
            while table + 18 <= min(at + 2 + size, len(data)):
                tables[data[table]] = data[table + 17]
                table += 17 + sum(data[table + 1 : table + 17])
        at += 2 + size
    return None, progressive


def _png_bytes(data: bytes) -> int:
    """Return the size of the decompressed rows; 0 without a header."""
    if len(data) < 12 + _IHDR.size:
        return 0
    _name, width, height, depth, colour = _IHDR.unpack_from(data, 12)
    return int(height * (1 + (width * depth * _CHANNELS.get(colour, 1) + 7) // 8))


def _png_chunk_is_cut(data: bytes) -> bool:
    """Return whether a chunk claims to be longer than the rest of the file."""
    return any(at + 12 + size > len(data) for at, size, name in _png_chunks(data) if name != b"IEND")


def _png_chunks(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the start, size and name of each chunk up to the end of the image, or one that is cut."""
    at, name = len(_PNG), b""
    while at + 8 <= len(data) and name != b"IEND":
        size, name = struct.unpack_from(">I4s", data, at)
        yield at, size, name
        at += 12 + size  # with length, name and checksum


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
