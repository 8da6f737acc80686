"""Batches of training samples: words as numbers, true answers, the expert's plans."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embodied_iqa.base.errors import InternalError
from embodied_iqa.models.panel.panel_members import Augmentation
from embodied_iqa.models.panel.samples.draw_samples import named_thing
from embodied_iqa.models.panel.samples.sample_files import Samples
from embodied_iqa.models.panel.training.augmentation import augment
from embodied_iqa.models.panel.training.glimpses import NOTHING
from embodied_iqa.models.panel.training.panel_losses import Batch
from embodied_iqa.models.panel.true_answers import Style, VisibleThing, true_answer
from embodied_iqa.models.subjects.backends.panel.format import (
    MAX_ANSWER_WORDS,
    MAX_TASK_WORDS,
    PAD,
    PLAN_CENTRE,
    PLAN_SCALE,
    Vocabulary,
    answer_words,
    task_words,
)
from embodied_iqa.world.manipulation.planner import ObjectPose, plan_waypoints
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS, WAYPOINT_FIELDS, waypoints_to_array
from embodied_iqa.world.tasks.instruction import Instruction, shortest_names
from embodied_iqa.world.tasks.vocabulary import Kind, Size, Verb

_KINDS: Final = tuple(Kind)
_SIZES: Final = tuple(Size)
_VERBS: Final = tuple(Verb)
_JITTER: Final = 0.008
"""Spread of the places at which training looks, as a part of the image: about that of found objects."""
_CENTRE: Final = np.array(PLAN_CENTRE, np.float32)
_SCALE: Final = np.array(PLAN_SCALE, np.float32)


def things_of(samples: Samples, scene: int, view: int) -> list[VisibleThing]:
    """Return the objects of a scene in a view's image."""
    labels = (samples.thing_colour, samples.thing_kind, samples.thing_print, samples.thing_size)
    named = (named_thing(numbers) for numbers in zip(*(label[scene] for label in labels), strict=True))
    things = [thing for thing in named if thing is not None]
    return [
        VisibleThing(
            thing,
            name,
            *(float(value) for value in samples.thing_mark[scene, index, view]),
            *(float(value) for value in samples.thing_place[scene, index, :2]),
        )
        for index, (thing, name) in enumerate(zip(things, shortest_names(things), strict=True))
    ]


def instruction_of(samples: Samples, scene: int, task: int) -> Instruction:
    """Return the instruction that a task text stands for."""
    target, goal = (named_thing(numbers) for numbers in np.split(samples.wanted[scene, task], 2))
    if target is None:
        raise InternalError("a task without an object")
    return Instruction(_VERBS[samples.verb[scene, task]], target, goal)


def answers_of(samples: Samples, view: int, style: Style) -> list[list[str]]:
    """Return the true answer to every task of every scene."""
    return [
        [true_answer(instruction_of(samples, scene, task), things, style) for task in range(len(texts))]
        for scene, texts in enumerate(samples.tasks)
        for things in (things_of(samples, scene, view),)
    ]


