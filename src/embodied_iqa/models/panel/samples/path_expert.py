"""The expert of policies that look while they act: from any state to the waypoint that comes next.

It plans as the scripted expert does, from where the objects are now, and finds the part of the plan on which
the tool is. Where two parts look alike it takes other plans, in which the state tells them apart: the tool
turns while it leaves a pressed button and before it sets something down, and the fingers open evenly while
they push.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.subjects.backends.panel.stepping import tool_fields
from embodied_iqa.world.manipulation.planner import closing
from embodied_iqa.world.manipulation.waypoints import Waypoint, waypoint_pose, waypoints_to_array
from embodied_iqa.world.scenes.scene import Scene, find_destination, find_object
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, gripper_of, object_position_m
from embodied_iqa.world.simulation.expert import expert_waypoints
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import DESTINATIONS_OF_VERB, Verb

Array = NDArray[np.float64]

_STRAIGHT: Final = waypoint_pose(Waypoint(0.0, 0.0, 0.0))
"""Of the ways to grip a cube, that is taken which turns a tool at home least, whatever the state."""
_FETCHING: Final = frozenset(DESTINATIONS_OF_VERB) - {
    verb for verb, goals in DESTINATIONS_OF_VERB.items() if not goals
} | {Verb.PICK}
"""Verbs whose object goes with the tool."""
_SETTING_DOWN: Final = _FETCHING - {Verb.PICK, Verb.POUR}
_DEEPER_M: Final = 0.002
"""A button is pressed so much deeper than needed: it is left before its way down is at its end."""
_LEAVING_TURN_RAD: Final = 0.5
_LEAVING_GRIPPER: Final = 0.7
_CARRYING_TURN_RAD: Final = 1.3
"""Farther than any grip turns the tool: what is lowered or released is not what is lifted or approached."""
_MOST_GRIP_RAD: Final = np.pi / 4 + 0.3
_PUSHED_GAP: Final = 0.8
"""Gap between the fingers at the end of a push, as a part of the object's width."""
CLEARLY: Final = (0.02, 0.02, 0.02, 0.15, 0.15, 0.06)
"""States that differ by so much (m, rad, part of the stroke) are clearly different."""
_SCALE: Final = np.array(CLEARLY)
_FAR: Final = 1.2
_BESIDE_M: Final = 0.012
"""A tool that is so far beside a way down goes up again first."""
_THERE: Final = np.array([0.005, 0.005, 0.003, 0.05, 0.08, 0.045])
"""Nearer than this a waypoint is reached."""
_HELD_M: Final = 0.03
_HELD_GRIPPER: Final = 0.04
_AT_GOAL_M: Final = 0.022
_GRIP: Final = 2
"""Index of the waypoint at which the fingers close, in every plan with a grip."""
_CARRIED: Final = 4
"""Index of the waypoint to which a held object is carried."""
_VERBS_THAT_GRIP: Final = _FETCHING | {Verb.PULL, Verb.TWIST}


@dataclass(frozen=True, slots=True, eq=False)
class RestOfPath:
    """What the expert would do from a state on.

    Attributes:
        plan: ``(K, 6)`` waypoints of the whole task.
        following: Index of the waypoint that comes next; ``K`` where nothing is left to do.
    """

    plan: Array
    following: int


def rest_of_path(
    scene: Scene, task: Instruction, start: WorldSnapshot, now: WorldSnapshot, T_base_tool: Array
) -> RestOfPath:
    """Plan a task from a state in the middle of it.

    Args:
        scene: What is on the table.
        task: The task.
        start: The state before the task.
        now: The present state.
        T_base_tool: ``(4, 4)``, the tool's pose in it.

    Raises:
        UsageError: The scene has no such object.
    """
    verb, width_m = task.verb, scene.objects[find_object(scene, task)].shape.width_m
    shown = now if verb in _FETCHING else start
    plan = waypoints_to_array(_told_apart(verb, width_m, expert_waypoints(scene, shown, task, _STRAIGHT)))
    state = tool_fields(T_base_tool, gripper_of(now))
    measured, holds = plan.copy(), False  # fingers that hold something stop at its width
    if verb in _VERBS_THAT_GRIP:
        measured[:, 5] = np.where(plan[:, 5] == 1.0, closing(width_m), plan[:, 5])
        holds = _holds(scene, task, now, state, width_m)
        state[5] = min(state[5], closing(width_m)) if holds else state[5]
    possible = _possible(scene, task, now, len(plan), holds=holds)
    if verb in _FETCHING and min(possible) > _GRIP:  # what is held turns with the tool
        if holds and verb in _SETTING_DOWN:
            gripped_rad = expert_waypoints(scene, start, task, _STRAIGHT)[0].yaw_rad
            plan[:_CARRIED, 3] = measured[:_CARRIED, 3] = _grip_nearest(gripped_rad, state[3])
        else:
            plan[:, 3] = measured[:, 3] = state[3]
    following = _following(measured, state, possible)
    return RestOfPath(plan, following)


