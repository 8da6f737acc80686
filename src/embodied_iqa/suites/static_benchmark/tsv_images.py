"""Images in the cells of a TSV file: base64 of a PNG or JPEG file, within limits."""

from __future__ import annotations

import base64
import binascii
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import decode_rgb
from embodied_iqa.imaging.images.header_size import claimed_pixels

MOST_IMAGE_CHARACTERS: Final = 32_000_000
"""Longest cell with an image."""
MOST_PIXELS: Final = 50_000_000
_QUALITY: Final = 95
"""JPEG quality of images that are made here."""


def decode_image(cell: str, where: str) -> NDArray[np.uint8]:
    """Return an image as ``(H, W, 3)`` uint8 RGB.

    Args:
        cell: Base64 of a PNG or JPEG file.
        where: What the cell is called in messages.

    Raises:
        InputError: It is not base64, not an image, damaged, or claims more than `MOST_PIXELS` pixels.
    """
    data = image_bytes(cell, where)
    return decode_rgb(data, f"{where}: the image")


def image_bytes(cell: str, where: str) -> bytes:
    """Return the encoded image of a cell; its header is checked, its pixels are not decoded.

    Raises:
        InputError: As `decode_image`, except for damaged pixels.
    """
    try:
        data = base64.b64decode(cell, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{where}: image is not base64", got=cell[:20]) from None
    pixels = claimed_pixels(data)
    if pixels == 0:
        raise InputError(f"{where}: image is not a PNG or JPEG file", got=data[:8].hex())
    if pixels > MOST_PIXELS:
        raise InputError(f"{where}: image is too large", expected=f"at most {MOST_PIXELS} pixels", got=pixels)
    return data


def encode_image(rgb: NDArray[np.uint8]) -> str:
    """Return base64 of an image ``(H, W, 3)`` uint8 RGB as JPEG."""
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY]
    )
    if not done:
        raise InputError("an image cannot be written as JPEG", got=rgb.shape)
    return base64.b64encode(data.tobytes()).decode("ascii")
