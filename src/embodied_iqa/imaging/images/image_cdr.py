"""``sensor_msgs/msg/Image`` in CDR as arrays, without a copy where possible."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import Buffer
from embodied_iqa.base.units import SECOND_NS

IMAGE_TYPE = "sensor_msgs/msg/Image"

ENCODINGS: dict[str, int] = {"rgb8": 3, "bgr8": 3, "mono8": 1, "rgba8": 4, "bgra8": 4}
"""Encodings that convert to RGB, and their bytes per pixel."""

_ENCAPSULATION = 4  # bytes before the message; alignment counts from here


@dataclass(frozen=True, slots=True, eq=False)
class ImagePicture:
    """A decoded picture message.

    Attributes:
        stamp_ns: The header's stamp.
        frame_id: The header's frame.
        encoding: Encoding of the message, such as ``bgr8``.
        rgb: ``(H, W, 3)`` uint8 RGB, C-contiguous, read-only; for ``rgb8`` a view of the message.
    """

    stamp_ns: int
    frame_id: str
    encoding: str
    rgb: NDArray[np.uint8]


class _Cursor:
    """Reads CDR primitives in order, with their alignment."""

    def __init__(self, cdr: Buffer) -> None:
        self._view = memoryview(cdr)
        if len(self._view) < _ENCAPSULATION or self._view[0] != 0 or self._view[1] > 1:
            raise InputError("not a plain CDR message")
        self._order = "<" if self._view[1] == 1 else ">"
        self.position = _ENCAPSULATION

    def number(self, code: str) -> int:
        size = struct.calcsize(code)
        self.position += -(self.position - _ENCAPSULATION) % size
        (value,) = struct.unpack_from(self._order + code, self._view, self.position)
        self.position += size
        return int(value)

    def text(self) -> str:
        size = self.number("I")
        raw = bytes(self._view[self.position : self.position + size])
        if len(raw) != size or raw[-1:] != b"\0":
            raise InputError("damaged text in a message")
        self.position += size
        return raw[:-1].decode()

    def remaining(self) -> int:
        return len(self._view) - self.position


def stamp_from_cdr(cdr: Buffer) -> int:
    """Return the stamp (ns) of a message that begins with a ``std_msgs/msg/Header``.

    Raises:
        InputError: The bytes are truncated or not CDR.
    """
    cursor = _Cursor(cdr)
    try:
        return cursor.number("i") * SECOND_NS + cursor.number("I")
    except struct.error as error:
        raise InputError("message without a stamp") from error


def image_from_cdr(cdr: Buffer) -> ImagePicture:
    """Return the picture in the bytes of a ``sensor_msgs/msg/Image``.

    Args:
        cdr: Little- or big-endian CDR with its encapsulation header.

    Raises:
        InputError: The bytes are damaged, or the encoding does not convert to RGB.
    """
    cursor = _Cursor(cdr)
    try:
        stamp_ns = cursor.number("i") * SECOND_NS + cursor.number("I")
        frame_id = cursor.text()
        height, width = cursor.number("I"), cursor.number("I")
        encoding = cursor.text()
        cursor.number("B")  # is_bigendian: pixels are bytes
        row_bytes, size = cursor.number("I"), cursor.number("I")
    except (struct.error, UnicodeDecodeError) as error:
        raise InputError("damaged picture message") from error
    if encoding not in ENCODINGS:
        raise InputError("unknown picture encoding", got=encoding, available=ENCODINGS)
    channels = ENCODINGS[encoding]
    _check_size(size, row_bytes, (height, width, channels), cursor.remaining())
    pixels = np.ndarray(
        (height, width, channels),
        np.uint8,
        buffer=memoryview(cdr).toreadonly(),
        offset=cursor.position,
        strides=(row_bytes, channels, 1),
    )
    return ImagePicture(stamp_ns, frame_id, encoding, _as_rgb(pixels, encoding))


def _check_size(size: int, row_bytes: int, shape: tuple[int, int, int], remaining: int) -> None:
    height, width, channels = shape
    if min(shape) < 1:
        raise InputError("empty picture", got=f"{width} x {height}")
    if row_bytes < width * channels or size != row_bytes * height:
        raise InputError(
            "picture size and data disagree",
            expected=f"{height} rows of at least {width * channels} bytes",
            got=f"{size} bytes in rows of {row_bytes}",
        )
    if remaining < size:
        raise InputError("picture data is cut short", expected=f"{size} bytes", got=remaining)


def _as_rgb(pixels: NDArray[np.uint8], encoding: str) -> NDArray[np.uint8]:
    if encoding == "mono8":
        pixels = np.repeat(pixels, 3, axis=2)
    elif encoding.startswith("bgr"):
        pixels = pixels[:, :, 2::-1]
    rgb = np.ascontiguousarray(pixels[:, :, :3])
    rgb.flags.writeable = False
    return rgb


def image_to_cdr(rgb: NDArray[np.uint8], stamp_ns: int, frame_id: str = "") -> bytes:
    """Return the bytes of a ``sensor_msgs/msg/Image`` with encoding ``rgb8``.

    Args:
        rgb: ``(H, W, 3)`` uint8 RGB.
        stamp_ns: The header's stamp.
        frame_id: The header's frame.

    Raises:
        InputError: The array has another type or shape.
    """
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise InputError("not a picture", expected="(H, W, 3) uint8", got=f"{rgb.shape} {rgb.dtype}")
    height, width, _ = rgb.shape
    sec, nanosec = divmod(stamp_ns, SECOND_NS)
    head = bytearray(struct.pack("<iI", sec, nanosec))
    head += _text(frame_id)
    head += bytes(-len(head) % 4) + struct.pack("<II", height, width)
    head += _text("rgb8") + b"\0"
    head += bytes(-len(head) % 4) + struct.pack("<II", width * 3, rgb.size)
    return b"".join([b"\0\1\0\0", head, np.ascontiguousarray(rgb).data])


def _text(text: str) -> bytes:
    raw = text.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw
