"""The five tasks of a scene in natural language, from easy to hard, each testing another ability.

Difficulty is counted in points: 1 for each object that is named, plus 2 to judge a category, a size or a
position among several objects, 4 for a relation, 7 and 1 for each excluded colour or kind for an exclusion,
12 for a second step. The weights are chosen, not measured: each rank is above the one before, and within a
rank more objects are harder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.feasible_plans import feasible_steps, two_steps
from embodied_iqa.world.scenes.language.referring import FORMS_OF_RANK, Form, Reference, plain, references
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.language.wording import Wording
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, find_destination, find_object, make_scene
from embodied_iqa.world.scenes.scene_graph import SceneGraph
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.task import MAX_RANK, Task
from embodied_iqa.world.tasks.vocabulary import Verb

_T = TypeVar("_T")
_POINTS: Final = dict.fromkeys(FORMS_OF_RANK[2], 2) | dict.fromkeys(FORMS_OF_RANK[3], 4) | {Form.EXCLUSION: 7}
_SECOND_STEP_POINTS: Final = 12
_UNSEEN: Final = {View.WRIST: {Verb.PULL}}
"""Drawers are outside the wrist camera's image."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A task of one step before it is worded."""

    instruction: Instruction
    thing: Reference
    destination: Reference | None

    @property
    def harder(self) -> Reference:
        """The harder of the two references; the other one is plain."""
        if self.thing.form is Form.PLAIN and self.destination is not None:
            return self.destination
        return self.thing

    @property
    def form(self) -> Form:
        """Form of the harder reference."""
        return self.harder.form

    @property
    def noun(self) -> str:
        """Type of the noun: a kind, a category, or neither."""
        head = self.harder.head
        return "kind" if head.kind is not None else "category" if head.category is not None else "object"

    @property
    def difficulty(self) -> int:
        """In points."""
        return _points(self.thing) + (0 if self.destination is None else _points(self.destination))


def make_tasks(
    scene: Scene, seed: int = 0, *, view: View = View.TOP, main: Instruction | None = None
) -> tuple[Task, ...]:
    """Make five tasks of rising difficulty, ranks 1 to 5; the same arguments give the same tasks everywhere.

    Ranks: 1 plain words, 2 an attribute, 3 a relation, 4 an exclusion among similar objects, 5 two steps.
    Each refers to exactly one object, and the scene affords it; verbs differ as far as the scene allows.

    Args:
        scene: What is on the table.
        seed: Seed of the wording and of the choice among feasible tasks; any integer from 0.
        view: The camera whose image defines "left", "right", "in front of" and "behind", and shows
            every named object.
        main: The plain task of rank 1; None to draw one for the scene's main object.

    Raises:
        UsageError: The scene allows no task of a rank (`draw_task_scene` makes scenes with all ranks), or
            does not afford ``main``.
    """
    if seed < 0:
        raise UsageError("a seed cannot be negative", expected="an integer from 0", got=seed)
    rng = np.random.default_rng(int(_digest(scene, view, seed), 16))
    graph = SceneGraph(scene, view)
    possible = feasible_steps(scene, graph)
    if main is None:
        main = _choice(rng, [task for task in possible if task.object == scene.names[0]] or possible, 1)
    elif main not in possible:
        raise UsageError(
            f"the scene does not afford the task, as the {view} camera shows it",
            expected=f"a scene drawn for it: draw_task_scene(..., views=[{view}])",
            got=str(main),
            available=possible,
        )
    drafts = _choose_drafts(rng, scene, graph, (main, *possible))
    pair = _choose_pair(rng, two_steps(scene, possible), {draft.instruction.verb for draft in drafts})
    wording = Wording(rng)
    tasks = [_task(scene, view, rank, draft, wording) for rank, draft in enumerate(drafts, start=1)]
    tasks.append(_sequence(scene, view, pair, wording))
    _check(tasks, scene, view)
    return tuple(tasks)


