"""The catalogues: every distortion by its number and by its name."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from numpy.random import Generator

from embodied_iqa.distortions import (
    blur,
    chrominance,
    compression,
    luminance,
    miqd_blur,
    miqd_digital,
    miqd_environment,
    noise,
    others,
    spatial,
    spatial_blocks,
)
from embodied_iqa.distortions.entry import Entry
from embodied_iqa.distortions.image import Image, checked
from embodied_iqa.distortions.spec import LEVELS
from embodied_iqa.errors import UsageError

__all__ = ["catalogue", "distort", "entry", "miqd_catalogue"]


@cache
def catalogue() -> tuple[Entry, ...]:
    """Return the 30 Embodied-IQA distortions in the order of their numbers."""
    modules = (blur, chrominance, compression, noise, luminance, spatial, spatial_blocks, others)
    return tuple(sorted((line for module in modules for line in module.ENTRIES), key=lambda line: line.id))


@cache
def miqd_catalogue() -> tuple[Entry, ...]:
    """Return the 10 distortions of the machine-vision catalogue (MIQD), class by class."""
    return (*miqd_digital.ENTRIES, *miqd_blur.ENTRIES, *miqd_environment.ENTRIES)


@cache
def _by_word() -> MappingProxyType[str, Entry]:
    words = {line.id: line for line in (*catalogue(), *miqd_catalogue())}
    words.update({line.name: line for line in catalogue()})
    return MappingProxyType(words)


def entry(id_or_name: str) -> Entry:
    """Return the entry of an id (``"02"``, ``"2"``, ``"miqd:fog"``) or a name (``"lens-blur"``).

    Raises:
        UsageError: There is no such distortion; the message lists those that exist.
    """
    word = id_or_name.strip().lower().replace("_", "-").replace(" ", "-")
    found = _by_word().get(word.zfill(2))
    if found is None:
        available = [f"{line.id} {line.name}" for line in catalogue()]
        available += [line.id for line in miqd_catalogue()]
        raise UsageError("unknown distortion", got=id_or_name, available=available)
    return found


def distort(image: Image, id_or_name: str, level: int, rng: Generator) -> Image:
    """Return a distorted copy of a picture; all randomness comes from ``rng``.

    Args:
        image: ``(H, W, 3)`` uint8 RGB, at least 16 x 16; read-only and non-contiguous arrays are fine. It is
            never changed.
        id_or_name: Which distortion: ``"15"`` or ``"multiplicative-noise"``.
        level: 1 (mild) to 5 (severe).
        rng: ``numpy.random.Generator``; the same state gives the same picture, bit for bit.

    Returns:
        ``(H, W, 3)`` uint8 RGB, C-contiguous, never the input itself.

    Raises:
        UsageError: Unknown distortion or level.
        InputError: Not such a picture.
    """
    line = entry(id_or_name)
    if level not in LEVELS:
        raise UsageError("unknown distortion level", got=level, available=LEVELS)
    return line.apply(checked(image), level, rng)
