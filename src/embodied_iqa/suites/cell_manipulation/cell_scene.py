"""The scene of an episode: what stands on the table, and for wiping two soiled areas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal
from embodied_iqa.world.scenes.places import OBJECTS_X_M, OBJECTS_Y_M
from embodied_iqa.world.scenes.scene import Scene, make_scene
from embodied_iqa.world.tasks.instruction import parse_instruction

Array = NDArray[np.float64]

SPOTS: Final = 50
"""Spots of dirt in an area."""
SPOT_RADIUS_M: Final = 0.004
AREA_LENGTH_M: Final = 0.18
AREA_WIDTH_M: Final = 0.05
_AROUND_AREA_M: Final = 0.035
"""Free space between an area and an object: half the sponge and a finger pass."""
_BETWEEN_AREAS_M: Final = 0.04
_MOST_BESIDE_AREAS: Final = 4
"""Objects on a table with areas, the sponge included."""
_ATTEMPTS: Final = 200

_SENTENCE: Final = {
    CellTask.PLACE: "place the {target} in the {destination}",
    CellTask.STACK: "pick the {target}",
    CellTask.INSERT: "insert the {target} in the {destination}",
    CellTask.WIPE: "pick the {target}",
}
"""Task for which `make_scene` draws the objects."""

HORIZONTAL: Final = "horizontal area"
VERTICAL: Final = "vertical area"


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """A soiled strip of the table.

    Attributes:
        name: `HORIZONTAL` (along the robot's left and right) or `VERTICAL` (away from the robot).
        centre_m: Its centre in the base frame, x and y.
        half_m: Half its size along the base's x and y.
        spots_m: ``(SPOTS, 2)``, its spots of dirt in the base frame, x and y.
    """

    name: str
    centre_m: tuple[float, float]
    half_m: tuple[float, float]
    spots_m: Array


@dataclass(frozen=True, slots=True, eq=False)
class CellScene:
    """What is on the table.

    Attributes:
        scene: The objects, lamps and materials.
        areas: The soiled areas; empty except for wiping.
    """

    scene: Scene
    areas: tuple[Area, ...] = ()

    def index_of(self, name: str) -> int:
        """Return the index of the object with a name: its colour and kind.

        Raises:
            UsageError: None or several have this name.
        """
        names = [f"{item.colour} {item.kind}" for item in self.scene.objects]
        if names.count(name) != 1:
            raise UsageError("a name fits none or several objects", got=name, available=names)
        return names.index(name)

    def area_of(self, name: str) -> Area:
        """Return the area with a name.

        Raises:
            UsageError: The scene has no such area.
        """
        for area in self.areas:
            if area.name == name:
                return area
        raise UsageError("the scene has no such area", got=name, available=[area.name for area in self.areas])


def build_cell_scene(goals: tuple[Goal, ...], seed: int) -> CellScene:
    """Return the scene of some goals: the same arguments give the same scene on every machine.

    Args:
        goals: The first one's objects come first in the scene.
        seed: Any integer from 0.

    Raises:
        UsageError: The scene of this seed lacks an object of the goals, or has no room for the areas.
    """
    first = goals[0]
    sentence = _SENTENCE[first.task].format(target=first.target, destination=first.destination)
    scene = make_scene(seed, parse_instruction(sentence))
    cell = _with_areas(scene, seed) if any(goal.task is CellTask.WIPE for goal in goals) else CellScene(scene)
    for goal in goals:
        cell.index_of(goal.target)
        if goal.task is CellTask.WIPE:
            cell.area_of(goal.destination)
        else:
            cell.index_of(goal.destination)
    return cell


def _with_areas(scene: Scene, seed: int) -> CellScene:
    """Put two areas on the table, and leave out the objects for which there is no room."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0xA7EA]))
    few = replace(scene, objects=scene.objects[:_MOST_BESIDE_AREAS], clutter=())
    areas: list[Area] = []
    for name, half in (
        (HORIZONTAL, (AREA_WIDTH_M, AREA_LENGTH_M)),
        (VERTICAL, (AREA_LENGTH_M, AREA_WIDTH_M)),
    ):
        half_m = half[0] / 2, half[1] / 2
        for _ in range(_ATTEMPTS):
            x = float(rng.uniform(OBJECTS_X_M[0] + half_m[0], OBJECTS_X_M[1] - half_m[0]))
            y = float(rng.uniform(OBJECTS_Y_M[0] + half_m[1], OBJECTS_Y_M[1] - half_m[1]))
            spots_m = np.array([x, y]) + rng.uniform(-1.0, 1.0, (SPOTS, 2)) * half_m
            area = Area(name, (x, y), half_m, spots_m)
            if _has_room(area, few, areas):
                areas.append(area)
                break
        else:
            raise UsageError("the scene has no room for the areas", got=f"seed {seed}")
    return CellScene(few, tuple(areas))


def _has_room(area: Area, scene: Scene, areas: list[Area]) -> bool:
    """Return whether an area is clear of the objects and of the other areas."""
    for item in scene.objects:
        beside = np.maximum(np.abs(np.array([item.x_m, item.y_m]) - area.centre_m) - area.half_m, 0.0)
        if np.hypot(*beside) < item.shape.radius_m + _AROUND_AREA_M:
            return False
    return all(
        (np.abs(np.subtract(area.centre_m, other.centre_m)) - np.add(area.half_m, other.half_m)).max()
        >= _BETWEEN_AREAS_M
        for other in areas
    )
