"""The panel from nothing: draws the samples, then trains its members, several at a time."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any, Final

from embodied_iqa.simulation.panel_samples import DRAWN_PX, draw_part, draw_ranked
from embodied_iqa.subjects.panel.cards import ModelCard
from embodied_iqa.subjects.panel.training.recipes import Recipe, adapted, quick, recipe_of

__all__ = ["PanelPlan", "Progress", "train_panel"]

PART_SCENES: Final = 250
_TEST_SEED_OFFSET: Final = 1_000_003
_LONGEST_WAIT_S: Final = 0.5


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
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.workers, mp_context=context) as pool:
        _draw(plan, max(recipe.scenes for recipe in recipes), pool, tell)
    with context.Manager() as manager, ProcessPoolExecutor(plan.workers, mp_context=context) as pool:
        events = manager.Queue()
        jobs = [pool.submit(_train, plan, recipe.name, events) for recipe in recipes]
        totals = {recipe.name: recipe.all_epochs for recipe in recipes}
        for name, epoch, loss in _events(jobs, events):
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


def _draw(plan: PanelPlan, scenes: int, pool: ProcessPoolExecutor, tell: Callable[[Progress], None]) -> None:
    """Draw the parts of training and held-out samples that are not there yet."""
    wanted = [
        *_parts(plan.out / "test", test_seed(plan), test_scenes(plan)),
        *_parts(plan.out / "train", plan.seed, scenes),
    ]
    for count, _ in enumerate(_completed([pool.submit(_draw_part, *part) for part in wanted]), start=1):
        tell(Progress("scenes", count, len(wanted)))


def _draw_part(part: Path, seed: int, first: int, end: int) -> None:
    """Draw what is not there yet of a part."""
    if not part.is_dir():
        draw_part(part, seed, first, end)
    draw_ranked(part, seed, first, end)


def _parts(folder: Path, seed: int, scenes: int) -> Iterator[tuple[Path, int, int, int]]:
    for part, start in enumerate(range(0, scenes, PART_SCENES)):
        yield folder / f"part-{part:03d}", seed, start, min(start + PART_SCENES, scenes)


def _completed(jobs: Sequence[Future[None]]) -> Iterator[None]:
    open_jobs: set[Future[None]] = set(jobs)
    while open_jobs:
        done, open_jobs = wait(open_jobs, return_when=FIRST_COMPLETED)
        for job in done:
            yield job.result()


def _events(jobs: Iterable[Future[ModelCard]], events: Any) -> Iterator[tuple[str, int, float]]:
    """Yield what the workers report until all have ended."""
    open_jobs = set(jobs)
    while open_jobs:
        try:
            yield events.get(timeout=_LONGEST_WAIT_S)
        except Empty:
            ended = {job for job in open_jobs if job.done()}
            for job in ended:
                job.result()  # an error ends everything
            open_jobs -= ended


def _train(plan: PanelPlan, name: str, events: Any) -> ModelCard:
    """Take one member's course; runs in a worker."""
    from embodied_iqa.subjects.panel.training.course import (  # noqa: PLC0415 - needs torch
        CourseFolders,
        DataRecipe,
        take_course,
    )

    recipe = _recipe(plan, name)
    data = DataRecipe(plan.seed, test_seed(plan), DRAWN_PX, plan.command, plan.quick)
    folders = CourseFolders(plan.out / "train", plan.out / "test", plan.out / "work", plan.models)
    return take_course(recipe, data, folders, lambda result: events.put((name, result.epoch, result.loss)))
