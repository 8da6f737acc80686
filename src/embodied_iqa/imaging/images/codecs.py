"""Image files: reading and atomic writing of RGB arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.base.files import IMAGE_PART_SUFFIX, refuse_pipe
from embodied_iqa.base.lazy import INSTALL_DATA, INSTALL_OPENCV, Later, load
from embodied_iqa.imaging.images.exif import EXIF, jpeg_orientation, upright
from embodied_iqa.imaging.images.header_size import (
    JPEG_START,
    claims_too_much,
    is_deep,
    is_jpeg,
    jpeg_damage,
    png_damage,
)
from embodied_iqa.imaging.images.image_files import IMAGE_SUFFIXES, UNREAD
from embodied_iqa.imaging.images.jpeg_pixels import jpeg_pixels
from embodied_iqa.imaging.images.portable_png import png_file, png_pixels, unread_png

cv2: Any = Later("cv2", INSTALL_DATA)

HDF5_START: Final = b"\x89HDF"
HDF5_UNREAD: Final = f"is an HDF5 file, {UNREAD}"

_PNG_START: Final = b"\x89PNG"
_FORMATS: Final = {
    JPEG_START: "JPEG",
    _PNG_START: "PNG",
    b"RIFF": "WebP",
    b"BM": "BMP",
    b"P6": "PPM",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}
"""First bytes of a file to its format."""

_HALF_OF_16_BITS: Final = 32767


def decode_file(path: Path, flags: int) -> NDArray[Any]:
    """Return the pixels of an image file as ``cv2.imdecode`` gives them with ``flags``.

    Raises:
        InputError: The file is missing, unreadable, truncated, damaged or not an image, as the message says.
    """
    return decode(_content(path), flags, repr(str(path)))


def _content(path: Path) -> bytes:
    refuse_pipe(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error


@cache
def silence_opencv() -> None:
    """Keep OpenCV from printing what the errors here say."""
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


def decode(data: bytes, flags: int, name: str) -> NDArray[Any]:
    """Return the pixels of an encoded image as ``cv2.imdecode`` gives them with ``flags``.

    Args:
        data: The content of an image file.
        flags: Of ``cv2.imdecode``.
        name: What the image is called in messages.

    Raises:
        InputError: It is truncated, damaged or not an image, as the message says.
    """
    pixels, damage = None, ""
    with suppress(cv2.error):  # such as a size in the header that no memory holds
        if is_jpeg(data):
            pixels, damage = _decode_jpeg(data, flags)
        elif data and not claims_too_much(data) and not (damage := png_damage(data)):
            pixels = _decode_by_opencv(data, flags)
    if pixels is None:
        raise InputError(f"{name} {_damage(data, damage)}")
    return np.asarray(pixels)


def _decode_by_opencv(data: bytes, flags: int) -> NDArray[Any] | None:
    silence_opencv()
    pixels: NDArray[Any] | None = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    return pixels


def _decode_jpeg(data: bytes, flags: int) -> tuple[NDArray[Any] | None, str]:
    """Return the pixels, None of a damaged file, and the damage, as far as it has a name."""
    damage = jpeg_damage(data)
    if damage or claims_too_much(data):
        return None, damage
    orders = {cv2.IMREAD_COLOR_RGB: "RGB", cv2.IMREAD_COLOR: "BGR", cv2.IMREAD_GRAYSCALE: "GRAY"}
    pixels, damage = jpeg_pixels(data, orders.get(flags, ""))
    if damage or (pixels is not None and (flags == cv2.IMREAD_UNCHANGED or EXIF not in data)):
        return pixels, damage
    return _decode_by_opencv(data, flags), ""


def _damage(data: bytes, named: str) -> str:
    """Return why an image file cannot be decoded; ``named`` is what is known of it."""
    if not data:
        return "is empty"
    name = _format(data)
    if not name:
        return HDF5_UNREAD if data.startswith(HDF5_START) else "is not an image, or not of a known format"
    if named:
        return f"is a {'truncated' if 'no end' in named else 'damaged'} {name} file ({named})"
    has_end = _has_end(data)
    if has_end is None:
        return f"is a truncated or damaged {name} file"
    return f"is a damaged {name} file" if has_end else f"is a truncated {name} file"


def _format(data: bytes) -> str:
    return next((name for start, name in _FORMATS.items() if data.startswith(start)), "")


def _has_end(data: bytes) -> bool | None:
    """Return whether an image file has its end; None of a format that does not tell."""
    ends = {
        "JPEG": b"\xff\xd9" in data,
        "PNG": b"IEND" in data[-64:],
        "WebP": len(data) >= 8 + int.from_bytes(data[4:8], "little"),
        "BMP": len(data) >= int.from_bytes(data[2:6], "little"),
    }
    return ends.get(_format(data))


def is_jpeg_file(path: Path) -> bool:
    """Return whether a file is a JPEG by its content, whatever its name.

    Raises:
        InputError: It cannot be read.
    """
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            return is_jpeg(file.read(len(JPEG_START)))
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def read_image(path: Path) -> NDArray[np.uint8]:
    """Return an image file as ``(H, W, 3)`` uint8 RGB, as a viewer shows it; see `decode_rgb`.

    Raises:
        InputError: The file is missing or is not such an image.
    """
    return decode_rgb(_content(path), repr(str(path)))


def decode_rgb(data: bytes, name: str) -> NDArray[np.uint8]:
    """Return an encoded image as ``(H, W, 3)`` uint8 RGB; one rule for all commands.

    It is turned upright by its EXIF orientation, grey becomes RGB, alpha is dropped. Of 16 bits a channel the
    upper 8 are taken where the values fill their range; darker ones are those of a 10- to 14-bit camera or
    depths, whose scale the file does not tell.

    Args:
        data: The content of an image file.
        name: What the image is called in messages.

    Raises:
        InputError: It is damaged, not an image, holds floating-point values, or 16 bits of an unknown scale;
            or OpenCV is not installed, and it is not a usual PNG or JPEG file.
    """
    if not _has_opencv():
        return _decode_without_opencv(data, name)
    if is_deep(data):
        _check_depth(decode(data, cv2.IMREAD_UNCHANGED, name), name)
    return decode(data, cv2.IMREAD_COLOR_RGB, name)


@cache
def _has_opencv() -> bool:
    try:
        load("cv2")
    except MissingDependencyError:
        return False
    return True


def _decode_without_opencv(data: bytes, name: str) -> NDArray[np.uint8]:
    """Return the same pixels of usual PNG and JPEG files.

    Raises:
        InputError: The file is damaged, or only OpenCV reads it, as the message says.
    """
    form, pixels, unread = _format(data), None, ""
    damage = jpeg_damage(data) if is_jpeg(data) else png_damage(data)
    if damage or claims_too_much(data) or _has_end(data) is False:
        pass
    elif form == "PNG":
        pixels, unread = png_pixels(data), unread_png(data)
    elif form == "JPEG" and (turn := jpeg_orientation(data)) is not None:
        pixels, damage = jpeg_pixels(data, "RGB")
        pixels = None if pixels is None else upright(pixels, turn)
        unread = "is a JPEG file of a rare kind, such as CMYK"
    elif form:
        unread = "has unclear EXIF data" if form == "JPEG" else f"is a {form} file"
    if pixels is None:
        only = f"{unread}, which needs OpenCV: {INSTALL_OPENCV}"
        raise InputError(f"{name} {only if unread and not damage else _damage(data, damage)}")
    return pixels


def _check_depth(pixels: NDArray[Any], name: str) -> None:
    if pixels.dtype == np.uint8:
        return
    expected = "8 bits a channel, or 16 bits that fill their range"
    if pixels.dtype != np.uint16:
        kind = "floating-point" if pixels.dtype.kind == "f" else f"{8 * pixels.dtype.itemsize}-bit integer"
        raise InputError(f"{name} holds {kind} values", expected=expected)
    highest = int(pixels.max(initial=0))
    if highest <= _HALF_OF_16_BITS:
        raise InputError(
            f"{name} holds 16-bit values of an unknown scale",
            expected=expected,
            got=f"highest value {highest} of 65535",
        )


def write_image(path: Path, rgb: NDArray[np.uint8], options: Sequence[int] = ()) -> None:
    """Write an image atomically; the suffix chooses the format.

    Args:
        path: The file; replaced if it exists.
        rgb: ``(H, W, 3)`` uint8 RGB.
        options: ``cv2.IMWRITE_...`` flags and their values.

    Raises:
        UsageError: The suffix is not an image format.
        InputError: The file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in IMAGE_SUFFIXES:
        raise UsageError("unknown image format", got=path.suffix, available=IMAGE_SUFFIXES)
    if suffix == ".png" and not _has_opencv():
        content = png_file(rgb)
    else:
        content = cv2.imencode(suffix, cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), options)[1].tobytes()
    partial = path.with_name(f".{path.name}.{os.getpid()}{IMAGE_PART_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):  # also where the folder is a file
            partial.unlink()
