"""Blobs of the six colours in an image, by fixed bounds of hue, saturation and value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.tasks.vocabulary import Colour

_HUES_DEG: Final[dict[Colour, tuple[float, float]]] = {
    Colour.RED: (335.0, 12.0),
    Colour.ORANGE: (12.0, 38.0),
    Colour.YELLOW: (38.0, 70.0),
    Colour.GREEN: (85.0, 165.0),
    Colour.BLUE: (200.0, 252.0),
    Colour.PURPLE: (255.0, 320.0),
}
_MIN_SATURATION: Final = 78
_MIN_VALUE: Final = 38
_INK_SATURATION: Final = 150
_INK_VALUE: Final = 9
"""Printed marks are dark but have the saturated hue of their object."""
_DARK_VALUE: Final = 95
_DARK_SATURATION: Final = 78
_MIN_AREA: Final = 4.0e-4
"""Smallest blob as a share of the image: about a tenth of an object."""
_BLOBS_A_COLOUR: Final = 4
_BRIGHT: Final = 90
_LEAST_BRIGHT: Final = 0.1
"""Smallest bright share of a blob whose dark parts are ink."""
_GAP: Final = 0.011
"""Parts of a marked object are closer than this share of the image's height."""
_COLOURS: Final = tuple(Colour)


@dataclass(frozen=True, slots=True, eq=False)
class PaintMap:
    """Colour of each pixel.

    Attributes:
        label: ``(H, W)`` uint8: 1 + position in `Colour`, or 0 for no colour.
        paint: ``(H, W)`` uint8: 255 where the colour is not that of ink.
        bright: ``(H, W)`` uint8: 255 where it is bright.
        dark: ``(H, W)`` bool: dark and grey, like a button's base.
    """

    label: NDArray[np.uint8]
    paint: NDArray[np.uint8]
    bright: NDArray[np.uint8]
    dark: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Blob:
    """A patch of one colour.

    Attributes:
        colour: Its colour.
        mask: ``(h, w)`` uint8, 1 inside; holes and hollows are filled.
        left_px: Column of the mask's first column in the image.
        top_px: Row of the mask's first row in the image.
        area_px: Number of pixels inside.
        centre_px: Centroid ``(u, v)`` in the image.
    """

    colour: Colour
    mask: NDArray[np.uint8]
    left_px: int
    top_px: int
    area_px: int
    centre_px: tuple[float, float]


def paint_map(rgb: NDArray[np.uint8]) -> PaintMap:
    """Classify each pixel of an ``(H, W, 3)`` uint8 image, by bounds tuned on undistorted images."""
    hsv = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)
    hue, saturation, value = cv2.split(hsv)
    paint, ink = (
        cv2.bitwise_and(_at_least(saturation, least[0]), _at_least(value, least[1]))
        for least in ((_MIN_SATURATION, _MIN_VALUE), (_INK_SATURATION, _INK_VALUE))
    )
    label = cv2.bitwise_and(cv2.LUT(hue, _hue_table()), cv2.bitwise_or(paint, ink))
    dark = (value < _DARK_VALUE) & (saturation < _DARK_SATURATION)
    return PaintMap(label, paint, _at_least(value, _BRIGHT), dark)


def blobs_of(paint: PaintMap) -> list[Blob]:
    """Return the largest blobs of each colour, at most four, in the order of `Colour` and size."""
    return [blob for colour in _COLOURS for blob in _largest_blobs(paint, colour)]


def _at_least(plane: NDArray[np.uint8], least: int) -> NDArray[np.uint8]:
    """Return 255 where the plane has at least this value, else 0."""
    reached: NDArray[np.uint8] = cv2.threshold(plane, least - 1, 255, cv2.THRESH_BINARY)[1]
    return reached


@cache
def _hue_table() -> NDArray[np.uint8]:
    """Return the label of each of OpenCV's hues (half degrees)."""
    degrees = 2.0 * np.arange(256)
    table = np.zeros(256, np.uint8)
    for number, colour in enumerate(_COLOURS, start=1):
        low, high = _HUES_DEG[colour]
        inside = (degrees >= low) & (degrees < high) if low < high else (degrees >= low) | (degrees < high)
        table[inside & (degrees < 360)] = number
    return table


def _largest_blobs(paint: PaintMap, colour: Colour) -> list[Blob]:
    """Return the blobs with the ink of their marks; without it where the image is too dark to tell ink."""
    number = _COLOURS.index(colour) + 1
    mask = cv2.inRange(paint.label, number, number)
    blobs = _blobs_in(mask, colour)
    if all(_is_bright(blob, paint) for blob in blobs):
        return blobs
    return _blobs_in(cv2.bitwise_and(mask, paint.paint), colour)


def _blobs_in(mask: NDArray[np.uint8], colour: Colour) -> list[Blob]:
    gap_px = max(3, round(_GAP * mask.shape[0]))
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((gap_px, gap_px), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    largest = sorted(contours, key=cv2.contourArea, reverse=True)[:_BLOBS_A_COLOUR]
    blobs = (_blob(colour, contour) for contour in largest)
    return [blob for blob in blobs if blob.area_px >= _MIN_AREA * mask.size]


def _is_bright(blob: Blob, paint: PaintMap) -> bool:
    height, width = blob.mask.shape
    bright = paint.bright[blob.top_px : blob.top_px + height, blob.left_px : blob.left_px + width]
    return cv2.countNonZero(cv2.bitwise_and(bright, bright, mask=blob.mask)) >= _LEAST_BRIGHT * blob.area_px


def _blob(colour: Colour, contour: NDArray[np.int32]) -> Blob:
    left, top, width, height = cv2.boundingRect(contour)
    filled = np.zeros((height, width), np.uint8)
    cv2.drawContours(filled, [cv2.convexHull(contour)], -1, 1, cv2.FILLED, offset=(-left, -top))
    moments = cv2.moments(filled, binaryImage=True)
    area = int(moments["m00"])
    centre = (left + moments["m10"] / area, top + moments["m01"] / area)
    return Blob(colour, filled, left, top, area, centre)
