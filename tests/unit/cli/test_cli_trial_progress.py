"""What the terminal of a trial shows: the stage, and what the trial waits for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from embodied_iqa.cli import trial
from embodied_iqa.runs.graph.session_plan import TaskFolder
from embodied_iqa.runs.trial.protocol import Stage


class Bars:
    """Bars that keep their titles."""

    def __init__(self) -> None:
        self.titles: list[str] = []

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def update(self, _name: str, _done: int, _total: int | None = None, *, title: str = "") -> None:
        self.titles.append(title)


@pytest.mark.parametrize(
    ("is_real", "stage", "said", "title"),
    [
        (True, Stage.RESET, "returning to the start: 83 mm", "returning to the start"),
        (True, Stage.ARM, "waiting: 83 mm", "arming"),
        (True, Stage.SETTLE, "", "settling"),
        (False, Stage.RESET, "waiting: 83 mm", "reset"),
    ],
)
def test_the_terminal_shows_the_return_of_a_real_arm(
    capsys: pytest.CaptureFixture[str], *, is_real: bool, stage: Stage, said: str, title: str
) -> None:
    bars, folders = Bars(), [TaskFolder("pick", Path("runs/x"), ())]
    progress = SimpleNamespace(stage=stage, run_index=0, run_count=2, message="83 mm")  # its class needs ROS
    trial._show(bars, 0, folders, 0, progress, stages=trial.stages_of(is_real=is_real))  # type: ignore[arg-type]
    assert capsys.readouterr().err == (f"trial: {said}\n" if said else "")
    assert bars.titles == [f"pick: run 1 of 2, {title}"]
