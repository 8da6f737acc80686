"""The panel from nothing: draws the samples, then trains its members, several at a time."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from typing import Final, TypeAlias

from embodied_iqa.errors import InternalError
from embodied_iqa.panel.samples.draw_samples import DRAWN_PX, draw_part, draw_ranked
from embodied_iqa.panel.training.recipes import Recipe, adapted, quick, recipe_of
from embodied_iqa.subjects.model_card import ModelCard
from embodied_iqa.workers import Workers, result_of

__all__ = ["PanelPlan", "Progress", "train_panel"]

PART_SCENES: Final = 250
_TEST_SEED_OFFSET: Final = 1_000_003
_LONGEST_WAIT_S: Final = 0.5

_Events: TypeAlias = "Queue[tuple[str, int, float]]"
"""Member, epoch and loss, from the workers."""


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """What to train.

    Attributes:
        members: Names of recipes.
        out: Folder of samples, checkpoints, curves and models.
        seed: Of the scenes, and added to the members' own seeds.
        quick: Small and worse.
        workers: Processes.
        scenes: Training scenes of each member; None for its recipe's.
        epochs: Likewise.
    """

    members: tuple[str, ...]
    out: Path
    seed: int = 1
    quick: bool = False
    workers: int = 2
    scenes: int | None = None
    epochs: int | None = None

    @property
    def command(self) -> str:
        """The command line that does this."""
        words = ["embodied-iqa train panel"]
        words += ["--quick"] if self.quick else []
        words += [f"--scenes {self.scenes}"] if self.scenes else []
        words += [f"--epochs {self.epochs}"] if self.epochs else []
        return " ".join([*words, f"--seed {self.seed} --out DIR"])

    @property
    def models(self) -> Path:
        """Where networks and cards go."""
        return self.out / "models"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Attributes:
        stage: What is under way.
        done: How much of it.
        total: Of how much.
        note: In words.
    """

    stage: str
    done: int
    total: int
    note: str = ""


def train_panel(plan: PanelPlan, tell: Callable[[Progress], None]) -> list[ModelCard]:
    """Draw samples and train, export and examine the members; resumes where an earlier run was stopped.

    Raises:
        UsageError: A member is unknown.
        InputError: A checkpoint in the folder is broken or belongs to another recipe.
    """
    recipes = [_recipe(plan, name) for name in plan.members]
    with Workers(plan.workers) as pool:
        _draw(plan, max(recipe.scenes for recipe in recipes), pool, tell)
    events = multiprocessing.get_context("spawn").Queue()
    with Workers(plan.workers, _begin, events) as pool:  # new ones: those that drew hold a graphics context
        jobs = [pool.submit(_train, plan, recipe.name) for recipe in recipes]
        totals = {recipe.name: recipe.all_epochs for recipe in recipes}
        for name, epoch, loss in _told(jobs, events):
            tell(Progress(name, epoch, totals[name], f"loss {loss:.3f}"))
        return [job.result() for job in jobs]


def _recipe(plan: PanelPlan, name: str) -> Recipe:
    recipe = recipe_of(name)
    recipe = adapted(quick(recipe) if plan.quick else recipe, plan.scenes, plan.epochs)
    return dataclasses.replace(recipe, seed=recipe.seed + 1000 * plan.seed)


def test_scenes(plan: PanelPlan) -> int:
    """Return the number of held-out scenes."""
    return PART_SCENES if plan.quick else 2 * PART_SCENES


def test_seed(plan: PanelPlan) -> int:
    """Return the seed of the held-out scenes."""
    return plan.seed + _TEST_SEED_OFFSET


def _draw(plan: PanelPlan, scenes: int, pool: Workers, tell: Callable[[Progress], None]) -> None:
    """Draw the parts of training and held-out samples that are not there yet."""
    wanted = [
        *_parts(plan.out / "test", test_seed(plan), test_scenes(plan)),
        *_parts(plan.out / "train", plan.seed, scenes),
    ]
    jobs = [pool.submit(_draw_part, *part) for part in wanted]
    for count, job in enumerate(as_completed(jobs), start=1):
        result_of(job)
        tell(Progress("scenes", count, len(wanted)))


def _draw_part(part: Path, seed: int, first: int, end: int) -> None:
    """Draw what is not there yet of a part."""
    if not part.is_dir():
        draw_part(part, seed, first, end)
    draw_ranked(part, seed, first, end)


def _parts(folder: Path, seed: int, scenes: int) -> Iterator[tuple[Path, int, int, int]]:
    for part, start in enumerate(range(0, scenes, PART_SCENES)):
        yield folder / f"part-{part:03d}", seed, start, min(start + PART_SCENES, scenes)


def _told(jobs: Iterable[Future[ModelCard]], events: _Events) -> Iterator[tuple[str, int, float]]:
    """Yield what the workers report until all have ended."""
    open_jobs = set(jobs)
    while open_jobs:
        try:
            yield events.get(timeout=_LONGEST_WAIT_S)
        except Empty:
            ended = {job for job in open_jobs if job.done()}
            for job in ended:
                result_of(job)  # an error ends everything
            open_jobs -= ended


_events: _Events | None = None


def _begin(events: _Events) -> None:
    global _events  # noqa: PLW0603 - one a worker process, set once
    _events = events


def _tell(name: str, epoch: int, loss: float) -> None:
    if _events is None:
        raise InternalError("a worker was given a member before it was set up")
    _events.put((name, epoch, loss))


def _train(plan: PanelPlan, name: str) -> ModelCard:
    """Take one member's course; runs in a worker."""
    from embodied_iqa.panel.training.member_training import (  # noqa: PLC0415 - needs torch
        CourseFolders,
        DataRecipe,
        take_course,
    )

    recipe = _recipe(plan, name)
    data = DataRecipe(plan.seed, test_seed(plan), DRAWN_PX, plan.command, plan.quick)
    folders = CourseFolders(plan.out / "train", plan.out / "test", plan.out / "work", plan.models)
    return take_course(recipe, data, folders, lambda result: _tell(name, result.epoch, result.loss))
