"""Macro planning: the right plan of an instruction against plans with a step swapped, left out, or wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.scenes.language.five_tasks import make_tasks
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.scene_graph import SceneGraph
from embodied_iqa.static_benchmark.making.draft import NoItemError
from embodied_iqa.static_benchmark.making.step_words import PLAN_WORDS, worded
from embodied_iqa.tasks.instruction import Instruction, Thing
from embodied_iqa.tasks.vocabulary import KINDS_OF_VERB

JOINT: Final = "; then "
"""Between the steps of a plan."""
_EASIEST: Final = 1
"""Index of the easiest task that names an object by something that only the picture shows."""

Plan = tuple[tuple[str, ...], ...]
"""The steps of each sub-task."""


def draw_macro(rng: np.random.Generator, scene: Scene, view: View) -> tuple[str, tuple[str, ...]]:
    """Return a question about the first frame and its options, the right one first.

    Two of the four plans handle the right object and two another one: the objects named most often do not
    give the answer away.

    Raises:
        NoItemError: The scene has no such task, or no other object that a plan could name.
    """
    try:
        tasks = make_tasks(scene, int(rng.integers(2**31)), view=view)
    except UsageError:
        raise NoItemError from None
    task = tasks[int(rng.integers(_EASIEST, len(tasks)))]
    steps = task.plan
    if len({step.object for step in steps}) < len(steps):
        raise NoItemError  # what is picked and then brought somewhere is gripped once
    other = _with_another_object(rng, steps, _nameable(scene, view))
    right, wrong = _plan(steps), _plan(other)
    broken = [_broken(rng, right), _broken(rng, wrong)]
    options = tuple(_text(plan) for plan in (right, wrong, *broken))
    if len(set(options)) < len(options):
        raise NoItemError
    shown = (options[0], *(options[1 + int(number)] for number in rng.permutation(3)))
    return f'The task of the robot is: "{task.text}". Which plan has every step, in order?', shown


def _plan(steps: tuple[Instruction, ...]) -> Plan:
    return tuple(tuple(worded(words, step) for words in PLAN_WORDS[step.verb]) for step in steps)


def _text(plan: Plan) -> str:
    return JOINT.join(words for part in plan for words in part)


def _nameable(scene: Scene, view: View) -> list[Thing]:
    """Return the names of the shown objects that fit no other object."""
    nodes = SceneGraph(scene, view).nodes
    return [node.thing for node in nodes if node.shown and scene.names.count(node.thing) == 1]


def _with_another_object(
    rng: np.random.Generator, steps: tuple[Instruction, ...], names: list[Thing]
) -> tuple[Instruction, ...]:
    """Return the steps with another object in one of them, which affords the step as well."""
    used = {thing for step in steps for thing in (step.object, step.destination)}
    place = int(rng.integers(len(steps)))
    able = KINDS_OF_VERB[steps[place].verb]
    free = [thing for thing in names if thing not in used and thing.kind in able]
    if not free:
        raise NoItemError
    chosen = replace(steps[place], object=free[int(rng.integers(len(free)))])
    return (*steps[:place], chosen, *steps[place + 1 :])


def _broken(rng: np.random.Generator, plan: Plan) -> Plan:
    """Return a plan with two successive steps of one sub-task swapped, or one of its steps left out."""
    place = int(rng.integers(len(plan)))
    part = plan[place]
    at = int(rng.integers(len(part) - 1))
    swapped = (*part[:at], part[at + 1], part[at], *part[at + 2 :])
    shorter = (*part[:at], *part[at + 1 :])
    return (*plan[:place], swapped if rng.integers(2) else shorter, *plan[place + 1 :])