class TrainingData:
    """Samples with words as numbers.

    Args:
        samples: Samples with the images of the member's views.
        style: Style of its answers; None for a VLA.
        words: Vocabulary of tasks; None for the words of the samples.
        answer_vocabulary: Vocabulary of answers; None for the words of the samples.
    """

    def __init__(
        self,
        samples: Samples,
        style: Style | None,
        words: Vocabulary | None = None,
        answer_vocabulary: Vocabulary | None = None,
    ) -> None:
        self.samples = samples
        tasks = [[task_words(task) for task in row] for row in samples.tasks]
        self.words = words or Vocabulary.of(task for row in tasks for task in row)
        self.tasks = _encoded(self.words, tasks, MAX_TASK_WORDS)
        self.answer_words: Vocabulary | None = None
        self.answers = np.zeros((*self.tasks.shape[:2], 0), np.int64)
        if style is not None:
            answers = [[answer_words(text) for text in row] for row in answers_of(samples, 0, style)]
            self.answer_words = answer_vocabulary or Vocabulary.of(a for row in answers for a in row)
            numbers = _encoded(self.answer_words, answers, MAX_ANSWER_WORDS + 1, framed=True)
            self.answers = numbers[:, :, : (numbers != PAD).sum(axis=-1).max()]
        self._plan, self._length = _plans(samples)
        self._places, self._placed = _places(samples)
        self._marks = samples.framed_marks()
        self._wanted = _wanted(samples, _second_things(samples, style))
        self._seen = _seen(samples)

    def __len__(self) -> int:
        return len(self.samples)

    def batch(
        self,
        scenes: NDArray[np.int64],
        tasks: NDArray[np.int64],
        augmentation: Augmentation = Augmentation.NONE,
        rng: np.random.Generator | None = None,
    ) -> Batch:
        """Return a batch.

        Args:
            scenes: ``(B,)`` scenes.
            tasks: ``(B, R)`` tasks of each.
            augmentation: Of the images.
            rng: Of the augmentation.
        """
        samples, rows = self.samples, scenes[:, None]
        rng = rng or np.random.default_rng(0)
        images = tuple(as_tensor(augment(shots[scenes], augmentation, rng)) for shots in samples.images)
        return Batch(
            images=images,
            tasks=torch.from_numpy(self.tasks[rows, tasks]),
            plan=torch.from_numpy(self._plan[rows, tasks]).flatten(0, 1),
            places=torch.from_numpy(self._places[rows, tasks]).flatten(0, 1),
            placed=torch.from_numpy(self._placed[rows, tasks]).flatten(0, 1),
            length=torch.from_numpy(self._length[rows, tasks]).flatten(),
            seen=torch.from_numpy(self._seen[rows, tasks]).flatten(),
            wanted=torch.from_numpy(self._wanted[rows, tasks]).flatten(0, 1),
            spots=tuple(
                torch.from_numpy(_spots(self._marks[scenes, :, view], rng))
                for view in range(len(samples.views))
            ),
            thing_marks=torch.from_numpy(self._marks[scenes]),
            thing_kinds=torch.from_numpy(samples.thing_kind[scenes]),
            thing_colours=torch.from_numpy(samples.thing_colour[scenes]),
            thing_prints=torch.from_numpy(samples.thing_print[scenes] + 1),
            thing_sizes=torch.from_numpy(samples.thing_size[scenes] + 1),
            thing_turns=torch.from_numpy(samples.thing_place[scenes, :, 2]),
            thing_places=torch.from_numpy((samples.thing_place[scenes, :, :2] - _CENTRE[:2]) / _SCALE[:2]),
            answers=torch.from_numpy(self.answers[rows, tasks]),
        )


def _encoded(
    vocabulary: Vocabulary, rows: list[list[list[str]]], length: int, *, framed: bool = False
) -> NDArray[np.int64]:
    numbers = [[vocabulary.encode(words, length, framed=framed) for words in row] for row in rows]
    return np.array(numbers, np.int64)


def as_tensor(images: NDArray[np.uint8]) -> Tensor:
    """Return ``(B, H, W, 3)`` uint8 as ``(B, 3, H, W)`` float in [-0.5, 0.5], channels last in memory."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255).sub_(0.5)


def _second_things(samples: Samples, style: Style | None) -> NDArray[np.int64]:
    """Return ``(n, R)``: the destination of each task, else the neighbour that an answer names."""
    if style in {None, Style.COUNT}:
        return samples.goal
    place, mark = samples.thing_place[:, :, :2], samples.thing_mark[:, :, 0]
    shown = ((mark >= 0.0) & (mark <= 1.0)).all(axis=-1) & (samples.thing_kind >= 0)
    scenes = np.arange(len(samples))[:, None]
    target = np.maximum(samples.target, 0)
    distance = np.linalg.norm(place[:, None] - place[scenes, target][:, :, None], axis=-1)
    others = shown[:, None] & (np.arange(place.shape[1]) != target[..., None])
    nearest = np.where(others, distance, np.inf).argmin(axis=-1)
    alone = ~others.any(axis=-1) | (samples.target < 0)
    return np.where(samples.goal >= 0, samples.goal, np.where(alone, -1, nearest))


def _shown(samples: Samples, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return ``(n, R, V)``: whether each view shows the thing with an index; False for index -1."""
    marks = samples.thing_mark[np.arange(len(samples))[:, None], np.maximum(index, 0)]
    inside = np.asarray(((marks > 0.0) & (marks < 1.0)).all(axis=-1), np.bool_)
    return np.asarray(inside & (index >= 0)[..., None])


