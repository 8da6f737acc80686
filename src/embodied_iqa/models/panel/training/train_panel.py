"""Training of the panel from scratch: draws the samples, then trains several members in parallel."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Final, TypeAlias

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.lazy import load
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.workers import Workers, result_of
from embodied_iqa.models.panel.panel_members import Recipe, adapted, quick, recipe_of
from embodied_iqa.models.panel.samples.draw_samples import DRAWN_PX, draw_part, draw_ranked
from embodied_iqa.models.subjects.model_card import ModelCard

if TYPE_CHECKING:
    from embodied_iqa.base.training.training_state import EpochResult

_PART_SCENES: Final = 250
_HELD_OUT_OFFSET: Final = 1_000_003
_POLL_PERIOD_S: Final = 0.5

_Events: TypeAlias = "Queue[tuple[str, int, float]]"
"""Member, epoch and loss, from the workers."""


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """Members and amount of training.

    Attributes:
        members: Names.
        out: Folder of samples, checkpoints, curves and models.
        seed: Of the scenes; also changes the members' own seeds.
        quick: Fewer scenes and epochs; worse scores.
        workers: Number of processes.
        scenes: Training scenes of each member; None as in its recipe.
        epochs: Epochs with plain tasks; None as in the recipe.
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
        """Command line of this training."""
        words = ["embodied-iqa train panel"]
        words += ["--quick"] if self.quick else []
        words += [f"--scenes {self.scenes}"] if self.scenes else []
        words += [f"--epochs {self.epochs}"] if self.epochs else []
        return " ".join([*words, f"--seed {self.seed} --out DIR"])

    @property
    def models(self) -> Path:
        """Folder of networks and cards."""
        return self.out / "models"

    @property
    def held_out_scenes(self) -> int:
        """Number of held-out scenes."""
        return _PART_SCENES if self.quick else 2 * _PART_SCENES

    @property
    def held_out_seed(self) -> int:
        """Seed of the held-out scenes."""
        return self.seed + _HELD_OUT_OFFSET


def train_panel(plan: PanelPlan, bars: ProgressBars) -> list[ModelCard]:
    """Draw samples, then train, export and evaluate the members; resumes an interrupted training.

    Args:
        plan: Members and amount of training.
        bars: A bar for the scenes and one per member.

    Raises:
        UsageError: A member is unknown.
        InputError: A checkpoint in the folder is broken or belongs to another recipe.
    """
    recipes = [_recipe(plan, name) for name in plan.members]
    _draw(plan, max(recipe.scenes for recipe in recipes), bars)
    events = multiprocessing.get_context("spawn").Queue()
    with Workers(plan.workers, _begin, events) as pool:  # new processes: the others hold a graphics context
        jobs = [pool.submit(_train, plan, recipe.name) for recipe in recipes]
        totals = {recipe.name: recipe.all_epochs for recipe in recipes}
        for name, epoch, loss in _reported(jobs, events):
            bars.update(name, epoch, totals[name], note=f"loss {loss:.3f}")
        return [job.result() for job in jobs]


def _recipe(plan: PanelPlan, name: str) -> Recipe:
    recipe = recipe_of(name)
    recipe = adapted(quick(recipe) if plan.quick else recipe, plan.scenes, plan.epochs)
    return dataclasses.replace(recipe, seed=recipe.seed + 1000 * plan.seed)


def _draw(plan: PanelPlan, scenes: int, bars: ProgressBars) -> None:
    """Draw the missing parts of training and held-out samples."""
    wanted = [
        *_parts(plan.out / "test", plan.held_out_seed, plan.held_out_scenes),
        *_parts(plan.out / "train", plan.seed, scenes),
    ]
    drawn = run_jobs([partial(_draw_part, *part) for part in wanted], EngineOptions(workers=plan.workers))
    for count, _ in enumerate(drawn, start=1):
        bars.update("scenes", count, len(wanted))


def _draw_part(part: Path, seed: int, first: int, end: int) -> None:
    """Draw the missing files of a part."""
    if not part.is_dir():
        draw_part(part, seed, first, end)
    draw_ranked(part, seed, first, end)


def _parts(folder: Path, seed: int, scenes: int) -> Iterator[tuple[Path, int, int, int]]:
    for part, start in enumerate(range(0, scenes, _PART_SCENES)):
        yield folder / f"part-{part:03d}", seed, start, min(start + _PART_SCENES, scenes)


def _reported(jobs: Iterable[Future[ModelCard]], events: _Events) -> Iterator[tuple[str, int, float]]:
    """Yield the reports of the workers until all have ended."""
    open_jobs = set(jobs)
    while open_jobs:
        try:
            yield events.get(timeout=_POLL_PERIOD_S)
        except Empty:
            ended = {job for job in open_jobs if job.done()}
            for job in ended:
                result_of(job)  # raises the error of a worker
            open_jobs -= ended


_events: _Events | None = None


def _begin(events: _Events) -> None:
    global _events  # noqa: PLW0603 - set once in each worker process
    _events = events


def _train(plan: PanelPlan, name: str) -> ModelCard:
    """Train one member; runs in a worker."""
    training = load("embodied_iqa.models.panel.training.member_training")
    origin = training.SampleOrigin(plan.seed, plan.held_out_seed, DRAWN_PX, plan.command, plan.quick)
    folders = training.TrainingFolders(plan.out / "train", plan.out / "test", plan.out / "work", plan.models)

    def on_epoch(result: EpochResult) -> None:
        if _events is None:
            raise InternalError("a worker got a member before its set-up")
        _events.put((name, result.epoch, result.loss))

    card: ModelCard = training.train_and_export(_recipe(plan, name), origin, folders, on_epoch)
    return card
