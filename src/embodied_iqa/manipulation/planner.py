"""From where objects are to a chunk of increments that does one of the ten verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.manipulation.plan_carry import plan_cover, plan_insert, plan_move, plan_place, plan_pour
from embodied_iqa.manipulation.plan_in_place import (
    PUSH_DIRECTION,
    plan_pick,
    plan_press,
    plan_pull,
    plan_push,
    plan_twist,
    pushed_ahead_m,
)
from embodied_iqa.manipulation.plan_parts import ObjectPose, closing
from embodied_iqa.manipulation.waypoints import Waypoint, chunk_through, tool_yaw_rad
from embodied_iqa.tasks.instruction import DESTINATIONS_OF_VERB, Verb

__all__ = [
    "PUSH_DIRECTION",
    "ObjectPose",
    "closing",
    "plan_chunk",
    "plan_waypoints",
    "pushed_ahead_m",
]

Array = NDArray[np.float64]

_IN_PLACE: Final[dict[Verb, Callable[[ObjectPose, float], tuple[Waypoint, ...]]]] = {
    Verb.PICK: plan_pick,
    Verb.PRESS: plan_press,
    Verb.PULL: plan_pull,
    Verb.PUSH: plan_push,
    Verb.TWIST: plan_twist,
}
_CARRY: Final[dict[Verb, Callable[[ObjectPose, ObjectPose, float], tuple[Waypoint, ...]]]] = {
    Verb.COVER: plan_cover,
    Verb.INSERT: plan_insert,
    Verb.MOVE: plan_move,
    Verb.PLACE: plan_place,
    Verb.POUR: plan_pour,
}


def plan_waypoints(
    verb: Verb, target: ObjectPose, destination: ObjectPose | None = None, now_rad: float = 0.0
) -> tuple[Waypoint, ...]:
    """Plan the whole task, straight from waypoint to waypoint.

    Every waypoint's place is an affine function of the places of target and destination; yaw depends on the
    target's yaw only, tilt and gripper are constants of verb and kind. A verb has always as many waypoints.

    Args:
        verb: What to do.
        target: What is handled.
        destination: Where it goes, for the verbs that have one.
        now_rad: The tool's present turn about the vertical; of the ways to hold a cube the nearest is taken.

    Raises:
        UsageError: The verb needs a destination, or has none.
    """
    if (destination is not None) != bool(DESTINATIONS_OF_VERB[verb]):
        wanted = "where the object goes" if DESTINATIONS_OF_VERB[verb] else "no destination"
        raise UsageError(f"wrong plan for {verb}", expected=wanted, got=destination)
    if destination is None:
        return _IN_PLACE[verb](target, now_rad)
    return _CARRY[verb](target, destination, now_rad)


def plan_chunk(
    verb: Verb, target: ObjectPose, T_base_tool: Array, destination: ObjectPose | None = None
) -> Array:
    """Plan the whole task as one chunk.

    Args:
        verb: What to do.
        target: What is handled.
        T_base_tool: ``(4, 4)``, where the tool is; the chunk begins here.
        destination: Where it goes, for the verbs that have one.

    Returns:
        ``(K, 7)`` increments as in `ActionChunk`.

    Raises:
        UsageError: The verb needs a destination, or has none.
    """
    return chunk_through(plan_waypoints(verb, target, destination, tool_yaw_rad(T_base_tool)), T_base_tool)
