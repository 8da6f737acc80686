"""Macro planning: the right order of sub-tasks against plans with steps swapped, left out, or on others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.making.arrangements import (
    FIXED,
    rearranged,
    scattered,
    with_clutter,
)
from embodied_iqa.suites.static_benchmark.making.draft import NoItemError, draw_from
from embodied_iqa.world.scenes.scene import Scene, SceneObject
from embodied_iqa.world.scenes.scene_graph import Extreme, SceneGraph
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import CATEGORY_OF_KIND, Category, Kind, Verb

JOINT: Final = "; then "
"""Between the steps of a plan."""
_ORDERS: Final = {
    Extreme.LEFTMOST: "From left to right",
    Extreme.RIGHTMOST: "From right to left",
    Extreme.NEAREST: "From near to far",
    Extreme.FARTHEST: "From far to near",
}
"""What comes first to the order of the steps."""
_BEYOND: Final = {
    Extreme.LEFTMOST: "further to the left than",
    Extreme.RIGHTMOST: "further to the right than",
    Extreme.NEAREST: "nearer to the viewer than",
    Extreme.FARTHEST: "farther from the viewer than",
}
"""Where the handled objects are."""
_GOALS: Final = {Kind.BOWL: Verb.PLACE, Kind.MAT: Verb.MOVE}
_GOAL_WORDS: Final = {Verb.PLACE: "place in", Verb.MOVE: "move to"}
_MOST_STEPS: Final = 3
_TRIES: Final = 8
MACRO_VERBS: Final = (Verb.PICK, Verb.PUSH, Verb.PRESS)
"""Tasks whose scenes have many toys."""

Plan = tuple[int, ...]
"""Indices of the handled objects, in order."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What is done with every toy on one side of an object.

    Attributes:
        verb: The same for all of them.
        anchor: Index of the object beside which they are.
        side: How they are placed, beside it.
        first: What comes first.
        goal: Index of the object to which they go, for verbs with a destination.
    """

    verb: Verb
    anchor: int
    side: Extreme
    first: Extreme
    goal: int | None

    def plan(self, graph: SceneGraph) -> Plan | None:
        """Return the toys in order; None where the image does not show clearly which, or it is too many."""
        toys = [node for node in graph.nodes if node.category is Category.TOY]
        anchor = graph.nodes[self.anchor]
        beyond = [graph.extreme(self.side, [node, anchor]) for node in toys]
        if None in beyond or not all(node.shown for node in graph.nodes):
            return None
        rest = [node for node in toys if node in beyond]
        if not 0 < len(rest) <= _MOST_STEPS:
            return None
        plan: list[int] = []
        while rest:
            first = graph.extreme(self.first, rest)
            if first is None:
                return None
            plan.append(first.index)
            rest.remove(first)
        return tuple(plan)

    def text(self, names: Sequence[Thing]) -> str:
        """Return the task in words that only the image gives a meaning."""
        what = "push" if self.goal is None else f"{_GOAL_WORDS[self.verb]} the {names[self.goal]}"
        where = f"{_BEYOND[self.side]} the {names[self.anchor]}"
        return f"{_ORDERS[self.first]}, {what} every toy that is {where}."


def draw_macro(rng: np.random.Generator, scene: Scene, view: View) -> tuple[str, tuple[str, ...], Scene]:
    """Return a question about the first frame, its options, the right one first, and the scene.

    Each of the four plans is right in a scene that differs only in where its objects stand. Beside one of
    them, the others have steps swapped, a step more or less, and another object.

    Raises:
        NoItemError: The scene has no such task, or the objects no such places.
    """
    task, placed, found = _begun(rng, _cast(rng, scene), view)
    offered = _offered(rng, task.plan(SceneGraph(placed, view)) or (), sorted(found))
    right = draw_from(rng, offered)
    order = (right, *(plan for plan in offered if plan != right))
    question = (
        f'The task of the robot is: "{task.text(placed.names)}" Toys are cubes, cylinders and balls; left, '
        "right, near and far are as this camera sees them. Which plan has every step, in order?"
    )
    return question, tuple(_text(task, plan, placed.names) for plan in order), with_clutter(rng, found[right])


def _cast(rng: np.random.Generator, scene: Scene) -> Scene:
    """Return the scene with some of its toys and of its other objects, each with a name of its own."""
    able = [item for item in scene.objects if item.kind not in FIXED]
    toys = [item for item in able if CATEGORY_OF_KIND[item.kind] is Category.TOY]
    others = [item for item in able if item not in toys]
    chosen = [item for group, fewest in ((toys, 3), (others, 2)) for item in _some(rng, group, fewest)]
    cast = replace(scene, objects=tuple(chosen))
    if len(set(cast.names)) < len(chosen):
        raise NoItemError
    return cast


def _some(rng: np.random.Generator, items: Sequence[SceneObject], fewest: int) -> list[SceneObject]:
    if len(items) < fewest:
        raise NoItemError
    count = min(len(items), fewest + int(rng.integers(2)))
    return [items[int(number)] for number in rng.permutation(len(items))[:count]]


def _begun(rng: np.random.Generator, cast: Scene, view: View) -> tuple[_Task, Scene, dict[Plan, Scene]]:
    """Draw a task and places until the task has several steps; return the plans of scenes like it, too."""
    for _ in range(_TRIES):
        task, placed = _drawn(rng, cast), scattered(rng, cast, view)
        if len(task.plan(SceneGraph(placed, view)) or ()) > 1:
            return task, placed, _plans(task, placed, view)
    raise NoItemError


def _drawn(rng: np.random.Generator, scene: Scene) -> _Task:
    """Draw a task that leaves one of the objects that are no toys alone."""
    others = [n for n, item in enumerate(scene.objects) if CATEGORY_OF_KIND[item.kind] is not Category.TOY]
    goals: list[int | None] = [index for index in others if scene.objects[index].kind in _GOALS]
    goal = draw_from(rng, [None, *goals])
    verb = Verb.PUSH if goal is None else _GOALS[scene.objects[goal].kind]
    anchors = [index for index in others if set(others) - {index, goal}]
    return _Task(
        verb, draw_from(rng, anchors), draw_from(rng, tuple(_BEYOND)), draw_from(rng, tuple(_ORDERS)), goal
    )


def _plans(task: _Task, scene: Scene, view: View) -> dict[Plan, Scene]:
    """Return the plans of the scene as it is and with any two objects at each other's places."""
    movable = [index for index in range(len(scene.objects)) if index not in {task.anchor, task.goal}]
    scenes = [scene, *(rearranged(scene, pair, (1, 0)) for pair in combinations(movable, 2))]
    found: dict[Plan, Scene] = {}
    for one in scenes:
        plan = None if one is None else task.plan(SceneGraph(one, view))
        if one is not None and plan is not None:
            found[plan] = one
    return found


def _text(task: _Task, plan: Plan, names: Sequence[Thing]) -> str:
    goal = None if task.goal is None else names[task.goal]
    return JOINT.join(str(Instruction(task.verb, names[index], goal)) for index in plan)


def _offered(rng: np.random.Generator, base: Plan, plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return a plan, and one each with its steps swapped, with a step more or less, and another object."""
    kinds: tuple[Iterable[Plan], ...] = (
        (plan for plan in plans if plan != base and set(plan) == set(base)),
        (plan for plan in plans if _is_part(plan, base) or _is_part(base, plan)),
        (plan for plan in plans if len(plan) == len(base) and _differing(plan, base) == 1),
    )
    return (base, *(draw_from(rng, tuple(kind)) for kind in kinds))


def _is_part(plan: Plan, whole: Plan) -> bool:
    """Return whether a plan is another one without one of its steps."""
    return any(plan == whole[:place] + whole[place + 1 :] for place in range(len(whole)))


def _differing(plan: Plan, other: Plan) -> int:
    return sum(one != two for one, two in zip(plan, other, strict=True))
