"""Positions and turns of the objects of a scene: apart, within reach, and with room for the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from typing import Final

import numpy as np

from embodied_iqa.world.manipulation.shapes import shape_of
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Kind, Verb

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

_ATTEMPTS: Final = 40

_YAW_RAD: Final[dict[Kind, float]] = {
    Kind.CUBE: np.pi / 4,
    Kind.BUTTON: np.pi / 4,
    Kind.POT: np.pi / 4,
    Kind.SOCKET: np.pi / 12,
    Kind.MAT: np.pi / 4,
    Kind.KNOB: 0.15,
}
"""The maximum yaw of each kind; others look the same at any yaw, or face the robot."""

_Circle = tuple[float, float, float]


def draw_places(
    rng: np.random.Generator, things: Sequence[Thing], instruction: Instruction | None
) -> list[tuple[float, float]] | None:
    """Draw positions at a distance from each other; None if, after many attempts, there is no room."""
    for _ in range(_ATTEMPTS):
        places: list[tuple[float, float]] = []
        for index, thing in enumerate(things):
            place = _place(rng, thing, _range_x(index, thing.kind, instruction), (things, places))
            if place is None:
                break
            places.append(place)
        if len(places) == len(things):
            return places
    return None


def has_room(
    thing: Thing, place: tuple[float, float], standing: Iterable[tuple[Thing, tuple[float, float]]]
) -> bool:
    """Return whether a thing at a place (base frame, m) keeps its distance from others that stand there."""
    radius_m = shape_of(thing.kind, thing.size).radius_m
    for other, at in standing:
        distance_m = hypot(place[0] - at[0], place[1] - at[1])
        if distance_m < MIN_DISTANCE_M:
            return False
        if distance_m < radius_m + shape_of(other.kind, other.size).radius_m + GAP_M:
            return False
        if Kind.DRAWER in (thing.kind, other.kind) and not _apart(_room(thing, place), _room(other, at)):
            return False
    return True


def _apart(room: list[_Circle], other: list[_Circle]) -> bool:
    return all(hypot(x - u, y - v) >= one + two + GAP_M for x, y, one in room for u, v, two in other)


def _range_x(index: int, kind: Kind, instruction: Instruction | None) -> tuple[float, float]:
    if kind is Kind.DRAWER:
        return _DRAWER_X_M
    poured_into = instruction is not None and instruction.verb is Verb.POUR and index == 1
    return _POURED_INTO_X_M if poured_into else OBJECTS_X_M


def _place(
    rng: np.random.Generator,
    thing: Thing,
    range_x_m: tuple[float, float],
    standing: tuple[Sequence[Thing], list[tuple[float, float]]],
) -> tuple[float, float] | None:
    for _ in range(50):
        x, y = float(rng.uniform(*range_x_m)), float(rng.uniform(*OBJECTS_Y_M))
        if has_room(thing, (x, y), zip(*standing, strict=False)):
            return x, y
    return None


def _room(thing: Thing, place: tuple[float, float]) -> list[_Circle]:
    """Return the circles (x, y, radius) that an object occupies."""
    x, y = place
    room = [(x, y, shape_of(thing.kind, thing.size).radius_m)]
    return [*room, (x + _DRAWER_AHEAD_M, y, _DRAWER_ROOM_M)] if thing.kind is Kind.DRAWER else room


def draw_yaw(rng: np.random.Generator, kind: Kind) -> float:
    """Draw the turn of an object of this kind about the vertical (rad)."""
    part = float(rng.uniform(-np.pi / 4, np.pi / 4)) / (np.pi / 4)
    return part * _YAW_RAD.get(kind, 0.0)
