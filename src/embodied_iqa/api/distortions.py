"""Distortions in the Python interface: of images as people hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.api.image_batch import image_batch, mask_of
from embodied_iqa.base.errors import Description, UsageError
from embodied_iqa.imaging.distortions import (
    FrameDistorter,
    catalogue,
    miqd_catalogue,
    parse_distortion,
    region,
)
from embodied_iqa.imaging.distortions.image import checked
from embodied_iqa.imaging.distortions.stream import VIEW_OF_FILES, stamp_of_pixels

_Pixels = TypeVar("_Pixels", bound=np.generic)


@overload
def distort(
    image: str | Path,
    distortion: str,
    *,
    seed: int = ...,
    view: str = ...,
    stamp_ns: int | None = ...,
    frozen: bool = ...,
) -> NDArray[np.uint8]: ...


@overload
def distort(
    image: NDArray[_Pixels],
    distortion: str,
    *,
    seed: int = ...,
    view: str = ...,
    stamp_ns: int | None = ...,
    frozen: bool = ...,
) -> NDArray[_Pixels]: ...


@overload
def distort(
    image: Any,
    distortion: str,
    *,
    seed: int = ...,
    view: str = ...,
    stamp_ns: int | None = ...,
    frozen: bool = ...,
) -> Any: ...


def distort(
    image: Any,
    distortion: str,
    *,
    seed: int = 0,
    view: str = VIEW_OF_FILES,
    stamp_ns: int | None = None,
    frozen: bool = False,
) -> Any:
    """Return a distorted copy of an image, or of each of a batch.

    Args:
        image: RGB, at least 16 x 16, one or a batch of N: an array ``(H, W, 3)`` or ``(N, H, W, 3)``, a torch
            tensor ``(3, H, W)`` or ``(N, 3, H, W)``, uint8 or floats from 0 to 1 (rounded to 8 bits), an
            image of Pillow, or the path of a file.
        distortion: Number or name (see `list_distortions`) and a level from 1 (mild) to 5 (severe):
            ``"02:3"``, ``"lens-blur:3"``, ``"miqd:fog:4"``, or an own one, ``"python:my_module:entry:3"``.
        seed: Seed of all random parts, at least 0. Seed, view and stamp together determine the image.
        view: Name of the camera, any; the noise depends on it. ``"top"`` by default, as for image files.
        stamp_ns: Time stamp of the frame in nanoseconds; None for one that follows from the pixels, so that
            `embodied-iqa distort` makes the same of a file, whatever its name.
        frozen: The same noise for every stamp.

    Returns:
        The same shape and type, of Pillow an image; an array ``(H, W, 3)`` uint8 for a file.

    Raises:
        UsageError: An unknown distortion or level.
            A seed or stamp that is not an integer.
        InputError: Another type, shape, range or size.
    """
    if not isinstance(distortion, str | int | None):  # an image: the parser would print its numbers
        got, expected = Description(type(distortion).__name__), "distort(image, '02:3'): the image first"
        raise UsageError("the second argument is the distortion", expected=expected, got=got)
    distorter = FrameDistorter(parse_distortion(distortion, seed=seed, frozen=frozen))
    batch = image_batch(image)
    stamps_ns = [stamp_of_pixels(checked(one)) if stamp_ns is None else stamp_ns for one in batch.images]
    return batch.like(
        [distorter.apply(one, view, taken_ns) for one, taken_ns in zip(batch.images, stamps_ns, strict=True)]
    )


def distort_region(
    image: Any, id_or_name: str, mask: Any, *, inside: int, outside: int, rng: np.random.Generator
) -> Any:
    """Return a copy of an image, or of each of a batch, with one level in a region and another elsewhere.

    The seam is soft. Away from it every pixel is exactly that of ``distortion(id_or_name).apply`` at its
    level with the same generator, or of the image itself at level 0.

    Args:
        image: As for `distort`.
        id_or_name: Number or name of the distortion: ``"02"``, ``"lens-blur"``, ``"miqd:fog"``.
        mask: ``(H, W)`` array or tensor, true or above 0 inside the region; one for all images of a batch.
        inside: Level from 1 (mild) to 5 (severe), or 0 for undistorted.
        outside: Likewise.
        rng: Source of all random parts; the images of a batch draw from it one after the other.

    Returns:
        As `distort`.

    Raises:
        UsageError: Unknown distortion or level, or another generator.
        InputError: Another type, shape, range or size, or the mask has another size.
    """
    if not isinstance(rng, np.random.Generator):
        got = Description(type(rng).__name__)
        raise UsageError("rng is no generator", expected="np.random.default_rng(7)", got=got)
    batch, inner = image_batch(image), mask_of(mask)
    levels = {"inside": inside, "outside": outside}
    return batch.like(
        [region.distort_region(one, id_or_name, inner, **levels, rng=rng) for one in batch.images]
    )


def list_distortions() -> list[str]:
    """Return the names of the 30 distortions, in the order of their numbers, and of the 10 of MIQD."""
    return [found.name for found in catalogue()] + [found.id for found in miqd_catalogue()]
