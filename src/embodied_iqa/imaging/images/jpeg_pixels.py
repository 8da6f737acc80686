"""Pixels of JPEG files, decoded by libjpeg-turbo so that what it notices of damaged data is an error.

OpenCV decodes with the same library, to the same pixels, and drops its warnings.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.lazy import INSTALL_DATA, Later

simplejpeg: Any = Later("simplejpeg", INSTALL_DATA)

_DECODED: Final = frozenset({"Gray", "YCbCr", "RGB"})
"""Colour spaces that convert to RGB by the JFIF standard; CMYK does not."""
_CORRUPT: Final = "Corrupt JPEG data: "
_SURPLUS: Final = re.compile(_CORRUPT + r"(\d+) extraneous bytes before marker 0x([\da-f]{2})")
_ALIGNMENT: Final = 3
"""Most surplus bytes of any value that are no damage: encoders align to words of 4 bytes."""
_PADDING: Final = re.compile(rb"(?:\xff\0|\0)+(?=\xff[\xd0-\xd9])")
"""Ones or zeros before a marker, as cameras of Logitech write before those of restarts."""
_OF_HEADERS: Final = re.compile("db|dd|fe|e.|c[0-2]")
"""Markers that no image data precedes, but those of a further image: bytes before them hold no pixels."""
_HARMLESS: Final = (
    "Warning: unknown JFIF revision",
    "Unknown Adobe color transform code",
    "Invalid SOS parameters for sequential JPEG",
    _CORRUPT + "bad ICC marker",
)
"""Warnings of numbers in a header that the decoder does not need."""
_NOT_DECODED: Final = re.compile("arithmetic|precision|SOF type|color conversion|ampling|colorspace")
"""What the library says of kinds of JPEG that it does not decode."""


def jpeg_pixels(data: bytes, order: str) -> tuple[NDArray[np.uint8] | None, str]:
    """Return the pixels of a JPEG file, and how its data is damaged, in the words of libjpeg-turbo.

    A warning of libjpeg-turbo is damage, unless it concerns a number of a header that the decoder does not
    need, or bytes that cameras add: ones or zeros before markers, three bytes of any value, or what precedes
    headers. Of a file with such bytes, later damage is not noticed: libjpeg-turbo tells its first warning.

    Args:
        data: The file.
        order: Of the channels: "RGB", "BGR", or "GRAY" for one; "" for "BGR" or "GRAY", as the file has them.

    Returns:
        uint8, (H, W, 3) or (H, W), not turned by EXIF. None where the file is damaged, and, with no damage
        named, where another decoder must read it: CMYK, rare sampling.
    """
    try:
        return _decoded(data, order, strict=True), ""
    except ValueError as error:
        warning = str(error)
    except KeyError:  # of a sampling that it has no name for
        return None, ""
    if not _NOT_DECODED.search(warning) and not _is_harmless(warning, data):
        return None, warning.removeprefix(_CORRUPT)
    with suppress(KeyError, ValueError):  # it raises all warnings of headers
        return _decoded(data, order, strict=False), ""
    return None, ""


def _decoded(data: bytes, order: str, *, strict: bool) -> NDArray[np.uint8] | None:
    space = simplejpeg.decode_jpeg_header(data, strict=strict)[2]
    order = order or ("GRAY" if space == "Gray" else "BGR")
    pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, order, strict=strict)
    if space not in _DECODED:
        return None
    return pixels[..., 0] if order == "GRAY" else pixels


def _is_harmless(warning: str, data: bytes) -> bool:
    surplus = _SURPLUS.fullmatch(warning)
    if surplus is None:
        return warning.startswith(_HARMLESS)
    count, marker = int(surplus[1]), surplus[2]
    return (
        count <= _ALIGNMENT
        or _OF_HEADERS.fullmatch(marker) is not None
        or sum(map(len, _PADDING.findall(data))) >= count  # which counts on past markers that it has read
    )
