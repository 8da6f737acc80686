"""Positions of the objects of a scene: apart, within reach, and with room for the task."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.manipulation.shapes import SHAPES
from embodied_iqa.tasks.instruction import Instruction
from embodied_iqa.tasks.vocabulary import Kind, Verb

OBJECTS_X_M: Final = (-0.68, -0.36)
OBJECTS_Y_M: Final = (-0.26, 0.26)
GAP_M: Final = 0.045
"""Free space between two objects: a finger fits."""
MIN_DISTANCE_M: Final = 0.115

_DRAWER_X_M: Final = (-0.68, -0.60)
"""A drawer is far from the robot: it opens by more than its handle."""
_POURED_INTO_X_M: Final = (-0.68, -0.50)
"""A pouring destination is far from the robot: the tilted gripper is in front of it."""
_DRAWER_AHEAD_M: Final = 0.13
_DRAWER_ROOM_M: Final = 0.075
"""Centre and radius of the space in which the drawer opens."""

_Circle = tuple[float, float, float]


def draw_places(
    rng: np.random.Generator, kinds: list[Kind], instruction: Instruction | None
) -> list[tuple[float, float]]:
    """Draw positions at a distance from each other; start over if no free position is left."""
    while True:
        places: list[tuple[float, float]] = []
        for index, kind in enumerate(kinds):
            place = _place(rng, kind, _range_x(index, kind, instruction), (kinds, places))
            if place is None:
                break
            places.append(place)
        if len(places) == len(kinds):
            return places


def _range_x(index: int, kind: Kind, instruction: Instruction | None) -> tuple[float, float]:
    if kind is Kind.DRAWER:
        return _DRAWER_X_M
    poured_into = instruction is not None and instruction.verb is Verb.POUR and index == 1
    return _POURED_INTO_X_M if poured_into else OBJECTS_X_M


def _place(
    rng: np.random.Generator,
    kind: Kind,
    range_x_m: tuple[float, float],
    standing: tuple[list[Kind], list[tuple[float, float]]],
) -> tuple[float, float] | None:
    for _ in range(50):
        x, y = float(rng.uniform(*range_x_m)), float(rng.uniform(*OBJECTS_Y_M))
        if all(_apart(kind, (x, y), other, place) for other, place in zip(*standing, strict=False)):
            return x, y
    return None


def _apart(kind: Kind, place: tuple[float, float], other: Kind, at: tuple[float, float]) -> bool:
    if np.hypot(place[0] - at[0], place[1] - at[1]) < MIN_DISTANCE_M:
        return False
    return all(
        np.hypot(x - other_x, y - other_y) >= radius + other_radius + GAP_M
        for x, y, radius in _room(kind, place)
        for other_x, other_y, other_radius in _room(other, at)
    )


def _room(kind: Kind, place: tuple[float, float]) -> list[_Circle]:
    """Return the circles (x, y, radius) that an object occupies."""
    x, y = place
    room = [(x, y, SHAPES[kind].radius_m)]
    return [*room, (x + _DRAWER_AHEAD_M, y, _DRAWER_ROOM_M)] if kind is Kind.DRAWER else room
