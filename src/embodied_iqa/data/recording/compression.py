"""Compression of chunks: zstd, lz4 or none."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import lz4.frame  # type: ignore[import-untyped]
import zstandard

from embodied_iqa.base.files import Buffer

DEFAULT_ZSTD_LEVEL = 1
"""A third of the time of the library's default (3) on camera images, for files 1-2 % larger."""


class Compression(StrEnum):
    """Compression of a chunk."""

    ZSTD = "zstd"
    LZ4 = "lz4"
    NONE = "none"

    @property
    def mcap_name(self) -> str:
        """Name in a chunk record: empty for none."""
        return "" if self is Compression.NONE else self.value


def compress(parts: Sequence[Buffer], compression: Compression, zstd_level: int) -> list[Buffer]:
    """Compress the concatenation of ``parts`` without joining them first.

    Args:
        parts: The plain bytes.
        compression: The format.
        zstd_level: Level of zstd, -50 (fast) to 22 (small).

    Returns:
        Parts whose concatenation is the compressed data.
    """
    size = sum(len(part) for part in parts)
    match compression:
        case Compression.NONE:
            return list(parts)
        case Compression.LZ4:
            frame = lz4.frame.LZ4FrameCompressor()
            return [frame.begin(size), *(frame.compress(part) for part in parts), frame.flush()]
        case Compression.ZSTD:
            stream = zstandard.ZstdCompressor(level=zstd_level).compressobj(size=size)
            return [*(stream.compress(part) for part in parts), stream.flush()]


def decompress(data: Buffer, mcap_name: str, size: int) -> Buffer:
    """Return the plain bytes of a whole chunk.

    Args:
        data: Compressed data.
        mcap_name: The compression's name in the chunk record.
        size: Plain size in bytes.

    Raises:
        ValueError: The data is damaged or the compression unknown.
    """
    plain: Buffer
    try:
        match mcap_name:
            case "":
                plain = data
            case "lz4":
                plain = lz4.frame.decompress(data)
            case "zstd":
                declared = zstandard.frame_content_size(data)
                if declared not in {-1, size}:
                    raise ValueError(f"plain data has {declared} bytes instead of {size}")
                plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
            case _:
                raise ValueError(f"unknown compression {mcap_name!r}")
    except (zstandard.ZstdError, RuntimeError, MemoryError) as error:
        raise ValueError(f"damaged {mcap_name} data: {error}") from error
    if len(plain) != size:
        raise ValueError(f"plain data has {len(plain)} bytes instead of {size}")
    return plain


def decompress_start(data: Buffer, mcap_name: str) -> Buffer:
    """Return what can be decompressed of a chunk whose end is missing; empty where nothing can."""
    try:
        match mcap_name:
            case "":
                return data
            case "lz4":
                return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data))
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(data)
            case _:
                return b""
    except (zstandard.ZstdError, RuntimeError, MemoryError):
        return b""
