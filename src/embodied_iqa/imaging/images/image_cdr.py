"""``sensor_msgs/msg/Image`` and ``CompressedImage`` in CDR as arrays, without a copy where possible."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import Description, InputError
from embodied_iqa.base.files import Buffer
from embodied_iqa.base.lazy import load
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.encodings import DEPTHS, RawImage, depth_mm_of, rgb_of
from embodied_iqa.imaging.images.header_size import is_jpeg

IMAGE_TYPE = "sensor_msgs/msg/Image"
COMPRESSED_TYPE = "sensor_msgs/msg/CompressedImage"

_COMPRESSED = "embodied_iqa.imaging.images.compressed_image:rgb_of_file"
_COMPRESSED_DEPTH = "embodied_iqa.imaging.images.compressed_image:depth_mm_of_file"
_ENCAPSULATION = 4  # bytes before the message; alignment counts from here


@dataclass(frozen=True, slots=True, eq=False)
class StampedImage:
    """A decoded image message.

    Attributes:
        stamp_ns: The header's stamp.
        frame_id: The header's frame.
        encoding: Encoding of the message, such as ``bgr8``.
        rgb: ``(H, W, 3)`` uint8 RGB, C-contiguous, read-only; for ``rgb8`` a view of the message.
        is_jpeg: Whether the message holds a JPEG, by its content.
    """

    stamp_ns: int
    frame_id: str
    encoding: str
    rgb: NDArray[np.uint8]
    is_jpeg: bool = False


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

    def rest(self) -> memoryview:
        return self._view[self.position :]


def stamp_from_cdr(cdr: Buffer) -> int:
    """Return the stamp (ns) of a message that begins with a ``std_msgs/msg/Header``.

    Raises:
        InputError: The bytes are truncated or not CDR.
    """
    return _stamp(_Cursor(cdr))


def frame_from_cdr(cdr: Buffer) -> str:
    """Return the frame of a message that begins with a ``std_msgs/msg/Header``.

    Raises:
        InputError: See `stamp_from_cdr`.
    """
    cursor = _Cursor(cdr)
    _stamp(cursor)
    try:
        return cursor.text()
    except (struct.error, UnicodeDecodeError) as error:
        raise InputError("message without a frame") from error


def _stamp(cursor: _Cursor) -> int:
    try:
        return cursor.number("i") * SECOND_NS + cursor.number("I")
    except struct.error as error:
        raise InputError("message without a stamp") from error


def image_from_cdr(cdr: Buffer) -> StampedImage:
    """Return the image in the bytes of a ``sensor_msgs/msg/Image``.

    Args:
        cdr: Little- or big-endian CDR with its encapsulation header.

    Raises:
        InputError: The bytes are damaged, or the encoding does not convert to RGB.
    """
    stamp_ns, frame_id, image = _raw_image(cdr)
    return StampedImage(stamp_ns, frame_id, image.encoding, rgb_of(image))


def depth_from_cdr(cdr: Buffer, type_name: str = IMAGE_TYPE) -> tuple[int, NDArray[np.uint16]]:
    """Return stamp (ns) and depth of an Image or CompressedImage; ``(H, W)`` uint16 in mm, 0 for unknown.

    Raises:
        InputError: The bytes are damaged, or the encoding is not one of depth.
    """
    if type_name == COMPRESSED_TYPE:
        stamp_ns, _frame_id, form, data = _compressed_image(cdr)
        depth_mm: NDArray[np.uint16] = load(_COMPRESSED_DEPTH)(form, bytes(data))
        return stamp_ns, depth_mm
    stamp_ns, _frame_id, image = _raw_image(cdr)
    return stamp_ns, depth_mm_of(image)


def encoding_from_cdr(cdr: Buffer, type_name: str) -> tuple[str, tuple[int, int] | None]:
    """Return encoding, or format, of an Image or CompressedImage, and its width and height (px).

    The size of a compressed image is None: its file says it.

    Raises:
        InputError: The bytes are damaged.
    """
    if type_name == COMPRESSED_TYPE:
        return _compressed_image(cdr)[2], None
    image = _raw_image(cdr)[2]
    return image.encoding, (image.width_px, image.height_px)


def compressed_from_cdr(cdr: Buffer) -> StampedImage:
    """Return the image in the bytes of a ``sensor_msgs/msg/CompressedImage``; its format as the encoding.

    Raises:
        InputError: The bytes are damaged, or the format is neither JPEG nor PNG.
    """
    stamp_ns, frame_id, form, data = _compressed_image(cdr)
    rgb: NDArray[np.uint8] = load(_COMPRESSED)(form, bytes(data))
    return StampedImage(stamp_ns, frame_id, form, rgb, is_jpeg(data))


def is_depth(cdr: Buffer, type_name: str) -> bool:
    """Return whether an Image or CompressedImage holds depth; of a damaged one it is not known: False."""
    try:
        if type_name == COMPRESSED_TYPE:
            form = _compressed_image(cdr)[2]
            return form.partition(";")[0].strip() in DEPTHS or "compressedDepth" in form
        return _raw_image(cdr)[2].encoding in DEPTHS
    except InputError:
        return False


def _compressed_image(cdr: Buffer) -> tuple[int, str, str, memoryview]:
    """Return stamp (ns), frame, format and file of a CompressedImage."""
    cursor = _Cursor(cdr)
    try:
        stamp_ns = cursor.number("i") * SECOND_NS + cursor.number("I")
        frame_id, form, size = cursor.text(), cursor.text(), cursor.number("I")
    except (struct.error, UnicodeDecodeError) as error:
        raise InputError("damaged image message") from error
    data = cursor.rest()
    if len(data) < size:
        raise InputError("image data is cut short", expected=f"{size} bytes", got=len(data))
    return stamp_ns, frame_id, form, data[:size]


def _raw_image(cdr: Buffer) -> tuple[int, str, RawImage]:
    """Return stamp (ns), frame and fields of an Image, not yet checked against each other."""
    cursor = _Cursor(cdr)
    try:
        stamp_ns = cursor.number("i") * SECOND_NS + cursor.number("I")
        frame_id = cursor.text()
        height, width = cursor.number("I"), cursor.number("I")
        encoding = cursor.text()
        is_bigendian = cursor.number("B") != 0
        step, size = cursor.number("I"), cursor.number("I")
    except (struct.error, UnicodeDecodeError) as error:
        raise InputError("damaged image message") from error
    image = RawImage(width, height, encoding, is_bigendian, step, cursor.rest(), size)
    return stamp_ns, frame_id, image


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
        raise InputError(
            "not an image", expected="(H, W, 3) uint8", got=Description(f"{rgb.shape} {rgb.dtype}")
        )
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
