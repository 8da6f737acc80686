"""Plans of the expert on the grid: waypoints from the true state, each put into its nearest bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.cell_scene import Area, CellScene
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal
from embodied_iqa.world.manipulation.planner import ObjectPose, plan_waypoints
from embodied_iqa.world.manipulation.waypoints import Waypoint, tool_yaw_rad, waypoint_pose
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m, object_yaw_rad
from embodied_iqa.world.simulation.rollout import KINEMATICS
from embodied_iqa.world.tasks.vocabulary import Verb

Array = NDArray[np.float64]

_VERBS: Final = {
    CellTask.PLACE: Verb.PLACE,
    CellTask.INSERT: Verb.INSERT,
    CellTask.STACK: Verb.MOVE,  # onto an object instead of a mat
}
_SWEEP_ABOVE_M: Final = 0.10
_SETTLED_M: Final = 0.005
"""An object whose foot is lower stands on the table."""
_FETCHED: Final = 4
"""Waypoints until an object is lifted."""


@dataclass(frozen=True, slots=True)
class ExpertStep:
    """An action of the expert.

    Attributes:
        action: The action.
        about: Name of the object or area that its place is derived from.
    """

    action: GridAction
    about: str


def expert_steps(cell: CellScene, now: WorldSnapshot, goals: Sequence[Goal]) -> tuple[ExpertStep, ...]:
    """Plan goals one after the other from the true state.

    Args:
        cell: What is on the table.
        now: The present state.
        goals: The goals; a later one may build on what an earlier one stacks.

    Raises:
        UsageError: An object is outside of the grid.
    """
    yaw_rad = tool_yaw_rad(KINEMATICS.forward(now.qpos[:6]))
    centres_m = {
        f"{item.colour} {item.kind}": object_position_m(cell.scene, now, index)
        for index, item in enumerate(cell.scene.objects)
    }
    steps: list[ExpertStep] = []
    for goal in goals:
        target = _pose(cell, now, goal.target, centres_m)
        if goal.task is CellTask.WIPE:
            fetch = plan_waypoints(Verb.PICK, target, None, yaw_rad)[:_FETCHED]
            sweep = tuple(_sweep(cell.area_of(goal.destination), fetch[1]))
            steps += _on_grid((*fetch, *sweep), goal)
            continue
        destination = _pose(cell, now, goal.destination, centres_m)
        plan = plan_waypoints(_VERBS[goal.task], target, destination, yaw_rad)
        if goal.task is CellTask.STACK:
            under_m = centres_m[goal.destination]
            foot_m = float(under_m[2]) - destination.shape.height_m / 2
            foot_m = foot_m if foot_m > _SETTLED_M else 0.0
            plan = (*plan[:_FETCHED], *(replace(point, z_m=point.z_m + foot_m) for point in plan[_FETCHED:]))
            seat_m = (target.shape.height_m + destination.shape.height_m) / 2
            centres_m[goal.target] = under_m + np.array([0.0, 0.0, seat_m])
        steps += _on_grid(plan, goal)
    return tuple(steps)


def _sweep(area: Area, gripped: Waypoint) -> Iterator[Waypoint]:
    """Yield a pass along the middle of an area, the sponge's sides along the area's; it stays at the end."""
    low_m = gripped.z_m
    (x, y), (half_x, half_y) = area.centre_m, area.half_m
    along_x, along_y = (half_x, 0.0) if half_x > half_y else (0.0, half_y)
    start, end = (x - along_x, y - along_y), (x + along_x, y + along_y)
    yield Waypoint(*start, low_m + _SWEEP_ABOVE_M, gripper=1.0)
    yield Waypoint(*start, low_m, gripper=1.0)
    yield Waypoint(*end, low_m, gripper=gripped.gripper)
    yield Waypoint(*end, low_m + _SWEEP_ABOVE_M, gripper=gripped.gripper)


def _on_grid(waypoints: tuple[Waypoint, ...], goal: Goal) -> Iterator[ExpertStep]:
    """Yield the actions of waypoints; the gripper moves at the end of the motion that precedes it."""
    poses = [waypoint_pose(waypoint) for waypoint in waypoints]
    last_at_place = [not np.allclose(pose, after) for pose, after in pairwise(poses)] + [True]
    for number, (pose, waypoint) in enumerate(zip(poses, waypoints, strict=True)):
        if last_at_place[number]:
            about = goal.target if number < _FETCHED else goal.destination
            yield ExpertStep(GridAction.from_pose(pose, waypoint.gripper), about)


def _pose(cell: CellScene, now: WorldSnapshot, name: str, centres_m: Mapping[str, Array]) -> ObjectPose:
    index = cell.index_of(name)
    x, y, _ = centres_m[name].tolist()
    item = cell.scene.objects[index]
    return ObjectPose(item.kind, x, y, object_yaw_rad(cell.scene, now, index), item.size)
