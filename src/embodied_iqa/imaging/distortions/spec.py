"""Specification of a distortion: type, level, seed, schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions.time_course import canonical_schedule, parse_time_course

LEVELS = (1, 2, 3, 4, 5)
_ALL: Final = "all"


def is_whole(value: object) -> bool:
    """Return whether it is an integer: another number gives other noise, and 1.0 other noise than 1."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def parse_levels(text: str) -> tuple[int, ...]:
    """Return the levels of ``3``, ``1,3,5``, ``1-5`` or ``all``.

    Raises:
        UsageError: The text has another form, or names a level twice or none.
    """
    levels: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        bounds = (first, last) if dash else (first, first)
        if word.strip() == _ALL:
            levels += LEVELS
        elif all(bound.isdecimal() and int(bound) in LEVELS for bound in bounds) and first <= bounds[1]:
            levels += range(int(bounds[0]), int(bounds[1]) + 1)
        else:
            expected = f"{LEVELS[0]} to {LEVELS[-1]}, such as 3, 1,3,5 or 1-5, or {_ALL}"
            raise UsageError("unknown levels", expected=expected, got=text)
    twice = next((level for level in levels if levels.count(level) > 1), None)
    if twice is not None:
        raise UsageError("duplicate level", got=twice)
    return tuple(levels)


@dataclass(frozen=True, slots=True)
class DistortionSpec:
    """Distortion of a run.

    Attributes:
        id: Two digits, ``"01"`` to ``"30"``.
        level: 1 (mild) to 5 (severe); the highest one of a schedule.
        seed: Seed of all randomness, 0 to 2**63 - 1.
        frozen: Whether every frame gets the same noise pattern.
        schedule: Level over time, as `time_course.parse_time_course` reads it, and the camera where it is not
            every one; empty for a constant level of every camera.
    """

    id: str
    level: int
    seed: int = 0
    frozen: bool = False
    schedule: str = ""

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError("unknown distortion level", got=self.level, available=LEVELS)
        if not (is_whole(self.seed) and 0 <= self.seed < 2**63):
            raise UsageError("seed out of range", expected="a whole number, 0 to 2**63 - 1", got=self.seed)
        object.__setattr__(self, "schedule", canonical_schedule(self.schedule))

    def check_view(self, views: Sequence[str]) -> None:
        """Refuse a schedule of a view that has no images: nothing would be distorted.

        Args:
            views: Of the cameras.

        Raises:
            UsageError: The view of the schedule is not among them.
        """
        view = parse_time_course(self.schedule).view if self.schedule else ""
        if view and view not in views:
            raise UsageError("the view of the schedule has no images", got=view, available=views)

    def level_at(self, elapsed_ns: int, view: str = "") -> int:
        """Return the level in force, 0 to `level`.

        Args:
            elapsed_ns: Time since the distortion began.
            view: The camera; empty for those that are distorted at all.
        """
        if not self.schedule:
            return self.level
        course = parse_time_course(self.schedule)
        if view and course.view not in {"", view}:
            return 0
        return course.level_at(elapsed_ns, self.level)
