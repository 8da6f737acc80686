"""Seeded training samples: scenes with images, objects, and tasks in other words."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.image_formats import FORMATS, ImageFormat
from embodied_iqa.models.panel.samples.sample_files import (
    MAX_THINGS,
    Samples,
    TaskLabels,
    join_samples,
    ranked_file,
    save_ranked,
    save_samples,
)
from embodied_iqa.models.panel.true_answers import object_marks
from embodied_iqa.models.subjects.backends.panel.format import ABSENT, framed
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.five_tasks import make_tasks
from embodied_iqa.world.scenes.scene import (
    Scene,
    draw_instruction,
    find_destination,
    find_object,
    make_scene,
    tasks_of,
)
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import at_rest
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.task import MAX_RANK
from embodied_iqa.world.tasks.vocabulary import KINDS_OF_VERB, Colour, Kind, Mark, Size, Verb

_KIND_WORDS: Final[dict[Kind, str]] = {
    Kind.CUBE: "block",
    Kind.CYLINDER: "can",
    Kind.BALL: "sphere",
    Kind.BOWL: "dish",
    Kind.BUTTON: "switch",
    Kind.CUP: "mug",
    Kind.POT: "pan",
    Kind.LID: "cap",
    Kind.PEG: "pin",
    Kind.SOCKET: "holder",
    Kind.MAT: "pad",
    Kind.KNOB: "dial",
    Kind.DRAWER: "handle",
}
_PHRASES: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: ("put {object} on {destination}", "close {destination} with {object}"),
    Verb.INSERT: ("put {object} into {destination}", "plug {object} into {destination}"),
    Verb.MOVE: ("put {object} on {destination}", "bring {object} onto {destination}"),
    Verb.PICK: ("pick up {object}", "grasp {object}", "lift {object}", "take {object}"),
    Verb.PLACE: ("put {object} into {destination}", "drop {object} in {destination}"),
    Verb.POUR: ("empty {object} into {destination}", "tip {object} into {destination}"),
    Verb.PRESS: ("push down {object}", "hit {object}"),
    Verb.PULL: ("open {object}", "draw {object}"),
    Verb.PUSH: ("push {object} away", "shove {object}", "slide {object} away"),
    Verb.TWIST: ("turn {object}", "rotate {object}"),
}
_OTHER_KIND: Final = 0.25
_PLAIN: Final = 0.6
_POLITE: Final = 0.1


def reworded(task: Instruction, rng: np.random.Generator) -> str:
    """Return the task as text: mostly the canonical words, otherwise other verbs, nouns or a polite form."""
    if rng.random() < _PLAIN:
        return str(task)
    phrase = _PHRASES[task.verb][int(rng.integers(len(_PHRASES[task.verb])))]
    destination = "" if task.destination is None else _named(task.destination, rng)
    text = phrase.format(object=_named(task.object, rng), destination=destination)
    return f"please {text}" if rng.random() < _POLITE else text


def _named(thing: Thing, rng: np.random.Generator) -> str:
    kind = _KIND_WORDS[thing.kind] if rng.random() < _OTHER_KIND else str(thing.kind)
    return f"the {thing.named(kind)}"


DRAWN_PX: Final = (640, 480)
"""Size of training images before they are reduced to that of the networks' input."""
TASKS_A_SCENE: Final = 12
_ABSENT_TASKS: Final = 2
_FULL_NAMES: Final = 0.15
"""Share of the tasks that name the mark and the size of an object although nobody needs them."""
_WORDINGS: Final = 2
RANKED_A_SCENE: Final = _WORDINGS * (MAX_RANK - 1)
"""Tasks of rank 2 to 5, two of each."""
_COLOURS: Final = tuple(Colour)
_KINDS: Final = tuple(Kind)
_VERBS: Final = tuple(Verb)
_MARKS: Final = tuple(Mark)
_SIZES: Final = tuple(Size)
_NAMED: Final = 4
"""Numbers of a name: colour, kind, mark, size."""
_NEARLY_THERE: Final = 0.5
"""Share of the tasks with a missing object that differs from one on the table only in its mark."""


def sample_scene(seed: int, index: int) -> tuple[Scene, Instruction]:
    """Return scene number ``index`` of a seed, with its main task; the verbs alternate."""
    rng = np.random.default_rng([seed, index])
    instruction = draw_instruction(_VERBS[index % len(_VERBS)], int(rng.integers(2**31)))
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
    drawn = [_fully_named(scene, task) if rng.random() < _FULL_NAMES else task for task in drawn]
    return drawn + [_absent_task(scene, rng) for _ in range(_ABSENT_TASKS)]


def _fully_named(scene: Scene, task: Instruction) -> Instruction:
    goal = find_destination(scene, task)
    target = scene.objects[find_object(scene, task)].thing
    return Instruction(task.verb, target, None if goal is None else scene.objects[goal].thing)


def _absent_task(scene: Scene, rng: np.random.Generator) -> Instruction:
    """Draw a task whose object is missing: any, or one with another mark than an object has."""
    things = [item.thing for item in scene.objects]
    while True:
        task = draw_instruction(_VERBS[int(rng.integers(len(_VERBS)))], int(rng.integers(2**31)))
        if rng.random() < _NEARLY_THERE:
            known = [thing for thing in things if thing.mark and thing.kind in KINDS_OF_VERB[task.verb]]
            colours = {None if task.destination is None else task.destination.colour}
            known = [thing for thing in known if thing.colour not in colours]
            if not known:
                continue
            other = _MARKS[int(rng.integers(len(_MARKS)))]
            task = replace(task, object=replace(known[int(rng.integers(len(known)))], mark=other, size=None))
        if not any(task.object.fits(thing) for thing in things):
            return task


