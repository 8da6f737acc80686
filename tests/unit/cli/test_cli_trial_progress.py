"""What the terminal of a trial shows: the stage, and what the trial waits for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import EmbodiedIqaError, InputError
from embodied_iqa.cli import trial
from embodied_iqa.cli.interrupts import EXIT_CODE
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros import environment
from embodied_iqa.pages.reports.trial import trial_report
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.session_plan import SessionPlan, TaskFolder
from embodied_iqa.runs.trial.protocol import Stage


class Bars:
    """Bars that keep their words."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int, str]] = []

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def update(self, name: str, done: int, _total: int | None = None, *, note: str = "") -> None:
        self.shown.append((name, done, note))


@pytest.mark.parametrize(
    ("seen", "error", "said"),
    [
        ({Stage.OPEN, Stage.PREPARE, Stage.CLOSE}, RuntimeError(), "no run began; the logs of this start: "),
        ({Stage.OPEN, Stage.PREPARE, Stage.CLOSE}, KeyboardInterrupt(), ""),
        (set(), RuntimeError(), "no run began; the logs of this start: "),
        ({Stage.OPEN, Stage.RESET}, RuntimeError(), "what was recorded: embodied-iqa report "),
    ],
)
def test_a_trial_that_fails_leaves_a_folder_only_where_a_run_began(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seen: set[Stage],
    error: BaseException,
    said: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "run"
    (folder / "log").mkdir(parents=True)
    (folder / "trial.mcap").touch()
    trial._leave(folder, [folder / "trial.mcap"], seen, error)
    assert capsys.readouterr().err.startswith(said)
    assert folder.exists() is (Stage.RESET in seen)


@pytest.mark.parametrize(
    ("error", "is_whole", "how"),
    [
        (EmbodiedIqaError("not ready"), True, "report.html"),
        (EmbodiedIqaError("not ready"), False, "embodied-iqa report "),
        (KeyboardInterrupt(), True, "embodied-iqa report "),
    ],
)
def test_a_trial_whose_second_task_cannot_start_reports_the_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    *,
    is_whole: bool,
    how: str,
) -> None:
    def report(folder: Path) -> Path:
        if not is_whole:
            raise InputError("cut short")
        return folder / "report.html"

    monkeypatch.setattr(trial_report, "report_of_folder", report)
    monkeypatch.chdir(tmp_path)
    recordings = [tmp_path / task / "trial.mcap" for task in ("first", "second", "third")]
    for recording in recordings[:2]:
        recording.parent.mkdir()
    recordings[0].touch()
    trial._leave(tmp_path, recordings, {Stage.RESET}, error)
    assert capsys.readouterr().err.startswith(f"what was recorded: {how}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["first"]


def test_an_interrupt_while_scores_are_computed_names_the_command_that_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ran(sessions: Any, _run_folder: Path, seen: set[Stage]) -> list[str]:
        seen.add(Stage.EXECUTE)
        sessions[0][1][0].recording.touch()
        return []

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    plan = SessionPlan(("pick the red cube",), 7, (), resolve())
    monkeypatch.setattr(trial, "check", lambda _arguments: plan)
    monkeypatch.setattr(environment, "prepare_environment", lambda: None)
    monkeypatch.setattr(environment, "require_ros", lambda: None)
    monkeypatch.setattr(trial, "_run_with_progress", ran)
    monkeypatch.setattr(trial, "finish_session", interrupted)
    assert main(["trial", "--out", "run"]) == EXIT_CODE
    assert "what was recorded: embodied-iqa report run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_real", "stage", "said", "title"),
    [
        (True, Stage.RESET, "returning to the start (up, over, down): 83 mm", "returning to the start"),
        (True, Stage.ARM, "waiting: 83 mm", "arming"),
        (True, Stage.SETTLE, "", "the scene comes to rest"),
        (False, Stage.RESET, "waiting: 83 mm", "reset"),
    ],
)
def test_the_terminal_shows_the_return_of_a_real_arm(
    capsys: pytest.CaptureFixture[str], *, is_real: bool, stage: Stage, said: str, title: str
) -> None:
    bars, folders = Bars(), [TaskFolder("pick", Path("runs/x"), ())]
    progress = SimpleNamespace(stage=stage, run_index=1, run_count=2, message="83 mm")  # its class needs ROS
    trial._show(bars, 0, folders, 0, progress, stages=trial.stages_of(is_real=is_real))  # type: ignore[arg-type]
    assert capsys.readouterr().err == (f"trial: {said}\n" if said else "")
    assert bars.shown == [("runs done", 1, f"pick: {title}")], "with one count"


def test_images_of_a_folder_that_are_not_read_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_image(tmp_path / "a.png", np.zeros((8, 8, 3), np.uint8))
    (tmp_path / "b.heic").write_bytes(b"")
    views = (View.TOP, View.WRIST)
    trial._check_images(CameraParameters(source=CameraSource.FILES, path=str(tmp_path), views=views))
    said = capsys.readouterr().err
    assert said == "note: left out: 1 image of a format that is not read: b.heic\n"
