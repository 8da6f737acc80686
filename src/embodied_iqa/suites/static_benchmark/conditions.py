"""Conditions under which items are shown: clean, grey or distorted images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions import (
    DistortionSpec,
    FrameDistorter,
    catalogue,
    parse_distortion,
    parse_levels,
)
from embodied_iqa.imaging.images.frame import Frame, View, image_frame
from embodied_iqa.suites.static_benchmark.items import Item, Person
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

CLEAN: Final = "clean"
GREY: Final = "grey"
"""Images without content: shows what the text alone gives away."""
GREY_LEVEL: Final = 128
GREY_ITEMS: Final = "grey items"
"""Begins the source of a benchmark whose items all have one grey image."""


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
        levels: Levels of the words without one: as `parse_levels` reads them.
        grey: Whether grey images are shown too.

    Raises:
        UsageError: A word or the levels are wrong.
    """
    names = [CLEAN, *([GREY] if grey else [])]
    for word in distortions:
        if word == "all":
            kinds, wanted = [line.id for line in catalogue()], parse_levels(levels)
            names += [_name(parse_distortion(f"{kind}:{level}")) for kind in kinds for level in wanted]
        elif word.rpartition(":")[2].isdecimal() and ":" in word:
            names.append(_name(parse_distortion(word)))
        else:
            names += [_name(parse_distortion(f"{word}:{level}")) for level in parse_levels(levels)]
    return tuple(Condition(name) for name in dict.fromkeys(names))


def _name(spec: DistortionSpec) -> str:
    return f"{spec.id}:{spec.level}"


def _view_of(item: Item) -> View:
    """Return the camera: made items name theirs as their source."""
    if item.source in CELL_VIEWS:
        return View(item.source)
    return View.WRIST if item.person is Person.FIRST else View.TOP