def _task_labels(scene: Scene, texts: tuple[str, ...], tasks: Sequence[Instruction]) -> TaskLabels:
    things = [item.thing for item in scene.objects]
    number = partial(_index, things)
    return TaskLabels(
        (texts,),
        verb=np.array([[_VERBS.index(task.verb) for task in tasks]]),
        target=np.array([[number(task.object) for task in tasks]]),
        goal=np.array([[number(task.destination) for task in tasks]]),
        wanted=np.array([[_wanted(task) for task in tasks]]),
    )


def _index(things: Sequence[Thing], named: Thing | None) -> int:
    """Return the index of the only thing that a name fits; -1 if none or several do."""
    found = [index for index, thing in enumerate(things) if named is not None and named.fits(thing)]
    return found[0] if len(found) == 1 else -1


def _wanted(task: Instruction) -> list[int]:
    numbers: list[int] = []
    for thing in (task.object, task.destination):
        numbers += [-1] * _NAMED if thing is None else name_numbers(thing)
    return numbers


def name_numbers(thing: Thing) -> list[int]:
    """Return the indices of colour, kind, mark and size, -1 for none."""
    mark = -1 if thing.mark is None else _MARKS.index(thing.mark)
    size = -1 if thing.size is None else _SIZES.index(thing.size)
    return [_COLOURS.index(thing.colour), _KINDS.index(thing.kind), mark, size]


def named_thing(numbers: Iterable[int]) -> Thing | None:
    """Return the thing of `name_numbers`; None if it has no kind."""
    colour, kind, mark, size = (int(number) for number in numbers)
    if kind < 0:
        return None
    return Thing(
        _COLOURS[colour],
        _KINDS[kind],
        _MARKS[mark] if mark >= 0 else None,
        _SIZES[size] if size >= 0 else None,
    )


def _sample(seed: int, number: int, frames: Sequence[Frame]) -> Samples:
    """Return scene ``number`` of a seed with its tasks, without images."""
    scene, main = sample_scene(seed, number)
    rng = np.random.default_rng([seed, number, 1])
    tasks = scene_tasks(scene, main, rng)
    labels = _task_labels(scene, tuple(reworded(task, rng) for task in tasks), tasks)
    names = np.full((1, MAX_THINGS, _NAMED), -1)
    place = np.zeros((1, MAX_THINGS, 3), np.float32)
    mark = np.full((1, MAX_THINGS, len(frames), 2), ABSENT, np.float32)
    for index, item in enumerate(scene.objects[:MAX_THINGS]):
        names[0, index] = name_numbers(item.thing)
        place[0, index] = item.x_m, item.y_m, item.yaw_rad
    for view, frame in enumerate(frames):
        mark[0, : len(scene.objects), view] = object_marks(scene, frame)[:MAX_THINGS]
    return Samples(
        views=CELL_VIEWS,
        images=(),
        tasks=labels.tasks,
        verb=labels.verb,
        target=labels.target,
        goal=labels.goal,
        wanted=labels.wanted,
        thing_kind=names[..., 1],
        thing_colour=names[..., 0],
        thing_print=names[..., 2],
        thing_size=names[..., 3],
        thing_place=place,
        thing_mark=mark,
    )


def draw_part(folder: Path, seed: int, first: int, end: int) -> None:
    """Draw scenes ``first`` to ``end - 1`` of a seed and store them as one part."""
    scenes = [sample_scene(seed, index)[0] for index in range(first, end)]
    samples, images = [], []
    with closing(_shots(scenes)) as shots:
        for number, frames in zip(range(first, end), shots, strict=True):
            samples.append(_sample(seed, number, frames))
            images.append(formatted(frames))
    stacked = {key: np.stack([shown[key] for shown in images]) for key in FORMATS}
    save_samples(join_samples(samples), stacked, folder)


def formatted(frames: Sequence[Frame]) -> dict[tuple[View, ImageFormat], NDArray[np.uint8]]:
    """Return the images of one scene in all stored formats."""
    rgb = {frame.view: frame.rgb for frame in frames}
    return {(view, kind): framed(rgb[view], view, kind.framing, kind.size_px) for view, kind in FORMATS}


def draw_ranked(part: Path, seed: int, first: int, end: int) -> None:
    """Store the tasks of rank 2 to 5 of a part's scenes, worded for each camera's images, where missing."""
    for view in CELL_VIEWS:
        file = ranked_file(part, view)
        if not file.is_file():
            save_ranked([_ranked(seed, number, view) for number in range(first, end)], file)


def is_drawn(part: Path) -> bool:
    """Return whether a part has its samples and all its tasks."""
    return part.is_dir() and all(ranked_file(part, view).is_file() for view in CELL_VIEWS)


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


def _shots(scenes: Sequence[Scene]) -> Generator[tuple[Frame, ...], None, None]:
    """Yield the frames of each scene before any motion, as the cameras deliver them."""
    with SceneBatchRenderer(*DRAWN_PX) as renderer:
        for scene in scenes:
            frames = renderer.frames(scene, CELL_VIEWS, at_rest(scene))
            yield tuple(as_delivered(frames[view], scene.seed) for view in CELL_VIEWS)
