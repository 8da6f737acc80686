"""Region modes: one level inside the task-relevant region, another outside (MIQD's UD, ROI-DD, BG-DD)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions.catalogue import distort, entry
from embodied_iqa.imaging.distortions.image import FloatImage, Image, checked
from embodied_iqa.imaging.distortions.spec import LEVELS, is_whole
from embodied_iqa.imaging.images.codecs import decode_file

_INSIDE = 128
_GREY_SPREAD = 48
"""Channels of a grey image differ by less, also where JPEG has changed them."""
FEATHER_PX = 32
"""Reach of the seam to either side of the region's border."""

Mask: TypeAlias = NDArray[np.bool_] | NDArray[np.uint8]
"""``(H, W)``: true or above 0 inside the region."""


class RegionMode(StrEnum):
    """The part of the image that is distorted more."""

    UNIFORM = "UD"
    ROI = "ROI-DD"
    BACKGROUND = "BG-DD"


def region_mode(inside: int, outside: int) -> RegionMode:
    """Return the mode of a level inside the region and a level outside."""
    if inside == outside:
        return RegionMode.UNIFORM
    return RegionMode.ROI if inside > outside else RegionMode.BACKGROUND


def region_combinations() -> tuple[tuple[int, int], ...]:
    """Return all 25 pairs (level inside, level outside): 5 UD, 10 ROI-DD, 10 BG-DD."""
    return tuple((inside, outside) for inside in LEVELS for outside in LEVELS)


def mask_of_labels(labels: NDArray[np.integer], wanted: Sequence[int]) -> NDArray[np.bool_]:
    """Return where a segmentation ``(H, W)``, such as the simulator's, shows one of the ``wanted`` labels."""
    return np.isin(labels, wanted)


def read_mask(path: Path) -> NDArray[np.bool_]:
    """Read a mask from an opaque image file, upright; grey values of 128 and more are inside.

    Raises:
        InputError: The file is missing or is not an image, has transparent pixels or colours, or selects
            nothing, as masks of labels do.
    """
    values = decode_file(path, cv2.IMREAD_UNCHANGED)
    if values.ndim == 3 and values.shape[2] == 4 and values[..., 3].min(initial=255) < 255:
        raise InputError(
            f"the mask {str(path)!r} has transparent pixels", expected="white inside, black outside"
        )
    if values.ndim == 3 and np.ptp(values[..., :3], axis=2).max(initial=0) > _GREY_SPREAD:
        raise InputError(f"the mask {str(path)!r} has colours", expected="white inside, black outside")
    gray = decode_file(path, cv2.IMREAD_GRAYSCALE)
    inside = np.asarray(gray >= _INSIDE)
    if not inside.any():
        raise InputError(
            f"the mask {str(path)!r} selects nothing",
            expected=f"pixels of {_INSIDE} or more",
            got=f"highest value {gray.max(initial=0)}",
        )
    return inside


def feathered(mask: Mask) -> FloatImage:
    """Return the weight of the inside, ``(H, W)`` float32 in [0, 1].

    A Gaussian of the mask with a support of 32 px: 0 farther outside than that. The core, farther inside than
    that, is held at 1.
    """
    inside = np.not_equal(mask, 0).astype(np.uint8)
    side = 2 * FEATHER_PX + 1
    soft = cv2.GaussianBlur(
        inside.astype(np.float32), (side, side), FEATHER_PX / 3, borderType=cv2.BORDER_REFLECT
    )
    depth_px = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    weight: FloatImage = np.where(depth_px > FEATHER_PX, np.float32(1), np.clip(soft, 0, 1))
    return weight


def distort_region(
    image: Image, id_or_name: str, mask: Mask, *, inside: int, outside: int, rng: Generator
) -> Image:
    """Distort at level ``inside`` within the region and at level ``outside`` elsewhere, with a soft seam.

    Away from the seam every pixel is exactly that of ``distortion(id).apply`` at its level with the same
    generator, or of the image itself at level 0; equal levels give that image.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        id_or_name: The distortion.
        mask: ``(H, W)``, true or above 0 inside the region.
        inside: Level 1 to 5, or 0 for undistorted.
        outside: Likewise.
        rng: As for ``distortion(id).apply``; the same state gives the same image, bit for bit.

    Raises:
        UsageError: Unknown distortion or level.
        InputError: The image cannot be distorted, or the mask has another size.
    """
    image = checked(image)
    if np.shape(mask) != image.shape[:2]:
        raise InputError(
            "the mask differs in size from the image", expected=str(image.shape[:2]), got=np.shape(mask)
        )
    twin = copy.deepcopy(rng)
    of_inside = _at_level(image, id_or_name, inside, rng)
    if inside == outside:
        return of_inside
    of_outside = _at_level(image, id_or_name, outside, twin if inside else rng)
    return blended(of_inside, of_outside, np.asarray(cv2.merge([feathered(mask)] * 3)))


def _at_level(image: Image, id_or_name: str, level: int, rng: Generator) -> Image:
    """Return a distorted copy, or a plain one at level 0."""
    if not is_whole(level) or level not in {0, *LEVELS}:
        raise UsageError("unknown distortion level", got=level, available=(0, *LEVELS))
    if level == 0:
        entry(id_or_name)  # refuses an unknown one
        return image.copy()
    return distort(image, id_or_name, level, rng)


def blended(of_inside: Image, of_outside: Image, weight: FloatImage) -> Image:
    """Return one image inside a region and another outside.

    Args:
        of_inside: ``(H, W, 3)`` uint8 RGB.
        of_outside: Of the same shape.
        weight: ``(H, W, 3)`` float32 in [0, 1], of the inside: `feathered`, once for each channel.
    """
    change = cv2.multiply(cv2.subtract(of_inside, of_outside, dtype=cv2.CV_32F), weight)
    return np.asarray(cv2.add(of_outside, change, dtype=cv2.CV_8U))
