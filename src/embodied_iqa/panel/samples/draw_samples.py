"""Seeded training samples: scenes with pictures, objects and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.panel.answers import object_marks
from embodied_iqa.panel.samples.paraphrases import reworded
from embodied_iqa.panel.samples.sample_files import (
    MAX_THINGS,
    Samples,
    TaskLabels,
    join_samples,
    ranked_file,
    save_ranked,
    save_samples,
)
from embodied_iqa.scenes.language.five_tasks import make_tasks
from embodied_iqa.scenes.scene import Scene, make_scene, tasks_of
from embodied_iqa.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.backends.panel.format import ABSENT, shrink
from embodied_iqa.tasks.instruction import Instruction, Thing
from embodied_iqa.tasks.task import MAX_RANK
from embodied_iqa.tasks.vocabulary import DESTINATIONS_OF_VERB, KINDS_OF_VERB, Colour, Kind, Verb

DRAWN_PX: Final = (480, 360)
"""Size of training pictures before they are reduced to that of the networks' input."""
TASKS_A_SCENE: Final = 12
_ABSENT_TASKS: Final = 2
_WORDINGS: Final = 2
RANKED_A_SCENE: Final = _WORDINGS * (MAX_RANK - 1)
"""Tasks of rank 2 to 5, two of each."""
_COLOURS: Final = tuple(Colour)
_KINDS: Final = tuple(Kind)
_VERBS: Final = tuple(Verb)


def random_instruction(verb: Verb, rng: np.random.Generator) -> Instruction:
    """Draw an object and, if the verb has one, a destination of another colour."""
    first, second = (_COLOURS[int(index)] for index in rng.permutation(len(_COLOURS))[:2])
    kinds, goals = KINDS_OF_VERB[verb], DESTINATIONS_OF_VERB[verb]
    target = Thing(first, kinds[int(rng.integers(len(kinds)))])
    goal = Thing(second, goals[int(rng.integers(len(goals)))]) if goals else None
    return Instruction(verb, target, goal)


def sample_scene(seed: int, index: int) -> tuple[Scene, Instruction]:
    """Return scene number ``index`` of a seed, with its main task; the verbs alternate."""
    rng = np.random.default_rng([seed, index])
    instruction = random_instruction(_VERBS[index % len(_VERBS)], rng)
    return make_scene(int(rng.integers(2**31)), instruction), instruction


def scene_tasks(scene: Scene, main: Instruction, rng: np.random.Generator) -> list[Instruction]:
    """Draw tasks of a scene: the main one, other feasible ones, and a few whose objects are missing."""
    others = [task for task in tasks_of(scene) if task != main]
    count = TASKS_A_SCENE - _ABSENT_TASKS
    drawn = [main]
    while len(drawn) < count:
        if not others or len(drawn) % 3 == 0:
            drawn.append(main)  # the verbs stay balanced
        else:
            drawn.append(others[int(rng.integers(len(others)))])
    return drawn + [_absent_task(scene, rng) for _ in range(_ABSENT_TASKS)]


def _absent_task(scene: Scene, rng: np.random.Generator) -> Instruction:
    things = {item.thing for item in scene.objects}
    while True:
        task = random_instruction(_VERBS[int(rng.integers(len(_VERBS)))], rng)
        if task.object not in things:
            return task


def _task_labels(scene: Scene, texts: tuple[str, ...], tasks: Sequence[Instruction]) -> TaskLabels:
    things = [item.thing for item in scene.objects]
    return TaskLabels(
        (texts,),
        verb=np.array([[_VERBS.index(task.verb) for task in tasks]]),
        target=np.array([[_index(things, task.object) for task in tasks]]),
        goal=np.array([[_index(things, task.destination) for task in tasks]]),
        wanted=np.array([[_wanted(task) for task in tasks]]),
    )


def _index(things: Sequence[Thing], thing: Thing | None) -> int:
    return things.index(thing) if thing in things else -1


