"""Encodings of `sensor_msgs/msg/Image`, decoded as cv_bridge does: to 8-bit RGB, or to depth in mm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import load


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the pixels of an encoding are stored.

    Attributes:
        kind: NumPy type of a channel, without its byte order.
        channels: Values of a pixel.
        code: Conversion of ``cv2.cvtColor`` to RGB; empty where there is nothing to convert.
        even: Whether rows hold pairs of pixels.
    """

    kind: str
    channels: int
    code: str = ""
    even: bool = False

    @property
    def pixel_bytes(self) -> int:
        """Bytes of a pixel."""
        return self.channels * np.dtype(self.kind).itemsize


_GRAY: Final = Encoding("u1", 1, "COLOR_GRAY2RGB")
_BLUE_FIRST: Final = Encoding("u1", 3, "COLOR_BGR2RGB")
_UYVY: Final = Encoding("u1", 2, "COLOR_YUV2RGB_UYVY", even=True)
_YUYV: Final = Encoding("u1", 2, "COLOR_YUV2RGB_YUY2", even=True)

ENCODINGS: Final[Mapping[str, Encoding]] = {
    "rgb8": Encoding("u1", 3),
    "bgr8": _BLUE_FIRST,
    "mono8": _GRAY,
    "rgba8": Encoding("u1", 4, "COLOR_RGBA2RGB"),
    "bgra8": Encoding("u1", 4, "COLOR_BGRA2RGB"),
    "mono16": Encoding("u2", 1, "COLOR_GRAY2RGB"),
    "rgb16": Encoding("u2", 3),
    "bgr16": Encoding("u2", 3, "COLOR_BGR2RGB"),
    "rgba16": Encoding("u2", 4, "COLOR_RGBA2RGB"),
    "bgra16": Encoding("u2", 4, "COLOR_BGRA2RGB"),
    "8UC1": _GRAY,
    "8UC3": _BLUE_FIRST,
    **{
        f"bayer_{order}{8 * size}": Encoding(f"u{size}", 1, f"COLOR_Bayer{order.upper()}2RGB")
        for size in (1, 2)
        for order in ("rggb", "bggr", "gbrg", "grbg")
    },
    "yuv422": _UYVY,
    "uyvy": _UYVY,
    "yuv422_yuy2": _YUYV,
    "yuyv": _YUYV,
}
"""Encodings that convert to RGB.

16 bits are scaled by 255 / 65535 and rounded, a mosaic once it has its colours. 8UC3 has blue first, as in
OpenCV. YUV is that of BT.601 with Y from 16 to 235; ``yuv422`` is ROS's older name of UYVY.
"""

DEPTHS: Final[Mapping[str, Encoding]] = {"16UC1": Encoding("u2", 1), "32FC1": Encoding("f4", 1)}
"""Encodings of depth (REP 118): whole millimetres, 0 for unknown; metres, NaN for unknown."""

_BAYER_PX: Final = 3
"""Smallest mosaic that `cv2.cvtColor` converts; of smaller ones it returns zeros."""


@dataclass(frozen=True, slots=True, eq=False)
class RawImage:
    """The fields of an image message.

    Attributes:
        width_px: Width.
        height_px: Height.
        encoding: Its name.
        is_bigendian: Byte order of values of several bytes.
        step: Bytes of a row; what is more than the width is padding.
        data: The rows.
        size: Bytes that the message claims to hold.
    """

    width_px: int
    height_px: int
    encoding: str
    is_bigendian: bool
    step: int
    data: memoryview
    size: int

    def pixels(self, encoding: Encoding) -> NDArray[Any]:
        """Return the pixels ``(H, W)``, or ``(H, W, channels)``, as a read-only view of the message.

        Raises:
            InputError: Size, step and data do not fit together.
        """
        width, height, row = self.width_px, self.height_px, self.width_px * encoding.pixel_bytes
        if min(width, height) < 1:
            raise InputError("empty image", got=f"{width} x {height}")
        if self.step < row or self.size != self.step * height:
            raise InputError(
                "image size and data disagree",
                expected=f"{height} rows of at least {row} bytes",
                got=f"{self.size} bytes in rows of {self.step}",
            )
        if len(self.data) < self.size:
            raise InputError("image data is cut short", expected=f"{self.size} bytes", got=len(self.data))
        kind = np.dtype(encoding.kind).newbyteorder(">" if self.is_bigendian else "<")
        strides = (self.step, encoding.pixel_bytes, kind.itemsize)
        shape = (height, width, encoding.channels)
        found: NDArray[Any] = np.ndarray(shape, kind, buffer=self.data.toreadonly(), strides=strides)
        return found[:, :, 0] if encoding.channels == 1 else found


def rgb_of(image: RawImage) -> NDArray[np.uint8]:
    """Return an image as ``(H, W, 3)`` uint8 RGB, C-contiguous, read-only; alpha is dropped.

    An ``rgb8`` image without padding is a view of the message.

    Raises:
        InputError: The encoding does not convert to RGB, or size, step and data do not fit together.
    """
    encoding = ENCODINGS.get(image.encoding)
    if image.encoding in DEPTHS:
        raise InputError("a depth image has no colour", expected="an encoding of colour", got=image.encoding)
    if encoding is None:
        raise InputError("unknown image encoding", got=image.encoding, available=ENCODINGS)
    if encoding.even and image.width_px % 2:
        raise InputError(f"odd width of a {image.encoding} image", expected="pairs", got=image.width_px)
    pixels = image.pixels(encoding)
    if "Bayer" in encoding.code and min(pixels.shape) < _BAYER_PX:
        raise InputError(
            f"a {image.encoding} image is too small",
            expected=f"at least {_BAYER_PX} x {_BAYER_PX}",
            got=f"{image.width_px} x {image.height_px}",
        )
    if encoding.kind == "u2":
        pixels = pixels.astype(np.uint16)  # in this machine's byte order
    rgb = load("cv2:cvtColor")(pixels, load(f"cv2:{encoding.code}")) if encoding.code else pixels
    rgb = np.ascontiguousarray(eight_bits(rgb) if encoding.kind == "u2" else rgb)
    rgb.flags.writeable = False
    return rgb


def depth_mm_of(image: RawImage) -> NDArray[np.uint16]:
    """Return depth as ``(H, W)`` uint16 in mm; 0 where it is unknown, negative, or above 65.535 m.

    Raises:
        InputError: The encoding is not one of depth, or size, step and data do not fit together.
    """
    encoding = DEPTHS.get(image.encoding)
    if encoding is None:
        raise InputError("unknown depth encoding", got=image.encoding, available=DEPTHS)
    pixels = image.pixels(encoding)
    if encoding.kind == "u2":
        return pixels.astype(np.uint16)
    return depth_mm_of_metres(pixels.astype(np.float64))


def depth_mm_of_metres(metres: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return depth in mm; 0 where it is not finite, negative, or above 65.535 m."""
    millimetres = np.rint(metres * 1e3)
    is_known = (millimetres > 0.0) & (millimetres <= np.iinfo(np.uint16).max)
    return np.where(is_known, millimetres, 0.0).astype(np.uint16)


def eight_bits(values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Return 16-bit values scaled by 255 / 65535 and rounded, which is a division by 257."""
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
