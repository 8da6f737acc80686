"""Rows, scores and the folder of an experiment: nothing lost, nothing doubled, the same bytes again."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.experiment.table import as_tree, print_table, write_csv
from embodied_iqa.data.database.run_rows import COLUMNS, RunRow, read_rows, write_rows
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.subject_options import Acts, PolicyOptions, VlaOptions
from embodied_iqa.runs.experiment import folder as experiment_folder
from embodied_iqa.runs.experiment import folder as folder_module
from embodied_iqa.runs.experiment.arms import parse_arms
from embodied_iqa.runs.experiment.experiment_plan import (
    ExperimentPlan,
    RunKey,
    parse_distortions,
    parse_tasks,
)
from embodied_iqa.runs.experiment.folder import ExperimentFolder, opened_experiment
from embodied_iqa.runs.experiment.scores import mean_rows, score_rows

PLAN = ExperimentPlan(
    (parse_vla("classical-vla"),), parse_tasks(2, (), 7), parse_distortions("02,19", (1, 5), 0)
)


def row(key: RunKey, outcome: str = "success", x_m: float = 0.0, **more: object) -> RunRow:
    spec = key.distortion
    values: dict[str, object] = {field.name: None for field in dataclasses.fields(RunRow)}
    values |= {
        "subject": key.subject.text,
        "subject_version": "1",
        "task": key.task.task,
        "scene_seed": key.task.scene_seed,
        "distortion_id": spec.id if spec else "",
        "distortion_name": "x" if spec else "",
        "level": spec.level if spec else 0,
        "distortion_seed": 0,
        "schedule": spec.schedule if spec else "",
        "gate_mode": "off",
        "arm": key.arm.name,
        "held_s": 0.0,
        "clean_frames": 3,
        "false_holds": 0,
        "distorted_frames": 0,
        "passed_distorted": 0,
        "outcome": outcome,
        "reason": "because",
        "duration_s": 1.5,
        "tool_x_m": x_m,
        "tool_y_m": 0.0,
        "tool_z_m": 0.0,
        "decisions": 1,
        "refusals": 0,
        "frames_pass": 3,
        "frames_hold": 0,
        "frames_reject": 0,
    }
    return RunRow(**(values | more))


def test_rows_survive_parquet_and_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [row(key, decision_score=0.1 + 0.2, x_m=1 / 3) for key in PLAN.runs()]
    write_rows(rows, tmp_path / "a.parquet")
    write_rows(rows, tmp_path / "b.parquet")
    assert read_rows(tmp_path / "a.parquet") == rows
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    meta = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert meta.row_group(0).column(0).compression == "ZSTD"
    scored = score_rows(rows)
    write_rows(scored, tmp_path / "scored.parquet")
    assert tuple(pq.read_schema(tmp_path / "scored.parquet").names) == COLUMNS
    with pytest.raises(InputError, match="other columns"):
        read_rows(tmp_path / "scored.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path / "broken.parquet")


def test_scores_by_hand() -> None:
    first, second = PLAN.groups()
    rows = [
        row(first[0]),
        row(first[1], "failure", x_m=0.25),  # 02:1
        row(first[2], "failure", x_m=2.0),  # 02:5, farther than a metre
        row(first[3], "emergency_stop", x_m=0.01),  # 19:1
        row(first[4], "success", x_m=0.4),  # 19:5
        row(second[0], "failure"),  # the reference fails: its runs are left out
        *(row(key, "failure", x_m=0.1) for key in second[1:]),
    ]
    scored = score_rows(reversed(rows))
    by_key = {(item.run.task, item.run.distortion_id, item.run.level): item for item in scored}
    task, other = first[0].task.task, second[0].task.task
    assert by_key[task, "02", 1].execution_score == pytest.approx(75.0)
    assert by_key[task, "02", 1].distance_cm == pytest.approx(25.0)
    assert by_key[task, "02", 5].execution_score == 0.0
    assert by_key[task, "19", 1].execution_score == 0.0
    assert by_key[task, "19", 5].execution_score == 100.0
    assert by_key[task, "", 0].execution_score == 100.0
    assert by_key[other, "", 0].execution_score is None
    assert by_key[other, "02", 1].reference_outcome == "failure"
    lens, dark, every = mean_rows(scored)
    assert (lens.score, dark.score, every.score) == (37.5, 50.0, 43.75)
    assert (lens.runs, lens.left_out, dark.emergency_stops, every.success_rate) == (2, 2, 1, 0.25)
    assert lens.by_level == {1: 75.0, 5: 0.0}
    assert every.spread == pytest.approx(math.sqrt((31.25**2 + 43.75**2 * 2 + 56.25**2) / 4))
    assert as_tree([lens, dark, every])["all"]["score"] == 43.75


def test_a_table_without_any_score(tmp_path: Path) -> None:
    rows = score_rows([row(key, "failure") for key in PLAN.runs()])
    means = mean_rows(rows)
    assert all(mean.score is None and mean.runs == 0 for mean in means)
    write_csv(means, tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_text().splitlines()[-1] == "all,,,off,,0,8,,0,0,0,,"


def test_runs_that_the_gate_held_are_counted_without_a_score() -> None:
    first, second = PLAN.groups()
    rows = [row(first[0]), row(second[0], "held_by_the_gate")]
    rows += [row(key, "held_by_the_gate", x_m=0.3) for key in first[1:4]]
    rows += [row(first[4], "failure", x_m=0.25)]  # 19:5
    rows += [row(key, "failure", x_m=0.25) for key in second[1:]]
    scored = score_rows(rows)
    assert [item.execution_score for item in scored if item.run.outcome == "held_by_the_gate"] == [None] * 4
    _, dark, every = mean_rows(scored)
    assert (dark.runs, dark.held_by_gate, dark.score, dark.by_level) == (2, 1, 75.0, {5: 75.0})
    assert (every.runs, every.left_out, every.held_by_gate, every.score) == (4, 4, 3, 75.0)
    assert every.success_rate == 0.0


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions of subjects that the test sets."""
    known = {"classical-vla": "1"}

    class Info:
        def __init__(self, subject: SubjectReference, vla: VlaOptions | None) -> None:
            self.version = (vla or VlaOptions()).policy.acts.version_of(known[subject.text])

    monkeypatch.setattr(experiment_folder, "info_of", Info)
    return known


