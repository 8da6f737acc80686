"""The distorted images of a reference, made from its seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import cv2
import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.distortions.catalogue import distort
from embodied_iqa.imaging.distortions.region import Mask, RegionMode, blended, feathered
from embodied_iqa.quality.metrics.metric import Image
from embodied_iqa.suites.miqa.names import TYPES, ImageName, all_names


def image_generator(seed: int, reference: str, kind: str) -> Generator:
    """Return the generator of all levels of a type on a reference, the same on every machine.

    Levels share it, so that a level inside the region is that of the uniform image, pixel by pixel.
    """
    key = f"{seed}|{reference}|{kind}".encode()
    entropy = int.from_bytes(blake2b(key, digest_size=16).digest(), "little")
    return Generator(PCG64(SeedSequence(entropy)))


def drawn_names(reference: str, seed: int, share: float) -> tuple[ImageName, ...]:
    """Return a share of the 250 images of a reference, drawn without replacement, in their order."""
    names = all_names(reference)
    count = max(1, round(share * len(names)))
    drawn = image_generator(seed, reference, "drawn").choice(len(names), count, replace=False)
    return tuple(names[index] for index in sorted(drawn))


class Distorter:
    """Makes distorted images of one reference; the levels of the last type are kept.

    The same as `distort_region` with `image_generator`, bit for bit; each level is made once.

    Args:
        rgb: ``(H, W, 3)`` uint8 RGB, the source image.
        mask: ``(H, W)``, true inside the region of interest.
        seed: Of the database.

    Raises:
        InputError: The mask has another size.
    """

    def __init__(self, rgb: Image, mask: Mask, seed: int) -> None:
        if mask.shape != rgb.shape[:2]:
            raise InputError(
                "the mask differs in size from the image", expected=str(rgb.shape[:2]), got=mask.shape
            )
        self._rgb = rgb
        self._mask = mask
        self._seed = seed
        self._weight: NDArray[np.float32] | None = None
        self._kind = ""
        self._levels: dict[int, Image] = {}

    def image(self, name: ImageName) -> Image:
        """Return a distorted image, ``(H, W, 3)`` uint8 RGB."""
        if self._kind != name.kind:
            self._kind, self._levels = name.kind, {}
        inside, outside = (self._level(name, level) for level in (name.inside, name.outside))
        if name.mode is RegionMode.UNIFORM:
            return inside
        if self._weight is None:
            self._weight = np.asarray(cv2.merge([feathered(self._mask)] * 3), np.float32)
        return blended(inside, outside, self._weight)

    def images(self, names: Iterable[ImageName]) -> Iterator[Image]:
        """Yield distorted images; those of one type should be neighbours."""
        yield from map(self.image, names)

    def _level(self, name: ImageName, level: int) -> Image:
        if level not in self._levels:
            generator = image_generator(self._seed, name.reference, name.kind)
            self._levels[level] = distort(self._rgb, TYPES[name.kind], level, generator)
        return self._levels[level]
