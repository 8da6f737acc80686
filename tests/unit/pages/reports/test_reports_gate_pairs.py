"""A gate that the arm obeys beside the same runs without it, in the report of a trial."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from report_pages import page_of, reported, words
from synthetic_trial import BLURRED, REFERENCE, write_trial

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.reports.trial import header
from embodied_iqa.pages.reports.trial.gate_pairs import gate_pairs, guarded_tasks
from embodied_iqa.runs.offline.stored_run import ReportedTask, load_run
from embodied_iqa.runs.trial.run_folder import write_json
from embodied_iqa.runs.trial.scores import as_json

SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE


def task_of(recording: Path, mode: GateMode, outcome: Outcome) -> ReportedTask:
    record = reported(recording).record
    runs = tuple(dataclasses.replace(run, gate_mode=mode) for run in record.runs)
    runs = (runs[0], dataclasses.replace(runs[1], outcome=outcome))
    return reported(recording, dataclasses.replace(record, runs=runs))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trial(tmp_path_factory.mktemp("pair") / "trial.mcap", (REFERENCE, BLURRED))


@pytest.mark.parametrize(
    ("without", "guarded", "said"),
    [
        (FAILURE, SUCCESS, "fails without the gate and succeeds with it. The gate held the arm for 0.2 s."),
        (
            SUCCESS,
            SUCCESS,
            "succeeds with and without the gate, which held the arm for 0.2 s; the run took the same time.",
        ),
        (SUCCESS, FAILURE, "succeeds only without the gate."),
        (FAILURE, FAILURE, "fails with and without the gate."),
    ],
)
def test_a_run_with_the_gate_is_compared_with_the_same_run_without_it(
    recording: Path, without: Outcome, guarded: Outcome, said: str
) -> None:
    shadow, on = (
        task_of(recording, mode, outcome)
        for mode, outcome in ((GateMode.SHADOW, without), (GateMode.ON, guarded))
    )
    clean, blurred = gate_pairs([shadow, on])
    assert clean.guarded.record.distortion is None
    assert blurred.guarded.record.distortion == blurred.without.record.distortion == BLURRED.spec
    assert (blurred.without.record.outcome, blurred.guarded.record.outcome) == (without, guarded)
    assert blurred.words == f"The task {said}"


@pytest.mark.parametrize(
    ("later_s", "said"),
    [(1.26, "took 1.3 s longer."), (-0.5, "took 0.5 s less."), (-0.04, "took the same time.")],
)
def test_the_time_of_a_gate_that_did_not_hold_is_compared(recording: Path, later_s: float, said: str) -> None:
    modes = (GateMode.SHADOW, GateMode.ON)
    pair, _ = gate_pairs([task_of(recording, mode, SUCCESS) for mode in modes])
    run = pair.without.record  # in shadow nothing is held
    run = dataclasses.replace(run, end_ns=run.end_ns + round(later_s * 1e9))
    other = dataclasses.replace(pair, guarded=dataclasses.replace(pair.guarded, record=run))
    start = "The task succeeds with and without the gate, which did not hold the arm; the run "
    assert other.words == start + said


def test_what_is_only_shown_does_not_count_in_the_means(recording: Path, tmp_path: Path) -> None:
    shadow, on = task_of(recording, GateMode.SHADOW, FAILURE), task_of(recording, GateMode.ON, SUCCESS)
    page = page_of([shadow, on], tmp_path)
    text = words(page)
    assert "under 1 distortion 0 of 1 run succeeded" in text
    assert "With the gate and without" in text
    assert "The task fails without the gate and succeeds with it" in text
    assert "gate on: the arm obeys" in text
    assert len(page.xpath("//article")) == 4
    assert "1 task without and with the gate, 4 runs" in text
    assert [words(title) for title in page.xpath("//section/header/p[@class='eyebrow']")] == [
        "Task 1 of 1, without the gate",
        "Task 1 of 1, with the gate",
    ]


def test_what_no_gate_has_judged_has_not_passed(recording: Path, tmp_path: Path) -> None:
    text = words(page_of([task_of(recording, GateMode.OFF, FAILURE)], tmp_path))
    assert "mode off: no image is judged No image was judged." in text
    assert "Every frame passed." not in text


def test_a_task_counts_once_with_and_without_the_gate(recording: Path) -> None:
    shadow, on = (task_of(recording, mode, SUCCESS) for mode in (GateMode.SHADOW, GateMode.ON))
    other = dataclasses.replace(shadow, record=dataclasses.replace(shadow.record, scene_seed=8))
    for tasks, count, titles in (
        ([shadow], "1 task, ", ("Task 1 of 1",)),
        ([on], "1 task, ", ("Task 1 of 1",)),
        (
            [shadow, other, on],
            "2 tasks, 1 of them also with the gate, ",
            ("Task 1 of 2, without the gate", "Task 2 of 2", "Task 1 of 2, with the gate"),
        ),
    ):
        assert header.subtitle(tasks).startswith(f"{count}{2 * len(tasks)} runs")
        assert header.task_titles(tasks) == titles


@pytest.mark.parametrize("modes", [(GateMode.SHADOW,), (GateMode.ON,), (GateMode.SHADOW, GateMode.OFF)])
def test_without_a_pair_there_is_no_comparison(
    recording: Path, tmp_path: Path, modes: tuple[GateMode, ...]
) -> None:
    tasks = [task_of(recording, mode, SUCCESS) for mode in modes]
    assert gate_pairs(tasks) == guarded_tasks(tasks) == ()
    text = words(page_of(tasks, tmp_path))
    assert "With the gate and without" not in text
    assert "of 1 run succeeded" in text or len(modes) > 1


def test_scores_of_one_task_with_two_gates_are_not_mixed(tmp_path: Path) -> None:
    runs = []
    for name, mode in (("a", 1), ("b", 0)):
        (tmp_path / name).mkdir()
        recording = write_trial(tmp_path / name / "trial.mcap", (REFERENCE, BLURRED), gate_mode=mode)
        runs += [as_json(scores) for scores in reported(recording).scores]
    write_json(tmp_path / "scores.json", {"runs": runs})
    tasks, _ = load_run(tmp_path)
    assert [[scores.gate.mode for scores in task.scores] for task in tasks] == [
        [GateMode.SHADOW] * 2,
        [GateMode.ON] * 2,
    ]
    assert len(gate_pairs(tasks)) == 2


def test_an_unfinished_session_counts_the_runs_of_the_burst(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "trial.mcap").symlink_to(recording)
    plan = "tasks: [pick]\ndistortions: [{id: '02'}]\nburst: {id: '19'}\n"
    (tmp_path / "config.yaml").write_text(plan)
    _, context = load_run(tmp_path)
    assert any("2 of 5 runs were recorded" in remark for remark in context.remarks)
