"""Photographs of judged runs: decoded, scaled and written anew, so that no upload is stored as it came."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import cv2

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.imaging.images.codecs import decode_rgb

_MOST_PX: Final = 1600
_MOST_PIXELS: Final = 60_000_000
_QUALITY: Final = 85
_SIGNATURES: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")


def store_photograph(folder: Path, content: bytes) -> str:
    """Write a photograph as JPEG without its metadata, such as the place; return the name of the file.

    Args:
        folder: Of the journal.
        content: JPEG, PNG or WebP as a phone sends it.

    Raises:
        InputError: It is not such an image, or too large.
    """
    if not content.startswith(_SIGNATURES):
        raise InputError("the photograph cannot be read", expected="JPEG, PNG or WebP")
    image = decode_rgb(content, "the photograph")
    if image.shape[0] * image.shape[1] > _MOST_PIXELS:
        raise InputError("the photograph cannot be read", expected=f"an image of up to {_MOST_PIXELS} pixels")
    scale = _MOST_PX / max(image.shape[:2])
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[
        1
    ].tobytes()
    name = f"{sha256(data).hexdigest()}.jpg"
    file = photograph_file(folder, name)
    if not file.is_file():
        write_whole(file, lambda fresh: fresh.write_bytes(data))
    return name


def photograph_file(folder: Path, name: str) -> Path:
    """Return the file of a photograph in the folder of a journal."""
    return folder / "photographs" / name
