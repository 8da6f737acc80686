"""Training of the panel as a whole: shows the epochs, replaces killed workers, keeps others out."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.models.panel.image_formats import SMALL_WHOLE
from embodied_iqa.models.panel.panel_members import RECIPES, PanelPlan
from embodied_iqa.models.panel.samples.draw_samples import draw_part, draw_ranked
from embodied_iqa.models.panel.training import train_panel as module
from embodied_iqa.models.panel.training.train_panel import train_panel

SCENES = 8
MEMBER = next(name for name, recipe in RECIPES.items() if recipe.images == SMALL_WHOLE)


class Bars(ProgressBars):
    """Remembers what is shown, and kills the workers when the first epoch of a member is."""

    def __init__(self, *, kills: bool = False) -> None:
        super().__init__()
        self.kills, self.killed = kills, 0
        self.shown: list[tuple[str, float, float | None]] = []

    def update(
        self, stage: str, done: float, total: float | None = None, *, title: str = "", note: str = ""
    ) -> None:
        self.shown.append((stage, done, total))
        if self.kills and stage == MEMBER and not self.killed:
            for worker in multiprocessing.active_children():
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)
                self.killed += 1


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all samples of a small training."""
    folder = tmp_path_factory.mktemp("drawn")
    for part, seed in ((folder / "train" / "part-000", 1), (folder / "test" / "part-000", 2)):
        draw_part(part, seed, 0, SCENES)
        draw_ranked(part, seed, 0, SCENES)
    return folder


def plan_in(out: Path, drawn: Path, *, workers: int) -> PanelPlan:
    shutil.copytree(drawn, out)
    return PanelPlan((MEMBER,), out, quick=True, workers=workers, scenes=SCENES, epochs=4)


def test_a_killed_worker_costs_no_training(drawn: Path, tmp_path: Path) -> None:
    whole, interrupted = Bars(), Bars(kills=True)
    (card,) = train_panel(plan_in(tmp_path / "whole", drawn, workers=1), whole)
    (again,) = train_panel(plan_in(tmp_path / "interrupted", drawn, workers=2), interrupted)
    assert interrupted.killed > 0
    assert again.sha256 == card.sha256
    for bars in (whole, interrupted):
        epochs = [(done, total) for stage, done, total in bars.shown if stage == MEMBER]
        assert epochs == sorted(set(epochs))
        assert epochs[-1][0] == epochs[-1][1]


def test_members_are_reported_as_they_end_and_returned_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that fails at once must not be noticed only when those before it are trained."""
    names = list(RECIPES)[:3]

    def last_first(jobs: Sequence[Callable[[], object]], _: EngineOptions) -> Iterator[object]:
        return (job() for job in reversed(jobs))

    monkeypatch.setattr(module, "run_jobs", last_first)
    monkeypatch.setattr(module, "_draw", lambda *_: None)
    monkeypatch.setattr(module, "_train", lambda _, name: SimpleNamespace(name=name))
    plan = PanelPlan((*names, names[0]), tmp_path, quick=True, workers=2, scenes=SCENES, epochs=4)
    cards = train_panel(plan, Bars())
    assert [card.name for card in cards] == names, "a member that is named twice is trained once"


def test_one_training_works_in_a_folder(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_in(tmp_path / "out", drawn, workers=1)
    monkeypatch.setattr(module, "_draw", lambda *_: pytest.fail("works in a locked folder"))
    with (
        JobFolder(plan.out, "training of the panel").locked(),
        pytest.raises(InputError, match="another training of the panel works in"),
    ):
        train_panel(plan, Bars())
