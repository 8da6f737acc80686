"""Disturbances that a calibration tolerates: distortions up to a level."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import INSTALL_DATA, Later

_distortions: Any = Later("embodied_iqa.imaging.distortions", INSTALL_DATA)
_FORM: Final = re.compile(r"(.+):([1-5])")
_A_FRAME: Final = 2
"""Images with a disturbance from each clean one."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A distortion at a level that shall pass the gate.

    Attributes:
        distortion_id: Two digits.
        level: 1 to 5.
    """

    distortion_id: str
    level: int

    @classmethod
    def parse(cls, text: str) -> tuple[Self, ...]:
        """Return what a text such as "01,02,jpeg:2" names: distortions at all levels up to this one.

        Raises:
            UsageError: Wrong form, or an unknown distortion.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError("wrong tolerance", expected="TYPES:LEVEL, such as 01,02:2", got=text)
        levels = range(1, int(match[2]) + 1)
        return tuple(
            cls(_distortions.entry(name).id, level) for name in match[1].split(",") for level in levels
        )

    @property
    def name(self) -> str:
        """In a calibration, such as "01 gaussian-blur level 2"."""
        return f"{self.distortion_id} {_distortions.entry(self.distortion_id).name} level {self.level}"


def disturbed(
    rgb: NDArray[np.uint8], index: int, tolerances: tuple[Tolerance, ...]
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Yield a few images with tolerated disturbances, in turn, with their names.

    Args:
        rgb: ``(H, W, 3)`` uint8, a clean image.
        index: Its number; disturbances come in turn, and noise has this seed.
        tolerances: All of them.
    """
    for number in range(_A_FRAME * index, _A_FRAME * (index + 1)) if tolerances else ():
        one = tolerances[number % len(tolerances)]
        yield one.name, disturbed_by(rgb, index, one)


def disturbed_by(rgb: NDArray[np.uint8], index: int, tolerance: Tolerance) -> NDArray[np.uint8]:
    """Return an image with one disturbance; for the arguments see `disturbed`."""
    random = np.random.default_rng(index)
    return np.asarray(_distortions.distort(rgb, tolerance.distortion_id, tolerance.level, random), np.uint8)
