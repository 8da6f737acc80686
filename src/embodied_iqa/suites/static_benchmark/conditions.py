"""Conditions under which items are shown: clean, grey or distorted images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter, catalogue, parse_distortion
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.imaging.images.frame import Frame, View, image_frame
from embodied_iqa.suites.static_benchmark.items import Item, Person
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

CLEAN: Final = "clean"
GREY: Final = "grey"
"""Images without content: shows what the text alone gives away."""
GREY_LEVEL: Final = 128
GREY_ITEMS: Final = "grey items"
"""Begins the source of a benchmark whose items all have one grey image."""
_LEVELS: Final = re.compile(r"([1-5])(?:-([1-5]))?")


@dataclass(frozen=True, slots=True)
class Condition:
    """How images are shown.

    Attributes:
        name: `CLEAN`, `GREY`, or distortion and level such as ``12:3``.
    """

    name: str

    def shown(self, rgb: NDArray[np.uint8], item: Item) -> Frame:
        """Return an item's image under this condition; the same item gives the same image.

        Args:
            rgb: ``(H, W, 3)`` uint8 RGB, the clean image.
            item: Rotations of an item share one seed.
        """
        view = _view_of(item)
        if self.name == GREY:
            return image_frame(np.full_like(rgb, GREY_LEVEL), view)
        if self.name == CLEAN:
            return image_frame(rgb, view)
        key = f"{self.name}|{item.group}".encode()
        seed = int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> 1
        spec = parse_distortion(self.name, seed=seed)
        return image_frame(FrameDistorter(spec).apply(rgb, view, 0), view)


def conditions_of(distortions: Sequence[str], levels: str, *, grey: bool) -> tuple[Condition, ...]:
    """Return the conditions of a command line, clean first.

    Args:
        distortions: Words such as ``12:3``, or ``all``, or types without a level (``12``).
        levels: Levels of the words without one: ``3`` or ``1-5``.
        grey: Whether grey images are shown too.

    Raises:
        UsageError: A word or the levels are wrong.
    """
    names = [CLEAN, *([GREY] if grey else [])]
    for word in distortions:
        if word == "all":
            names += [
                _name(parse_distortion(f"{line.id}:{n}")) for line in catalogue() for n in _levels(levels)
            ]
        elif word.rpartition(":")[2].isdecimal() and ":" in word:
            names.append(_name(parse_distortion(word)))
        else:
            names += [_name(parse_distortion(f"{word}:{level}")) for level in _levels(levels)]
    return tuple(Condition(name) for name in dict.fromkeys(names))


def _name(spec: DistortionSpec) -> str:
    return f"{spec.id}:{spec.level}"


def _levels(text: str) -> tuple[int, ...]:
    match = _LEVELS.fullmatch(text)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 0 < first <= last:
        raise UsageError("wrong --levels", expected="one level or a range such as 1-5", got=text)
    return tuple(level for level in LEVELS if first <= level <= last)


def _view_of(item: Item) -> View:
    """Return the camera: made items name theirs as their source."""
    if item.source in CELL_VIEWS:
        return View(item.source)
    return View.WRIST if item.person is Person.FIRST else View.TOP
