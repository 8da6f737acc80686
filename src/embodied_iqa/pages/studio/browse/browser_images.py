"""Images of a database as bytes for the browser; made from the seed where no file was stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.database.database_images import distorted_rgb, reference_frame
from embodied_iqa.data.database.schema import Pair, Reference

THUMBNAIL_PX: Final = 160
_MOST_BYTES: Final = 64_000_000
_QUALITY: Final = 80
_FAST: Final = 1


class Which(StrEnum):
    """Image of a pair."""

    REFERENCE = "reference"
    DISTORTED = "distorted"


class ByteCache:
    """The most recently used values, up to a total size.

    Args:
        most_bytes: Of all values together.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._values: OrderedDict[Any, bytes] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: Any, make: Callable[[], bytes]) -> bytes:
        """Return a value; make it where it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self.size += len(value) - len(self._values.pop(key, b""))
            self._values[key] = value
            while self.size > self._most_bytes and self._values:
                self.size -= len(self._values.popitem(last=False)[1])
        return value


@dataclass(frozen=True, slots=True)
class PairImages:
    """The images of one pair.

    Attributes:
        folder: The database.
        reference: Its reference.
        pair: The pair.
    """

    folder: Path
    reference: Reference
    pair: Pair

    def rgb(self, which: Which) -> NDArray[np.uint8]:
        """Return ``(H, W, 3)`` uint8 RGB.

        Raises:
            InputError: A file is missing, damaged or outside of the database.
        """
        if which is Which.DISTORTED:
            return distorted_rgb(self.folder, self.reference, self.pair)
        return reference_frame(self.folder, self.reference).rgb


def thumbnail(rgb: NDArray[np.uint8]) -> bytes:
    """Return an image as a WebP of `THUMBNAIL_PX` width."""
    height_px, width_px = rgb.shape[:2]
    size = (THUMBNAIL_PX, max(1, round(height_px * THUMBNAIL_PX / width_px)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    return _encoded(".webp", small, [cv2.IMWRITE_WEBP_QUALITY, _QUALITY])


def png(rgb: NDArray[np.uint8]) -> bytes:
    """Return an image as PNG, without loss."""
    return _encoded(".png", rgb, [cv2.IMWRITE_PNG_COMPRESSION, _FAST])


def webp(rgb: NDArray[np.uint8]) -> bytes:
    """Return an image as WebP of good quality."""
    return _encoded(".webp", rgb, [cv2.IMWRITE_WEBP_QUALITY, 90])


def _encoded(kind: str, rgb: NDArray[np.uint8], options: list[int]) -> bytes:
    _, data = cv2.imencode(kind, cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), options)
    return data.tobytes()
