"""Two tasks of one scene: their verbs are drawn first, and the scene is drawn until it affords both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.making.arrangements import with_kinds
from embodied_iqa.suites.static_benchmark.making.draft import NoItemError, draw_from
from embodied_iqa.suites.static_benchmark.making.step_words import WAYPOINT_WORDS
from embodied_iqa.world.scenes.language.feasible_plans import feasible_steps
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, make_scene
from embodied_iqa.world.scenes.scene_graph import SceneGraph
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import DESTINATIONS_OF_VERB, KINDS_OF_VERB, Verb

Pair = tuple[Verb, Verb]


@dataclass(frozen=True, slots=True)
class StageQuestion:
    """What a stage item asks; drawn before its scene, so that no verb is rarer because few scenes afford it.

    Attributes:
        verbs: Of the two tasks, different.
        is_next: Whether it asks for the next step; else for the one under way.
    """

    verbs: Pair
    is_next: bool


def draw_question(rng: np.random.Generator) -> StageQuestion:
    """Draw a pair of verbs and a question, each with the same chance."""
    verbs = tuple(WAYPOINT_WORDS)
    one, two = (verbs[int(number)] for number in rng.permutation(len(verbs))[:2])
    return StageQuestion((one, two), bool(rng.integers(2)))


def draw_tasks(rng: np.random.Generator, verbs: Pair) -> tuple[Scene, tuple[Instruction, Instruction]]:
    """Return a scene and a task of each verb in it, with different objects.

    Raises:
        NoItemError: The drawn scene does not afford both.
    """
    # a drawer has its own place, which only a scene made for it keeps free
    first, second = reversed(verbs) if verbs[1] is Verb.PULL else verbs
    instruction = draw_instruction(first, int(rng.integers(2**31)))
    scene = _also_for(rng, make_scene(int(rng.integers(2**31)), instruction), instruction, second)
    possible = feasible_steps(scene, SceneGraph(scene, View.TOP))
    task = draw_from(rng, _of_verb(possible, first))
    other = draw_from(rng, [step for step in _of_verb(possible, second) if step.object != task.object])
    return scene, (task, other)


def _also_for(rng: np.random.Generator, scene: Scene, instruction: Instruction, verb: Verb) -> Scene:
    """Return the scene with the kinds that another verb needs in place of objects beside the task's own."""
    own = 1 if instruction.destination is None else 2
    free = [own + int(number) for number in rng.permutation(len(scene.objects) - own)]
    needed = [draw_from(rng, kinds) for kinds in (KINDS_OF_VERB[verb], DESTINATIONS_OF_VERB[verb]) if kinds]
    changed = with_kinds(rng, scene, dict(zip(free, needed, strict=False)))
    if changed is None:
        raise NoItemError
    return changed


def _of_verb(tasks: Sequence[Instruction], verb: Verb) -> list[Instruction]:
    return [task for task in tasks if task.verb is verb]
