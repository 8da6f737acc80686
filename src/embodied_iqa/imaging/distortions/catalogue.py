"""The catalogues: every distortion by number and by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_code import PREFIX, load_object, own_code
from embodied_iqa.imaging.distortions import (
    block_distortions,
    blur,
    chrominance,
    compression,
    luminance,
    miqd_blur,
    miqd_digital,
    miqd_environment,
    noise,
    sharpness_contrast,
    spatial,
)
from embodied_iqa.imaging.distortions.entry import Entry, Operator
from embodied_iqa.imaging.distortions.image import Image, checked
from embodied_iqa.imaging.distortions.spec import LEVELS, DistortionSpec


@cache
def catalogue() -> tuple[Entry, ...]:
    """Return the 30 Embodied-IQA distortions in the order of their numbers."""
    entries = (
        *blur.ENTRIES,
        *chrominance.ENTRIES,
        *compression.ENTRIES,
        *noise.ENTRIES,
        *luminance.ENTRIES,
        *spatial.ENTRIES,
        *block_distortions.ENTRIES,
        *sharpness_contrast.ENTRIES,
    )
    return tuple(sorted(entries, key=lambda found: found.id))


@cache
def miqd_catalogue() -> tuple[Entry, ...]:
    """Return the 10 distortions of the machine-vision catalogue (MIQD), class by class."""
    return (*miqd_digital.ENTRIES, *miqd_blur.ENTRIES, *miqd_environment.ENTRIES)


@cache
def _by_word() -> MappingProxyType[str, Entry]:
    by_id = {found.id: found for found in (*catalogue(), *miqd_catalogue())}
    return MappingProxyType(by_id | {found.name: found for found in catalogue()})


def entry(id_or_name: str) -> Entry:
    """Return the entry of an id (``"02"``, ``"2"``, ``"miqd:fog"``) or a name (``"lens-blur"``).

    Spaces, underscores and British spelling are taken, too: ``"Colour diffusion"``.
    ``"python:module:name"`` is an `Entry` in the user's own module; that text is then its id.

    Raises:
        UsageError: The distortion is unknown; the message lists those that exist.
        InputError: The user's module fails, or the name is not an `Entry` with five levels.
    """
    if not isinstance(id_or_name, str):
        raise UsageError("a distortion is a number or name", expected="such as '02'", got=id_or_name)
    if id_or_name.startswith(PREFIX):
        return _own(id_or_name)
    word = id_or_name.strip().lower().replace("_", "-").replace(" ", "-")
    word = word.replace("colour", "color").replace("grey", "gray")
    found = _by_word().get(word.zfill(2))
    if found is None:
        available = [f"{known.id} {known.name}" for known in catalogue()]
        available += [known.id for known in miqd_catalogue()]
        raise UsageError("unknown distortion", got=id_or_name, available=available)
    return found


@cache
def _own(word: str) -> Entry:
    found = load_object(word.removeprefix(PREFIX))
    if not isinstance(found, Entry) or len(found.parameters) != len(LEVELS):
        raise InputError(f"{word} is not a distortion", expected=f"an Entry with {len(LEVELS)} levels")
    return replace(found, id=word, operator=_own_operator(word, found.operator))


def _own_operator(word: str, operator: Operator) -> Operator:
    """Return a user's operator whose exceptions and results are reported in one line."""

    def distorted(image: Image, rng: Generator, *parameters: float) -> Image:
        with own_code(f"{word} fails"):
            result: object = operator(image, rng, *parameters)
        expected = f"{image.shape} uint8"
        if not isinstance(result, np.ndarray):
            raise InputError(f"{word} returned {type(result).__name__}", expected=expected)
        if result.shape != image.shape or result.dtype != np.uint8:
            raise InputError(f"{word} returned {result.shape} {result.dtype}", expected=expected)
        shared = np.may_share_memory(result, image)
        return np.array(result, order="C") if shared else np.ascontiguousarray(result)

    return distorted


def distort(image: Image, id_or_name: str, level: int, rng: Generator) -> Image:
    """Return a distorted copy of an image; all randomness comes from ``rng``.

    Args:
        image: ``(H, W, 3)`` uint8 RGB, at least 16 x 16; read-only and non-contiguous arrays are fine. It is
            never changed.
        id_or_name: Which distortion: ``"15"`` or ``"multiplicative-noise"``.
        level: 1 (mild) to 5 (severe).
        rng: ``numpy.random.Generator``; the same state gives the same image, bit for bit.

    Returns:
        ``(H, W, 3)`` uint8 RGB, C-contiguous, never the input itself.

    Raises:
        UsageError: Unknown distortion or level.
        InputError: The image has another type, shape or size, or a distortion of the user's own fails or
            returns anything but an image of that size.
    """
    distortion = entry(id_or_name)
    if level not in LEVELS:
        raise UsageError("unknown distortion level", got=level, available=LEVELS)
    return distortion.apply(checked(image), level, rng)


def parse_distortion(word: str, *, seed: int = 0, frozen: bool = False, schedule: str = "") -> DistortionSpec:
    """Parse ``02:3``, ``gaussian-blur:2`` or ``miqd:fog:4``: a distortion, a colon and its level.

    Raises:
        UsageError: The word has another form, or the distortion, level or schedule is unknown.
    """
    name, colon, level = word.strip().rpartition(":") if isinstance(word, str) else ("", "", "")
    if not colon or not level.isdecimal():
        raise UsageError(
            "a distortion is a number or name, a colon and a level", expected="such as 02:3", got=word
        )
    found = entry(name)
    if int(level) not in LEVELS:
        raise UsageError(f"unknown level of {found.name}", got=int(level), available=LEVELS)
    return DistortionSpec(found.id, int(level), seed, frozen, schedule)
