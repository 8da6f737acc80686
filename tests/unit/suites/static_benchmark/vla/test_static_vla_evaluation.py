"""Evaluation of VLAs: baselines, refusals, failures, resuming, distortion, the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.vla import stored_chunks
from embodied_iqa.suites.static_benchmark.vla.evaluation import VlaRun, evaluate_vlas
from embodied_iqa.suites.static_benchmark.vla.stored_chunks import AskVla, vla_subject
from embodied_iqa.suites.static_benchmark.vla.timing import Timing
from embodied_iqa.suites.static_benchmark.vla.trajectories import TrajectoryFolder
from embodied_iqa.suites.static_benchmark.vla.vla_results import (
    VLA_FILE,
    VlaResults,
    VlaRow,
    read_vla_results,
)
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from static_trajectories import write_trajectories

ME = "python:test_static_vla_evaluation:Wayward"
TASKS = 25


class Wayward:
    """Moves 1 cm a row; sees no target where the first pixel is dark, fails where it is bright."""

    info = SubjectInfo("wayward", "3", "for a test", (View.TOP,), rate_hz=12.5)
    calls = 0

    def act(self, observation: VlaObservation) -> ActionChunk:
        type(self).calls += 1
        value = int(observation.frames[View.TOP].rgb[0, 0, 0])
        if value < 60:
            return ActionChunk.still(ChunkStatus.NO_TARGET, "dark")
        if value > 200:
            raise ValueError("too bright")
        step = [0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        return ActionChunk(ChunkStatus.ACT, np.array([step] * 4), "moves")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench")
    write_trajectories(path, TASKS)
    return path


def _evaluate(bench: Path, out: Path, *names: str, specs: Sequence[DistortionSpec] = ()) -> VlaResults:
    return evaluate_vlas(VlaRun(bench, out, tuple(map(vla_subject, names)), tuple(specs)))


def _row(results: VlaResults, subject: str, timing: Timing | None = None, level: int = 0) -> VlaRow:
    rows = [row for row in results.rows if row.subject == subject and row.level == level]
    (row,) = [row for row in rows if (row.main if timing is None else row.timing is timing)]
    return row


def test_the_baselines_are_the_ends_of_the_scale(bench: Path, tmp_path: Path) -> None:
    results = _evaluate(bench, tmp_path, "still", "expert", "expert-1cm")
    expert, near, still = (_row(results, name) for name in ("expert", "expert-1cm", "still"))
    parts = (expert.position, expert.orientation, expert.end_effector, expert.overall)
    assert parts == pytest.approx((100.0,) * 4)
    assert (near.position, near.orientation) == pytest.approx((66.67, 100.0), abs=0.004)
    assert near.overall == pytest.approx((200 + 300 + 100) / 7)
    assert 0.0 < still.overall < near.overall
    assert [row.subject for row in results.main_rows()] == ["expert", "expert-1cm", "still"]


def test_refusals_and_failures_have_0_points_and_are_counted_apart(bench: Path, tmp_path: Path) -> None:
    results = _evaluate(bench, tmp_path, ME)
    folder = TrajectoryFolder(bench)
    first = [int(folder.frames(task)[View.TOP].rgb[0, 0, 0]) for task in folder.read()]
    dark, bright = sum(value < 60 for value in first), sum(value > 200 for value in first)
    row = _row(results, ME)
    assert (row.refused, row.failed, row.tasks) == (dark, bright, TASKS)
    assert min(dark, bright) > 0
    assert row.answered is not None
    assert row.overall == pytest.approx(row.answered * (TASKS - dark - bright) / TASKS)
    by_task = [task for task in results.by_task if task.status != "act"]
    assert len(by_task) == dark + bright
    assert {task.overall for task in by_task} == {0.0}
    assert "ValueError: too bright" in {task.reason for task in by_task}


def test_a_subject_that_names_its_rate_is_resampled_and_all_timings_are_there(
    bench: Path, tmp_path: Path
) -> None:
    results = _evaluate(bench, tmp_path, ME)
    assert {row.timing: row.main for row in results.rows} == {
        Timing.RATE: True,
        Timing.STEPS: False,
        Timing.ARM: False,
    }
    assert (_row(results, ME, Timing.RATE).steps, _row(results, ME, Timing.STEPS).steps) == (4.0, 4.0)
    assert _row(results, ME, Timing.ARM).steps == 50.0
    assert any("main score" in choice for choice in results.choices)


def test_a_killed_run_resumed_gives_the_same_file(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [DistortionSpec("19", 5)]
    _evaluate(bench, tmp_path / "whole", ME, specs=specs)
    started = 0

    def killed(self: AskVla) -> object:
        nonlocal started
        started += 1
        if started > 2:
            raise KeyboardInterrupt
        return call(self)

    call = AskVla.__call__
    with monkeypatch.context() as patch:
        patch.setattr(AskVla, "__call__", killed)
        with pytest.raises(KeyboardInterrupt):
            _evaluate(bench, tmp_path / "cut", ME, specs=specs)
    assert not (tmp_path / "cut" / VLA_FILE).exists()
    Wayward.calls = 0
    again = _evaluate(bench, tmp_path / "cut", ME, specs=specs)
    assert Wayward.calls == TASKS
    files = [(tmp_path / name / VLA_FILE).read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]
    assert read_vla_results(tmp_path / "cut") == again
    Wayward.calls = 0
    _evaluate(bench, tmp_path / "cut", ME, specs=specs)
    assert Wayward.calls == 0


def test_a_damaged_answer_or_another_version_is_asked_again(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _evaluate(bench, tmp_path, ME)
    file = next((tmp_path / "vla_answers").rglob("*.json"))
    file.write_text(file.read_text()[:100])
    Wayward.calls = 0
    assert _evaluate(bench, tmp_path, ME) == before
    assert 0 < Wayward.calls < TASKS
    monkeypatch.setattr(stored_chunks, "_SCHEMA", 99)
    Wayward.calls = 0
    _evaluate(bench, tmp_path, ME)
    assert Wayward.calls == TASKS


def test_under_distortion_the_change_is_against_clean_images(bench: Path, tmp_path: Path) -> None:
    results = _evaluate(bench, tmp_path, ME, specs=[DistortionSpec("19", level) for level in (1, 5)])
    clean = _row(results, ME)
    for level in (1, 5):
        row = _row(results, ME, level=level)
        assert row.distortion == "19"
        assert row.change == pytest.approx(row.overall - clean.overall)
    assert clean.change == 0.0


def test_intervals_hold_the_score_and_one_task_has_none(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "many", 12)
    write_trajectories(tmp_path / "one", 1)
    row = _row(_evaluate(tmp_path / "many", tmp_path / "a", "still"), "still")
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.overall < row.high
    alone = _row(_evaluate(tmp_path / "one", tmp_path / "b", "still"), "still")
    assert (alone.low, alone.high) == (None, None)


def test_a_vlm_is_no_subject_of_this_half() -> None:
    with pytest.raises(UsageError, match="is a VLM, not a VLA"):
        vla_subject("panel-vlm-fine")