def _told_apart(verb: Verb, width_m: float, plan: tuple[Waypoint, ...]) -> tuple[Waypoint, ...]:
    match verb:
        case Verb.PRESS:
            pressed = replace(plan[1], z_m=plan[1].z_m - _DEEPER_M)
            return plan[0], pressed, replace(plan[2], yaw_rad=_LEAVING_TURN_RAD, gripper=_LEAVING_GRIPPER)
        case Verb.PUSH:
            pushed = replace(plan[2], gripper=closing(_PUSHED_GAP * width_m))
            return (*plan[:2], pushed, *plan[3:])
        case _ if verb in _SETTING_DOWN:
            carried = (replace(one, yaw_rad=_CARRYING_TURN_RAD) for one in plan[_CARRIED:])
            return (*plan[:_CARRIED], *carried)
    return plan


def _grip_nearest(yaw_rad: float, now_rad: float) -> float:
    """Return the turn of a grip along an object's sides that is nearest to the present one."""
    turns = [yaw_rad, yaw_rad - np.copysign(np.pi / 2, yaw_rad)]
    possible = [turn for turn in turns if abs(turn) < _MOST_GRIP_RAD]
    return min(possible, key=lambda turn: abs(turn - now_rad), default=yaw_rad)


def _holds(scene: Scene, task: Instruction, now: WorldSnapshot, state: Array, width_m: float) -> bool:
    """Return whether the fingers hold the object: they are at its width, and it is between them."""
    if state[5] < closing(width_m) - _HELD_GRIPPER:
        return False
    if task.verb not in _FETCHING:
        return True
    away_m = object_position_m(scene, now, find_object(scene, task)) - state[:3]
    return bool(np.hypot(*away_m[:2]) < _HELD_M and abs(away_m[2]) < 2 * _HELD_M)


def _possible(scene: Scene, task: Instruction, now: WorldSnapshot, count: int, *, holds: bool) -> range:
    """Return which of ``count`` waypoints may come next, by what is held and what lies where."""
    if task.verb not in _FETCHING:
        return range(count)
    if holds:
        return range(_GRIP + 1, count - (task.verb in _SETTING_DOWN))
    goal = find_destination(scene, task)
    if task.verb in _SETTING_DOWN and goal is not None:
        off_m = object_position_m(scene, now, find_object(scene, task)) - object_position_m(scene, now, goal)
        if np.hypot(*off_m[:2]) < _AT_GOAL_M:
            return range(count - 2, count)
    return range(_GRIP + 1)


def _following(plan: Array, state: Array, possible: range) -> int:
    """Return the waypoint that comes next: the end of the part of the plan on which the state is."""
    distances = {index: _distance(plan, state, index) for index in possible if index}
    if possible[0] == 0 and min(distances.values()) > _FAR:
        return 0
    least = min(distances.values())
    best = max(index for index, distance in distances.items() if distance < least + 0.15)
    stands = np.abs(plan[best] - plan[best - 1])[:5].max() < 1e-6  # only the fingers move there
    if stands and best - 1 in possible and (np.abs(state - plan[best]) > 2 * _THERE)[:5].any():
        best -= 1
    goes_down = (
        plan[best, 2] < plan[best - 1, 2] - 0.01 and np.hypot(*(plan[best] - plan[best - 1])[:2]) < 1e-3
    )
    if goes_down and np.hypot(*(state - plan[best])[:2]) > _BESIDE_M:
        return best - 1
    while best < len(plan) and best in possible and (np.abs(state - plan[best]) < _THERE).all():
        best += 1
    return best


def _distance(plan: Array, state: Array, index: int) -> float:
    """Return how far a state is from the way to a waypoint, in units of clear differences."""
    begin, way = plan[index - 1] / _SCALE, (plan[index] - plan[index - 1]) / _SCALE
    length = float(way @ way)
    share = 0.0 if length == 0.0 else float(np.clip((state / _SCALE - begin) @ way / length, 0.0, 1.0))
    return float(np.linalg.norm(state / _SCALE - begin - share * way))