def test_a_folder_goes_on_where_it_was_broken_off(tmp_path: Path, versions: dict[str, str]) -> None:
    runs = PLAN.runs()
    folder = ExperimentFolder(tmp_path / "out", {"a": 1, "b": [1.0]}, PLAN)
    assert folder.missing() == list(runs)
    for key in runs[:3]:
        folder.add(key, row(key))
    (tmp_path / "out" / "shards" / f".{runs[3].name}.parquet.part").write_bytes(b"half")
    again = ExperimentFolder(tmp_path / "out", {"b": [1.0], "a": 1}, PLAN)
    assert again.missing() == list(runs[3:])
    assert not list((tmp_path / "out" / "shards").glob(".*"))
    for key in runs[3:]:
        again.add(key, row(key))
    assert again.missing() == []
    assert [item.task for item in again.rows()] == [key.task.task for key in runs]
    always = VlaOptions(policy=PolicyOptions(acts=Acts.ALWAYS))
    assert again.missing(always) == list(runs)
    for key in runs:
        again.add(key, dataclasses.replace(row(key), subject_version="1-always"))
    assert again.missing(always) == []
    versions["classical-vla"] = "2"
    assert again.missing() == again.missing(always) == list(runs)


def test_a_folder_is_known_to_be_of_an_experiment_from_its_first_file_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off after each of the steps that make it, it goes on."""
    out = tmp_path / "out"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(folder_module, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            ExperimentFolder(out, {"a": 1}, PLAN)
    ExperimentFolder(out, {"a": 1}, PLAN)
    (out / "shards").rmdir()
    again = ExperimentFolder(out, {"a": 1}, PLAN)
    again.add(PLAN.runs()[0], row(PLAN.runs()[0]))


def test_another_plan_is_refused_and_added_only_on_request(tmp_path: Path, versions: dict[str, str]) -> None:
    out, parameters = tmp_path / "out", {"a": 1}
    ExperimentFolder(out, parameters, PLAN).add(PLAN.runs()[0], row(PLAN.runs()[0]))
    record = (out / "experiment.json").read_bytes()
    other = ExperimentPlan(PLAN.subjects, parse_tasks(1, (), 7), parse_distortions("02,12", (5,), 0))
    with pytest.raises(UsageError) as refused:
        ExperimentFolder(out, parameters, other)
    assert str(refused.value) == (
        f"{out} holds another plan: task 'push the green cylinder' in scene 8 is there, not asked; "
        "distortion 02:1 with seed 0 is there, not asked; distortion 19:1 with seed 0 is there, not asked; "
        "and 2 more; "
        "expected the same plan, --add to extend it, or another --out"
    )
    assert (out / "experiment.json").read_bytes() == record
    added = ExperimentFolder(out, parameters, other, add=True)
    assert set(added.plan.runs()) > set(PLAN.runs()) | set(other.runs())
    assert len(added.plan.runs()) == 2 * (1 + 5)
    assert ExperimentFolder(out, parameters, other, add=True).plan == added.plan  # goes on after an interrupt
    assert ExperimentFolder(out, parameters, added.plan).plan == added.plan
    with pytest.raises(UsageError, match="plan: distortion 12:5 with seed 0 is there, not asked; expected"):
        ExperimentFolder(out, parameters, PLAN)
    reordered = dataclasses.replace(added.plan, distortions=added.plan.distortions[::-1])
    assert ExperimentFolder(out, parameters, reordered).plan == added.plan


def test_a_plan_without_a_run_is_replaced(tmp_path: Path, versions: dict[str, str]) -> None:
    ExperimentFolder(tmp_path / "out", {"a": 1}, PLAN)
    other = ExperimentPlan(PLAN.subjects, parse_tasks(1, (), 7), parse_distortions("02,12", (5,), 0))
    assert ExperimentFolder(tmp_path / "out", {"a": 2}, other).plan == other
    assert ExperimentFolder(tmp_path / "out", {"a": 2}, PLAN, add=True).plan == other.extended(PLAN)
    ExperimentFolder(tmp_path / "out", {"a": 3}, PLAN).add(PLAN.runs()[0], row(PLAN.runs()[0]))
    with pytest.raises(UsageError, match="another plan: a is 3 there, 2 asked"):
        ExperimentFolder(tmp_path / "out", {"a": 2}, PLAN)


def test_other_parameters_and_strange_folders_are_refused(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path / "out", {"a": 1, "b": 2}, PLAN)
    folder.add(PLAN.runs()[0], row(PLAN.runs()[0]))
    with pytest.raises(UsageError, match=r"another plan: a is 1 there, 3 asked; expected the same plan"):
        ExperimentFolder(tmp_path / "out", {"a": 3, "b": 2}, PLAN)
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds no experiment"):
        ExperimentFolder(strange, {}, PLAN)
    (tmp_path / "out" / "experiment.json").write_text('{"schema": 1, "parameters": {}}')
    with pytest.raises(UsageError, match="another version of this program; expected schema 3"):
        ExperimentFolder(tmp_path / "out", {"a": 1, "b": 2}, PLAN)
    (tmp_path / "out" / "experiment.json").write_text("{")
    with pytest.raises(InputError, match="not JSON: Expecting property name"):
        ExperimentFolder(tmp_path / "out", {"a": 1, "b": 2}, PLAN)


def test_runs_in_which_the_policy_saw_no_target_are_counted_and_scored_like_failures() -> None:
    keys = PLAN.runs()[:3]
    rows = [row(keys[0]), row(keys[1], "no_target", x_m=0.3), row(keys[2], "failure", x_m=0.3)]
    scored = score_rows(rows)
    assert [item.execution_score for item in scored[1:]] == pytest.approx([70, 70])
    every = mean_rows(scored)[-1]
    assert (every.runs, every.no_target, every.success_rate) == (2, 1, 0.0)
    alone = score_rows([row(keys[0], "no_target"), row(keys[1])])
    assert alone[0].execution_score is None


def test_each_gate_has_runs_and_rows_of_its_own(
    tmp_path: Path, versions: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arms = dataclasses.replace(PLAN, tasks=PLAN.tasks[:1], arms=parse_arms("off,metric:niqe,oracle"))
    keys = arms.runs()
    assert len({key.name for key in keys}) == len(keys) == 3 * (1 + 4)
    assert {key.reference.arm for key in keys} == set(arms.arms)
    rows = [row(key, "success" if key.arm.is_oracle or not key.distortion else "failure") for key in keys]
    means = mean_rows(score_rows(rows))
    assert {mean.arm: mean.success_rate for mean in means if mean.distortion_id == "all"} == {
        "off": 0.0, "metric:niqe": 0.0, "oracle": 1.0,
    }  # fmt: skip
    print_table(means)
    assert "metric:niqe: 19" in capsys.readouterr().out
    out = tmp_path / "out"
    before = ExperimentFolder(out, {"a": 1}, dataclasses.replace(arms, arms=arms.arms[:1]))
    for key in before.missing():
        before.add(key, row(key))
    with pytest.raises(UsageError, match="gate metric:niqe is not there, asked; gate oracle is not"):
        ExperimentFolder(out, {"a": 1}, arms)
    added = ExperimentFolder(out, {"a": 1}, arms, add=True)
    assert added.missing() == [key for key in keys if key.arm != arms.arms[0]]
    assert ExperimentFolder(out, {"a": 1}, arms).plan == arms


def test_a_schedule_has_a_row_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    burst = ExperimentPlan(
        PLAN.subjects, PLAN.tasks[:1], parse_distortions("19", (5,), 0, ("burst:length=1",))
    )
    plan = ExperimentPlan(PLAN.subjects, PLAN.tasks[:1], PLAN.distortions).extended(burst)
    keys = plan.runs()
    assert len({key.name for key in keys}) == len(keys) == 6
    rows = [row(key, "failure" if key.distortion and key.distortion.schedule else "success") for key in keys]
    lens, dark, burst_row, every = mean_rows(score_rows(rows))
    assert [mean.schedule for mean in (lens, dark, every)] == ["", "", ""]
    assert (burst_row.distortion_id, burst_row.schedule) == ("19", "burst:start=1.0,length=1.0,every=0.0")
    assert (dark.success_rate, burst_row.success_rate, burst_row.runs) == (1.0, 0.0, 1)
    print_table([lens, dark, burst_row, every])
    assert "burst:start=1.0, length=1.0, every=0.0" in " ".join(capsys.readouterr().out.split())


def test_one_experiment_at_a_time_works_in_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with opened_experiment(out, {"a": 1}, PLAN) as folder:
        folder.add(folder.missing()[0], row(folder.missing()[0]))
        second = opened_experiment(out, {"a": 1}, PLAN)
        with pytest.raises(InputError, match="another experiment works in"), second:
            pass
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    other = opened_experiment(out, {"a": 2}, PLAN)
    with pytest.raises(UsageError, match="another plan: a is 1 there, 2 asked"), other:
        pass
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