def _wanted(samples: Samples, second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``(n, R, 2, V)``: slots of the target and of the second thing of each task."""
    first = np.where(_shown(samples, samples.target), samples.target[..., None], NOTHING)
    other = np.where(_shown(samples, second), second[..., None], NOTHING)
    return np.stack([first, np.where((second >= 0)[..., None], other, -1)], axis=2)


def _seen(samples: Samples) -> NDArray[np.bool_]:
    """Return ``(n, R)``: whether some view shows everything that the task names."""
    target, goal = (_shown(samples, index).any(axis=-1) for index in (samples.target, samples.goal))
    seen: NDArray[np.bool_] = target & (goal | (samples.goal < 0))
    return seen


def _spots(marks: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return ``(B, SLOTS, 2)``: near each object that an image shows, and anywhere for the others."""
    there = ((marks > 0.0) & (marks < 1.0)).all(axis=-1, keepdims=True)
    near = marks + _JITTER * rng.standard_normal(marks.shape)
    return np.where(there, near, rng.uniform(0.0, 1.0, marks.shape)).astype(np.float32)


def _plans(samples: Samples) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the expert's waypoints ``(n, R, K, 6)``, centred and scaled, and their numbers ``(n, R)``."""
    shape = samples.verb.shape
    plans = np.zeros((*shape, MAX_WAYPOINTS, len(WAYPOINT_FIELDS)), np.float32)
    lengths = np.zeros(shape, np.int64)
    for scene, task in np.ndindex(*shape):
        if samples.target[scene, task] < 0:
            continue
        rows = expert_plan(samples, scene, task)
        lengths[scene, task] = len(rows)
        plans[scene, task, : len(rows)] = scaled_plan(rows)
    return plans, lengths


def scaled_plan(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return waypoints ``(..., 6)``, centred and scaled."""
    return ((rows - _CENTRE) / _SCALE).astype(np.float32)


def expert_plan(samples: Samples, scene: int, task: int) -> NDArray[np.float64]:
    """Return the expert's ``(K, 6)`` waypoints for a task whose objects are present."""
    target, goal = samples.target[scene, task], samples.goal[scene, task]
    verb = _VERBS[samples.verb[scene, task]]
    destination = _pose(samples, scene, goal) if goal >= 0 else None
    return waypoints_to_array(plan_waypoints(verb, _pose(samples, scene, target), destination))


def _pose(samples: Samples, scene: int, thing: int) -> ObjectPose:
    x, y, yaw = (float(value) for value in samples.thing_place[scene, thing])
    size = int(samples.thing_size[scene, thing])
    return ObjectPose(
        _KINDS[samples.thing_kind[scene, thing]], x, y, yaw, _SIZES[size] if size >= 0 else None
    )


def _places(samples: Samples) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return ``(n, R, 5)``: x, y of target and destination and the target's yaw; and 1 where they apply."""
    scenes = np.arange(len(samples))[:, None]
    target = samples.thing_place[scenes, np.maximum(samples.target, 0)]
    goal = samples.thing_place[scenes, np.maximum(samples.goal, 0)]
    square = samples.thing_kind[scenes, np.maximum(samples.target, 0)] == _KINDS.index(Kind.CUBE)
    there, gone_to = (samples.target >= 0)[..., None], (samples.goal >= 0)[..., None]
    places = np.concatenate(
        [
            (target[..., :2] - _CENTRE[:2]) / _SCALE[:2],
            (goal[..., :2] - _CENTRE[:2]) / _SCALE[:2],
            target[..., 2:] / _SCALE[3],
        ],
        axis=-1,
    )
    counts = [there, there, gone_to, gone_to, there & square[..., None]]
    return places.astype(np.float32), np.concatenate(counts, axis=-1).astype(np.float32)
