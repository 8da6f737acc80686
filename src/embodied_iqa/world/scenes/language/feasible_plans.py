"""Feasible plans in a scene: single steps, and pairs whose first step does not prevent the second."""

from __future__ import annotations

from collections import Counter
from typing import Final

from embodied_iqa.world.manipulation.planner import PUSH_DIRECTION
from embodied_iqa.world.scenes.scene import Scene, SceneObject, find_destination, find_object, tasks_of
from embodied_iqa.world.scenes.scene_graph import SceneGraph
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Verb

_POURED_INTO_X_M: Final = -0.50
"""A pouring destination is at least this far from the robot: the tilted gripper is in front of it."""
_PUSHED_WAY_M: Final = 0.15
_FINGER_M: Final = 0.02
_CARRIES: Final = (Verb.PLACE, Verb.MOVE)


def feasible_steps(scene: Scene, graph: SceneGraph) -> tuple[Instruction, ...]:
    """Return the tasks the scene affords with visible objects that colour and kind identify."""
    counts = Counter(scene.names)
    clear = {node.thing for node in graph.nodes if node.shown and counts[node.thing] == 1}
    return tuple(task for task in tasks_of(scene) if _things(task) <= clear and _within_reach(scene, task))


def two_steps(scene: Scene, possible: tuple[Instruction, ...]) -> list[tuple[Instruction, Instruction]]:
    """Return the plans of two steps.

    Either an object is picked and then brought somewhere, or the tasks share no object, the first leaves the
    gripper empty, and an object that it pushes does not hit the objects of the second.
    """
    pairs = []
    for first in possible:
        for second in possible:
            if first.verb is Verb.PICK:
                if second.object == first.object and second.verb in _CARRIES:
                    pairs.append((first, second))
            elif not _things(first) & _things(second) and _leaves_alone(scene, first, second):
                pairs.append((first, second))
    return pairs


def _within_reach(scene: Scene, task: Instruction) -> bool:
    goal = find_destination(scene, task)
    return task.verb is not Verb.POUR or goal is None or scene.objects[goal].x_m <= _POURED_INTO_X_M


def _things(task: Instruction) -> set[Thing]:
    return {task.object} if task.destination is None else {task.object, task.destination}


def _leaves_alone(scene: Scene, first: Instruction, second: Instruction) -> bool:
    """Return whether a push of the first step misses the objects of the second."""
    if first.verb is not Verb.PUSH:
        return True
    pushed = scene.objects[find_object(scene, first)]
    goal = find_destination(scene, second)
    needed = [scene.objects[find_object(scene, second)], *([] if goal is None else [scene.objects[goal]])]
    return all(_misses(pushed, other) for other in needed)


def _misses(pushed: SceneObject, other: SceneObject) -> bool:
    x, y = PUSH_DIRECTION
    ahead_m = (other.x_m - pushed.x_m) * x + (other.y_m - pushed.y_m) * y
    aside_m = abs((other.y_m - pushed.y_m) * x - (other.x_m - pushed.x_m) * y)
    room_m = pushed.shape.radius_m + other.shape.radius_m + _FINGER_M
    return not -room_m < ahead_m < _PUSHED_WAY_M + room_m or aside_m >= room_m
