"""sensor_msgs/Image as serialised bytes: read without a copy, written with one.

The general serialiser moves a 720p picture in many milliseconds; its layout is fixed (XCDR1, little endian:
4 bytes of encapsulation, stamp, frame_id, height, width, encoding, is_bigendian, step, data), so it is taken
apart here in microseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError

__all__ = ["Picture", "encode_picture", "parse_picture", "with_pixels"]

_HEADER_BYTES = 4
_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
_STAMP = struct.Struct("<iI")
_LENGTH = struct.Struct("<I")
_SIZE = struct.Struct("<II")
_ENCODINGS = {"rgb8": 3, "bgr8": 3, "mono8": 1}
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A sensor_msgs/Image taken apart.

    Attributes:
        stamp_ns: ROS time of the header.
        frame_id: Of the header.
        encoding: rgb8, bgr8 or mono8.
        rgb: ``(H, W, 3)`` uint8, red first: a read-only view of the message where that is rgb8 without
            padding, else a copy.
        data_offset: Where the pixels start in the message.
    """

    stamp_ns: int
    frame_id: str
    encoding: str
    rgb: NDArray[np.uint8]
    data_offset: int


def _align(offset: int) -> int:
    return offset + (_HEADER_BYTES - offset) % 4


def _string(cdr: bytes | memoryview, offset: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(cdr, offset)
    end = offset + 4 + length
    return bytes(cdr[offset + 4 : end - 1]).decode(), end


def parse_picture(cdr: bytes | memoryview) -> Picture:
    """Take a serialised sensor_msgs/Image apart.

    Raises:
        InputError: Not such a message, cut short, big endian, or an encoding that is not supported.
    """
    if bytes(cdr[:2]) != _LITTLE_ENDIAN[:2]:
        raise InputError("not a little-endian ROS message", expected="00 01", got=bytes(cdr[:2]).hex(" "))
    try:
        sec, nanosec = _STAMP.unpack_from(cdr, _HEADER_BYTES)
        frame_id, offset = _string(cdr, _HEADER_BYTES + _STAMP.size)
        height, width = _SIZE.unpack_from(cdr, _align(offset))
        encoding, offset = _string(cdr, _align(offset) + _SIZE.size)
        step, size = _SIZE.unpack_from(cdr, _align(offset + 1))
    except (struct.error, UnicodeDecodeError):
        raise InputError("a picture message is cut short", got=f"{len(cdr)} bytes") from None
    data_offset = _align(offset + 1) + _SIZE.size
    if encoding not in _ENCODINGS:
        raise InputError("unsupported picture encoding", got=encoding, available=_ENCODINGS)
    row = width * _ENCODINGS[encoding]
    if size < step * height or step < row or len(cdr) < data_offset + size:
        raise InputError(
            "a picture message is cut short",
            expected=f"{max(step, row) * height} bytes of pixels",
            got=len(cdr) - data_offset,
        )
    pixels = np.frombuffer(cdr, np.uint8, step * height, data_offset).reshape(height, step)[:, :row]
    rgb = _to_rgb(pixels, height, width, encoding)
    return Picture(sec * _SECOND_NS + nanosec, frame_id, encoding, rgb, data_offset)


def encode_picture(stamp_ns: int, frame_id: str, rgb: NDArray[np.uint8]) -> bytes:
    """Serialise ``(H, W, 3)`` uint8 RGB as a sensor_msgs/Image in rgb8."""
    height, width, _ = rgb.shape
    name = frame_id.encode() + b"\0"
    head = _LITTLE_ENDIAN + _STAMP.pack(stamp_ns // _SECOND_NS, stamp_ns % _SECOND_NS)
    head = _pad(head + _LENGTH.pack(len(name)) + name) + _SIZE.pack(height, width)
    head = _pad(head + _LENGTH.pack(5) + b"rgb8\0" + b"\0") + _SIZE.pack(width * 3, height * width * 3)
    return b"".join((head, memoryview(np.ascontiguousarray(rgb)).cast("B")))


def with_pixels(cdr: bytes, picture: Picture, rgb: NDArray[np.uint8]) -> bytes:
    """Return the message with other pixels of the same size; header and stamp stay as they are."""
    if picture.encoding != "rgb8" or rgb.shape != picture.rgb.shape:
        return encode_picture(picture.stamp_ns, picture.frame_id, rgb)
    return b"".join((cdr[: picture.data_offset], memoryview(np.ascontiguousarray(rgb)).cast("B")))


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (_align(len(data)) - len(data))


def _to_rgb(pixels: NDArray[np.uint8], height: int, width: int, encoding: str) -> NDArray[np.uint8]:
    if encoding == "mono8":
        return np.repeat(pixels[:, :, None], 3, axis=2)
    if pixels.shape[1] != width * 3 or not pixels.flags.c_contiguous:
        pixels = np.ascontiguousarray(pixels)
    rgb = pixels.reshape(height, width, 3)
    return rgb if encoding == "rgb8" else np.ascontiguousarray(rgb[:, :, ::-1])
