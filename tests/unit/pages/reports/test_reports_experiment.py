"""The report of an experiment that compares gates."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from pathlib import Path

import pytest

from embodied_iqa.cli.experiment.table import ALL_DISTORTED, as_tree, print_gates
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.pages.reports.experiment.experiment_report import write_experiment_report
from embodied_iqa.pages.reports.experiment.gate_arms import risk_against_availability
from embodied_iqa.runs.experiment.arms import parse_arms
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, parse_distortions, parse_tasks
from embodied_iqa.runs.experiment.folder import StoredExperiment
from embodied_iqa.runs.experiment.gate_arms import ALL, Comparison, Measure, compare_arms
from embodied_iqa.runs.experiment.scores import mean_rows, score_rows


def _run(arm: str, scene: int, distortion: str, *, wrong: bool, held: int) -> RunRow:
    values: dict[str, object] = {
        field.name: {"str": "", "int": 0, "float": 0.0}.get(str(field.type))
        for field in dataclasses.fields(RunRow)
    }
    values |= {"subject": "a", "task": "t", "scene_seed": scene, "arm": arm, "gate_mode": "on"}
    values |= {"distortion_id": distortion, "level": 5 if distortion else 0, "duration_s": 4.0 + held}
    values |= {"outcome": "failure" if wrong else "success", "wrong_motions": int(wrong)}
    return RunRow(**(values | {"clean_frames": 10, "false_holds": held}))


def gate_runs() -> list[RunRow]:
    """Return ten scenes with 8 wrong motions without a gate, 2 with the learned one, 0 with the oracle."""
    arms = {"off": (8, 0), "learned": (2, 1), "oracle": (0, 0)}
    return [
        _run(arm, scene, distortion, wrong=bool(distortion) and scene < wrong, held=held)
        for arm, (wrong, held) in arms.items()
        for scene in range(10)
        for distortion in ("", "04")
    ]


def stored_gates() -> StoredExperiment:
    """Return them as an experiment of one policy."""
    plan = ExperimentPlan(
        (parse_vla("panel-vla-query"),),
        parse_tasks(2, (), 7, 5),
        parse_distortions("04", (5,), 0, ("burst:start=0,length=1.5",)),
        parse_arms("off,learned,oracle"),
    )
    return StoredExperiment(plan, {}, tuple(gate_runs()), 10)


@pytest.fixture
def comparison() -> Comparison:
    return compare_arms(gate_runs(), ["learned", "off", "oracle"], draws=100)


def test_the_page_has_every_gate_with_its_distance_to_off_and_to_the_oracle(
    comparison: Comparison, tmp_path: Path
) -> None:
    (tmp_path / "experiment.json").write_text("{}")
    page = write_experiment_report(stored_gates(), comparison, tmp_path).read_text(encoding="utf-8")
    assert re.search(
        r"With learned at most 0\.\d+ wrong motions a run, and at least 0\.\d+ fewer than without a gate "
        r"\(ends of 95 % intervals; measured: 0\.200\)",
        page,
    )
    assert "Risk against availability" in page
    with (tmp_path / "report_tables" / "gate_arms.csv").open(encoding="utf-8") as stream:
        found = {(row["measure"], row["gate"]): row for row in csv.DictReader(stream)}
    assert len(found) == 3 * len(Measure)
    success = found["success", "learned"]
    assert float(success["value"]) == pytest.approx(0.8)
    assert float(success["minus_off"]) == pytest.approx(0.6)
    assert float(success["minus_oracle"]) == pytest.approx(-0.2)
    assert float(success["p"]) == pytest.approx(2 * 0.5**6)
    assert found["success", "off"]["minus_off"] == ""
    names = {path.name for path in (tmp_path / "report_tables").iterdir()}
    before = {"gate_arms.csv", "gate_arms_clean.csv", "gate_arms_by_distortion.csv"}
    assert names == before | {"gate_arms_by_distortion_more.csv", "gate_availability.csv", "gate_goals.csv"}


def test_the_curve_has_a_point_for_each_gate(comparison: Comparison) -> None:
    plot = risk_against_availability(comparison)
    assert plot is not None
    described = {point.description for point in plot.points}
    assert any(text.startswith("learned: 0.200") and "0.900 available" in text for text in described)
    assert len(described) == 3


def test_the_terminal_shows_differences_to_off(
    comparison: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    print_gates(comparison)
    printed = capsys.readouterr().out
    assert "0.80 (+0.60)" in printed
    assert "peak contact n" in printed
    assert ALL_DISTORTED == ALL


def test_json_has_no_numbers_that_json_lacks(comparison: Comparison) -> None:
    tree = as_tree(mean_rows(score_rows(gate_runs())), comparison)
    again = json.loads(json.dumps(tree, allow_nan=False))
    assert again["gates"]["arms"] == ["off", "learned", "oracle"]
    peak = [row for row in again["gates"]["measured"] if row["measure"] == "peak_contact_n"]
    assert peak[0]["estimate"]["value"] is None
    assert comparison.of(ALL, "learned", Measure.SUCCESS).runs == 10
    assert [row["arm"] for row in again["all_by_arm"]] == ["off", "learned", "oracle"]
