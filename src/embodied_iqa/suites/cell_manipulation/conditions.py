"""Conditions of the goals, judged in physics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.suites.cell_manipulation.actions import OPENING_M
from embodied_iqa.suites.cell_manipulation.cell_scene import CellScene
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, gripper_of, object_position_m, object_yaw_rad
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

Array = NDArray[np.float64]

MOST_SPOTS_LEFT: Final = 25
"""Spots of dirt that may be left, of 50."""
_STACKED_OFF: Final = 0.5
"""Largest distance of the centres of a stack, in widths of the lower object: beyond, the upper one tips."""
_STACKED_HEIGHT_M: Final = 0.005
_OPEN_M: Final = OPENING_M - 0.005
_TOUCHES_TABLE_M: Final = 0.006
_VERBS: Final = {CellTask.PLACE: Verb.PLACE, CellTask.INSERT: Verb.INSERT}


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What the conditions depend on.

    Attributes:
        cell: What is on the table.
        start: The state at the beginning of the episode.
        now: The present state.
        dirt: For each area, ``(SPOTS,)`` bool: the spots that are left.
    """

    cell: CellScene
    start: WorldSnapshot
    now: WorldSnapshot
    dirt: dict[str, NDArray[np.bool_]]


def goal_missing(goal: Goal, moment: Moment) -> str:
    """Return what a goal lacks, such as "cube 3.0 cm off the centre of the bowl"; empty if it is reached.

    - Place and insert: as `task_missing` has it for the verbs.
    - Stack: the upper object stands on the lower one, its centre within half of the lower one's width, and
      the gripper is open.
    - Wipe: at most 25 of the area's 50 spots are left.

    Args:
        goal: The goal.
        moment: The state.
    """
    if goal.task is CellTask.WIPE:
        left = int(moment.dirt[goal.destination].sum())
        return "" if left <= MOST_SPOTS_LEFT else f"{left} of 50 spots left, at most {MOST_SPOTS_LEFT}"
    target = moment.cell.index_of(goal.target)
    destination = moment.cell.index_of(goal.destination)
    if goal.task is CellTask.STACK:
        return "; ".join(_stack_missing(moment, target, destination))
    objects = moment.cell.scene.objects
    instruction = Instruction(_VERBS[goal.task], objects[target].thing, objects[destination].thing)
    return task_missing(moment.cell.scene, instruction, moment.start, moment.now)


def _stack_missing(moment: Moment, upper: int, lower: int) -> Iterator[str]:
    scene, now = moment.cell.scene, moment.now
    above, below = scene.objects[upper], scene.objects[lower]
    top_m, base_m = object_position_m(scene, now, upper), object_position_m(scene, now, lower)
    off_m = float(np.hypot(*(top_m - base_m)[:2]))
    most_m = _STACKED_OFF * below.shape.width_m
    if off_m > most_m:
        yield f"{above.kind} {100 * off_m:.1f} cm off the {below.kind}'s centre, at most {100 * most_m:.1f}"
    seat_m = (above.shape.height_m + below.shape.height_m) / 2
    high_m = float(top_m[2] - base_m[2]) - seat_m
    if abs(high_m) > _STACKED_HEIGHT_M:
        yield f"{above.kind} {100 * high_m:.1f} cm above its seat, at most 0.5"
    if (1.0 - gripper_of(now)) * STROKE_M < _OPEN_M:
        yield "gripper not open"


def wiped(cell: CellScene, now: WorldSnapshot, sponge: int, spots_m: Array) -> NDArray[np.bool_]:
    """Return which spots ``(n, 2)`` (m) are under an object that touches the table."""
    item = cell.scene.objects[sponge]
    centre_m = object_position_m(cell.scene, now, sponge)
    if centre_m[2] > item.shape.height_m / 2 + _TOUCHES_TABLE_M:
        return np.zeros(len(spots_m), dtype=bool)
    yaw_rad = object_yaw_rad(cell.scene, now, sponge)
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    turned = (spots_m - centre_m[:2]) @ np.array([[cosine, -sine], [sine, cosine]])
    return np.asarray(np.abs(turned).max(axis=1) <= item.shape.width_m / 2)
