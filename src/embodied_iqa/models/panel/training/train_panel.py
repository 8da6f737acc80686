"""Training of the panel from scratch: draws the samples, then trains several members in parallel."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.lazy import load
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.models.panel.panel_members import (
    PART_SCENES,
    PanelPlan,
    ReactiveRecipe,
    Recipe,
    adapted,
    quick,
    recipe_of,
)
from embodied_iqa.models.panel.samples.draw_samples import DRAWN_PX, draw_part, draw_ranked, is_drawn
from embodied_iqa.models.subjects.model_card import ModelCard

if TYPE_CHECKING:
    from embodied_iqa.base.training.training_state import EpochResult

_POLL_PERIOD_S: Final = 0.5
_SAMPLES: Final = ("test", "train")
_STATES: Final = "states"
"""Folder of the states of policies that look while they act, a folder each."""
_REACTIVE: Final = "embodied_iqa.models.panel.training.reactive_training"
_HELD_OUT_ACTED: Final = 40
"""Largest number of held-out scenes whose states are drawn."""


def train_panel(plan: PanelPlan, bars: ProgressBars) -> list[ModelCard]:
    """Draw samples, then train, export and evaluate the members; resumes an interrupted training.

    Args:
        plan: Members and amount of training.
        bars: A bar for the scenes and one per member.

    Raises:
        UsageError: A member is unknown.
        InputError: A checkpoint in the folder is broken, another training works in it, or workers are killed
            repeatedly.
    """
    recipes = [_recipe(plan, name) for name in dict.fromkeys(plan.members)]
    jobs = [partial(_train, plan, recipe.name) for recipe in recipes]
    with JobFolder(plan.out, "training of the panel").locked():
        _draw(plan, recipes, bars)
        with _shown(plan, recipes, bars):  # a worker that is killed costs the epoch that it trained
            # As they end: in order, a failure and idle workers would wait for the members before them.
            cards = {card.name: card for card in run_jobs(jobs, EngineOptions(workers=plan.workers))}
    return [cards[recipe.name] for recipe in recipes]


def _recipe(plan: PanelPlan, name: str) -> Recipe:
    recipe = recipe_of(name)
    recipe = adapted(quick(recipe) if plan.quick else recipe, plan.scenes, plan.epochs)
    return dataclasses.replace(recipe, seed=recipe.seed + 1000 * plan.seed)


def _draw(plan: PanelPlan, recipes: Sequence[Recipe], bars: ProgressBars) -> None:
    """Draw the missing parts of training and held-out samples."""
    others = [recipe.scenes for recipe in recipes if not isinstance(recipe, ReactiveRecipe)]
    jobs: dict[Path, Callable[[], None]] = {}
    if others:
        test, train = (plan.out / folder for folder in _SAMPLES)
        wanted = [*_parts(test, plan.held_out_seed, plan.held_out_scenes, PART_SCENES)]
        wanted += _parts(train, plan.seed, max(others), PART_SCENES)
        jobs |= {part: partial(_draw_part, part, *scenes) for part, *scenes in wanted}
    for recipe in recipes:
        if isinstance(recipe, ReactiveRecipe):
            jobs |= _states_to_draw(plan, recipe)
    missing = [job for path, job in jobs.items() if not (path.is_file() or is_drawn(path))]
    drawn = len(jobs) - len(missing)  # no worker starts for these
    for count, _ in enumerate(run_jobs(missing, EngineOptions(workers=plan.workers)), start=drawn + 1):
        bars.update("scenes", count, len(jobs))


def _states_to_draw(plan: PanelPlan, recipe: ReactiveRecipe) -> dict[Path, Callable[[], None]]:
    """Return what draws the files of the states that the expert comes to, for training and held out."""
    state_files, round_files = load(f"{_REACTIVE}:state_files"), load(f"{_REACTIVE}:round_files")
    train, test = _state_folders(plan, recipe)
    held_out = range(min(plan.held_out_scenes, _HELD_OUT_ACTED))
    return {
        file: partial(load(f"{_REACTIVE}:draw_file"), recipe, file, seed, scenes)
        for seed, files in (
            (plan.held_out_seed, state_files(test, held_out)),
            (plan.seed, round_files(recipe, train, 0)),
        )
        for file, scenes in files.items()
    }


def _state_folders(plan: PanelPlan, recipe: Recipe) -> tuple[Path, Path]:
    """Return the folders of the states of training and of held-out ones."""
    return plan.out / _STATES / recipe.name, plan.out / _STATES / f"{recipe.name}-held-out"


def _draw_part(part: Path, seed: int, first: int, end: int) -> None:
    """Draw the missing files of a part."""
    if not part.is_dir():
        draw_part(part, seed, first, end)
    draw_ranked(part, seed, first, end)


def _parts(folder: Path, seed: int, scenes: int, size: int) -> Iterator[tuple[Path, int, int, int]]:
    for part, start in enumerate(range(0, scenes, size)):
        yield folder / f"part-{part:03d}", seed, start, min(start + size, scenes)


@contextmanager
def _shown(plan: PanelPlan, recipes: Sequence[Recipe], bars: ProgressBars) -> Iterator[None]:
    """Show the epochs that the members have stored, whichever process trains them."""
    stored_results = load("embodied_iqa.base.training.training_state:stored_results")
    shown: dict[str, int] = {}

    def show() -> None:
        for recipe in recipes:
            results: list[EpochResult] = stored_results(plan.work / recipe.name)
            if len(results) > shown.get(recipe.name, 0):
                shown[recipe.name] = len(results)
                note = f"loss {results[-1].loss:.3f}"
                bars.update(recipe.name, len(results), recipe.all_epochs, note=note)

    def watch() -> None:
        while not ended.wait(_POLL_PERIOD_S):
            show()

    ended, thread = threading.Event(), threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        show()


def _train(plan: PanelPlan, name: str) -> ModelCard:
    """Train one member, or continue its training; runs in a worker."""
    training = load("embodied_iqa.models.panel.training.member_training")
    origin = training.SampleOrigin(plan.seed, plan.held_out_seed, DRAWN_PX, plan.command, plan.quick)
    recipe, make = _recipe(plan, name), training.train_and_export
    test, train = (plan.out / folder for folder in _SAMPLES)
    if isinstance(recipe, ReactiveRecipe):
        make, (train, test) = load(f"{_REACTIVE}:train_reactive"), _state_folders(plan, recipe)
    card: ModelCard = make(recipe, origin, training.TrainingFolders(train, test, plan.work, plan.models))
    return card