def draw_task_scene(
    seed: int, verb: Verb | None = None, *, views: Sequence[View] = (View.TOP, View.SIDE)
) -> tuple[Scene, Instruction]:
    """Draw a scene with five tasks (`make_tasks`) for the images of some cameras.

    Args:
        seed: Any integer from 0; the same arguments give the same scene on every machine.
        verb: Verb of the easiest task; None cycles through the verbs with the seed.
        views: The cameras; by default those that show the whole table. The wrist camera shows only a part,
            so that fewer scenes qualify.

    Returns:
        The scene, which is also ``make_scene(scene.seed, instruction)``, and its main task.

    Raises:
        UsageError: The seed is negative, or one of the cameras never shows what the verb needs.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    verbs = [item for item in Verb if not any(item in _UNSEEN.get(view, ()) for view in views)]
    verb = verbs[seed % len(verbs)] if verb is None else verb
    if verb not in verbs:
        raise UsageError("a camera never shows what the verb needs", got=str(verb), available=verbs)
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C5]))
    while True:
        instruction = draw_instruction(verb, int(rng.integers(2**31)))
        scene = make_scene(int(rng.integers(2**31)), instruction)
        if _is_rich(scene, instruction, views):
            return scene, instruction


def _is_rich(scene: Scene, instruction: Instruction, views: Sequence[View]) -> bool:
    try:
        for view in views:
            make_tasks(scene, view=view, main=instruction)
    except UsageError:
        return False
    return True


def _choose_drafts(
    rng: np.random.Generator, scene: Scene, graph: SceneGraph, tasks: tuple[Instruction, ...]
) -> list[_Draft]:
    """Draw the tasks of one step, rank by rank; the first of ``tasks`` is rank 1."""
    drafts = [_plain_draft(scene, graph, tasks[0])]
    for rank in range(2, MAX_RANK):
        used = {draft.instruction.verb for draft in drafts}
        drafts.append(_choose(rng, _drafts(scene, graph, tasks[1:], rank), used, rank))
    return drafts


def _plain_draft(scene: Scene, graph: SceneGraph, task: Instruction) -> _Draft:
    goal = find_destination(scene, task)
    thing = plain(graph.nodes[find_object(scene, task)])
    return _Draft(task, thing, None if goal is None else plain(graph.nodes[goal]))


def _drafts(scene: Scene, graph: SceneGraph, possible: Sequence[Instruction], rank: int) -> list[_Draft]:
    """Return the drafts of a rank: one object in a form of the rank, the other in plain words."""
    found = [reference for form in FORMS_OF_RANK[rank] for reference in references(graph, form)]
    drafts = []
    for task in possible:
        easy = _plain_draft(scene, graph, task)
        for reference in found:
            if reference.target == easy.thing.target:
                drafts.append(_Draft(task, reference, easy.destination))
            elif easy.destination is not None and reference.target == easy.destination.target:
                drafts.append(_Draft(task, easy.thing, reference))
    return [draft for draft in drafts if not _names_itself(draft)]


def _names_itself(draft: _Draft) -> bool:
    """Return whether the description of one object of the task names the other."""
    anchors = {*draft.thing.anchors, *(draft.destination.anchors if draft.destination else ())}
    return bool(anchors & {draft.instruction.object, draft.instruction.destination})


def _choose(rng: np.random.Generator, drafts: list[_Draft], used: set[Verb], rank: int) -> _Draft:
    """Draw a verb, preferably one of no easier task, then a form, a type of noun and a draft."""
    verbs = {draft.instruction.verb for draft in drafts}
    verb = _choice(rng, sorted(verbs - used or verbs), rank)
    drafts = [draft for draft in drafts if draft.instruction.verb is verb]
    form = _choice(rng, sorted({draft.form for draft in drafts}), rank)
    drafts = [draft for draft in drafts if draft.form is form]
    sort = _choice(rng, sorted({draft.noun for draft in drafts}), rank)
    return _choice(rng, [draft for draft in drafts if draft.noun == sort], rank)


def _choose_pair(
    rng: np.random.Generator, pairs: list[tuple[Instruction, Instruction]], used: set[Verb]
) -> tuple[Instruction, Instruction]:
    """Draw two verbs, preferably new and different ones, then objects."""
    novelty = [len({a.verb, b.verb} - used) + (a.verb is not b.verb) for a, b in pairs]
    best = [pair for pair, new in zip(pairs, novelty, strict=True) if new == max(novelty)]
    verbs = _choice(rng, sorted({(first.verb, second.verb) for first, second in best}), MAX_RANK)
    return _choice(rng, [pair for pair in best if (pair[0].verb, pair[1].verb) == verbs], MAX_RANK)


def _choice(rng: np.random.Generator, options: Sequence[_T], rank: int) -> _T:
    if not options:
        raise UsageError(
            f"the image of the scene allows no task of rank {rank}",
            expected=f"a scene that allows {', '.join(FORMS_OF_RANK[rank])}",
        )
    return options[int(rng.integers(len(options)))]


def _task(scene: Scene, view: View, rank: int, draft: _Draft, wording: Wording) -> Task:
    task = draft.instruction
    text = wording.single(task.verb, draft.thing, draft.destination, canonical=rank == 1)
    ability = f"{task.verb}:{draft.form}"
    return Task(_id(scene, view, rank, text), rank, text, ability, task.verb, task, (task,), draft.difficulty)


def _sequence(scene: Scene, view: View, plan: tuple[Instruction, Instruction], wording: Wording) -> Task:
    first, second = plan
    text = wording.sequence(first, second)
    points = _SECOND_STEP_POINTS + len({step.object for step in plan})
    points += sum(step.destination is not None for step in plan)
    ability = f"{first.verb}+{second.verb}:{Form.SEQUENCE}"
    identity = _id(scene, view, MAX_RANK, text)
    return Task(identity, MAX_RANK, text, ability, first.verb, first, plan, points)


def _points(reference: Reference) -> int:
    return 1 + _POINTS.get(reference.form, 0) + len(reference.anchors) + len(reference.excluded)


def _id(scene: Scene, view: View, rank: int, text: str) -> str:
    return f"t{_digest(scene, view, rank, text)[:15]}"


def _digest(scene: Scene, view: View, *more: object) -> str:
    things = [(str(item.thing), round(item.x_m, 4), round(item.y_m, 4)) for item in scene.objects]
    content = repr((scene.seed, things, str(view), *more))
    return hashlib.sha256(content.encode()).hexdigest()


def _check(tasks: Sequence[Task], scene: Scene, view: View) -> None:
    """Parse every task with the resolver, which is independent of the generation of tasks."""
    for task in tasks:
        try:
            understood = resolve_plan(task.text, scene, view=view)
        except UsageError as error:
            raise InternalError(
                f"made an unclear task of scene {scene.seed}: {task.text!r} ({error})"
            ) from error
        if understood != task.plan:
            raise InternalError(f"made a misleading task of scene {scene.seed}: {task.text!r}")