def _wanted(task: Instruction) -> list[int]:
    numbers: list[int] = []
    for thing in (task.object, task.destination):
        numbers += [-1, -1] if thing is None else [_COLOURS.index(thing.colour), _KINDS.index(thing.kind)]
    return numbers


def _sample(seed: int, number: int, frames: Sequence[Frame]) -> Samples:
    """Return scene ``number`` of a seed with its tasks and pictures, the latter in the order of `View`."""
    scene, main = sample_scene(seed, number)
    rng = np.random.default_rng([seed, number, 1])
    tasks = scene_tasks(scene, main, rng)
    labels = _task_labels(scene, tuple(reworded(task, rng) for task in tasks), tasks)
    kind, colour = np.full((1, MAX_THINGS), -1), np.full((1, MAX_THINGS), -1)
    place = np.zeros((1, MAX_THINGS, 3), np.float32)
    mark = np.full((1, MAX_THINGS, len(frames), 2), ABSENT, np.float32)
    for index, item in enumerate(scene.objects[:MAX_THINGS]):
        kind[0, index], colour[0, index] = _KINDS.index(item.kind), _COLOURS.index(item.colour)
        place[0, index] = item.x_m, item.y_m, item.yaw_rad
    for view, frame in enumerate(frames):
        mark[0, : len(scene.objects), view] = object_marks(scene, frame)[:MAX_THINGS]
    return Samples(
        views=tuple(View),
        pictures=tuple(shrink(frame.rgb)[None] for frame in frames),
        tasks=labels.tasks,
        verb=labels.verb,
        target=labels.target,
        goal=labels.goal,
        wanted=labels.wanted,
        thing_kind=kind,
        thing_colour=colour,
        thing_place=place,
        thing_mark=mark,
    )


def draw_samples(seed: int, indices: Sequence[int], shots: Iterator[tuple[Frame, ...]]) -> Samples:
    """Join scenes and their pictures.

    Args:
        seed: Of the samples.
        indices: Numbers of the scenes.
        shots: Each scene's frames, one per view in the order of `View`.
    """
    pairs = zip(indices, shots, strict=True)
    return join_samples([_sample(seed, number, frames) for number, frames in pairs])


def draw_part(folder: Path, seed: int, first: int, end: int) -> None:
    """Draw scenes ``first`` to ``end - 1`` of a seed and store them as one part."""
    indices = range(first, end)
    scenes = [sample_scene(seed, index)[0] for index in indices]
    save_samples(draw_samples(seed, indices, _shots(scenes)), folder)


def draw_ranked(part: Path, seed: int, first: int, end: int) -> None:
    """Store the tasks of rank 2 to 5 of a part's scenes, worded for each camera's pictures, where missing."""
    for view in View:
        file = ranked_file(part, view)
        if not file.is_file():
            save_ranked([_ranked(seed, number, view) for number in range(first, end)], file)


def _ranked(seed: int, index: int, view: View) -> TaskLabels:
    """Return tasks of a scene; if it has too few objects for them, its main task in varied words."""
    scene, main = sample_scene(seed, index)
    try:
        found = [
            (task.text, task.plan[0])
            for wording in range(_WORDINGS)
            for task in make_tasks(scene, wording, view=view, main=main)[1:]
        ]
    except UsageError:
        rng = np.random.default_rng([seed, index, 2])
        found = [(reworded(main, rng), main) for _ in range(RANKED_A_SCENE)]
    texts, steps = zip(*found, strict=True)
    return _task_labels(scene, texts, steps)


def _shots(scenes: Sequence[Scene]) -> Iterator[tuple[Frame, ...]]:
    """Yield the frames of each scene before any motion; only beads have to settle first, in physics."""
    with SceneBatchRenderer(*DRAWN_PX) as renderer:
        for scene in scenes:
            beads = any(item.kind is Kind.CUP for item in scene.objects)
            frames = renderer.frames(scene, View, World(scene).snapshot() if beads else None)
            yield tuple(frames[view] for view in View)
