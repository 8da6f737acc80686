"""Static-to-simulated correlation: exact, undefined, intervals, joins, the command."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.pages.reports.static.stored_results import read_static_results, write_evaluation
from embodied_iqa.suites.static_benchmark.static_to_simulated import (
    Relation,
    StaticScore,
    executions_of_csv,
    executions_of_runs,
    plcc,
    s2d_rows,
)
from embodied_iqa.suites.static_benchmark.vla.vla_results import FORMAT, VLA_FILE, VlaResults, VlaTaskRow

RNG = np.random.default_rng(3)


def _task(subject: str, index: int, overall: float, arm: float | None = None) -> VlaTaskRow:
    words = (f"{index:03d}", "pick the red cube", index, "pick", "wood", "act", "")
    return VlaTaskRow(subject, *words, overall, overall, overall, overall, arm)


def _results(*rows: VlaTaskRow) -> VlaResults:
    return VlaResults(FORMAT, "0" * 64, "made for a test", 5, 0, (), (), rows)


def test_exact_linear_data_have_1_and_minus_1() -> None:
    static = RNG.uniform(0.0, 100.0, 40)
    up, down = plcc(static, 0.01 * static), plcc(static, 1.0 - 0.01 * static)
    assert (up.value, down.value) == pytest.approx((1.0, -1.0))
    assert (up.low, up.high, up.tasks) == (pytest.approx(1.0), pytest.approx(1.0), 40)


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1])
def test_constant_columns_and_few_tasks_are_undefined_not_0(constant: float) -> None:
    other = RNG.uniform(size=20)
    for pair in ((np.full(20, constant), other), (other, np.full(20, constant))):
        found = plcc(*pair)
        assert (found.value, found.low, found.high) == (None, None, None)
        assert found.undefined == "one side is constant"
    assert plcc(other[:2], other[:2]).undefined == "fewer than three common scores"


def test_broken_columns_are_refused() -> None:
    with pytest.raises(InputError, match="same tasks"):
        plcc([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InputError, match="finite"):
        plcc([1.0, 2.0, np.nan], [1.0, 2.0, 3.0])


def test_the_bootstrap_interval_covers_a_known_correlation() -> None:
    rho, trials, covered = 0.66, 120, 0
    for trial in range(trials):
        first, noise = np.random.default_rng(trial).normal(size=(2, 60))
        found = plcc(first, rho * first + np.sqrt(1 - rho**2) * noise, seed=trial)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= rho <= found.high
    assert 0.88 <= covered / trials <= 0.99


def test_both_static_scores_are_correlated_where_both_exist() -> None:
    rows = [_task("a", index, 10.0 * index, 50.0 - index) for index in range(5)]
    rows += [_task("b", index, 10.0 * index) for index in range(5)]
    executions = {(name, f"{index:03d}"): index / 4 for name in "ab" for index in range(5)}
    found = s2d_rows(_results(*rows), executions, Relation.SIMULATED)
    values = {(row.subject, row.score): row.plcc.value for row in found}
    assert values == {
        ("a", StaticScore.MAIN): pytest.approx(1.0),
        ("a", StaticScore.ARM): pytest.approx(-1.0),
        ("b", StaticScore.MAIN): pytest.approx(1.0),
    }
    assert {row.relation for row in found} == {"static-to-simulated"}
    with pytest.raises(InputError, match="no task of the benchmark"):
        s2d_rows(_results(*rows), {("c", "000"): 1.0}, Relation.REAL)


def _run(subject: str, task: str, scene_seed: int, outcome: str, distortion_id: str = "") -> RunRow:
    values = dict.fromkeys((field.name for field in fields(RunRow)), 0)
    named = {"subject": subject, "task": task, "scene_seed": scene_seed, "outcome": outcome}
    return RunRow(**values | named | {"distortion_id": distortion_id})  # type: ignore[arg-type] # by name


def test_runs_of_an_experiment_are_joined_by_subject_words_and_scene() -> None:
    results = _results(*(_task("a", index, 10.0 * index) for index in range(4)))
    words = "pick the red cube"
    runs = [
        _run("a", words, 0, "success"),
        _run("a", words, 0, "failure"),
        _run("a", words, 1, "failure"),
        _run("a", words, 1, "success", "02"),
        _run("a", words, 2, "held_by_the_gate"),
        _run("b", words, 2, "success"),
        _run("a", "push the red cube", 3, "success"),
        _run("a", words, 9, "success"),
    ]
    assert executions_of_runs(results, runs) == {("a", "000"): 0.5, ("a", "001"): 0.0}


def test_the_command_joins_a_csv_file_and_writes_its_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json_whole(
        tmp_path / VLA_FILE,
        unstructure(_results(*(_task(name, index, 10.0 * index) for name in "ab" for index in range(5)))),
    )
    file = tmp_path / "runs.csv"
    lines = [f"a,{index:03d},{value}" for index in range(5) for value in (index / 8, index / 8 + 0.5)]
    file.write_text("\n".join(["subject,task,execution", *lines]) + "\n")
    assert executions_of_csv(file)["a", "002"] == 0.5
    assert main(["static", "s2d", str(tmp_path), str(file)]) == 0
    shown = capsys.readouterr().out
    assert "static-to-real" in shown
    assert "without a run that counts (a run that the gate held does not): b\n" in shown
    (row,) = json.loads((tmp_path / "s2d.json").read_text())
    assert row["plcc"]["value"] == pytest.approx(1.0)
    assert main(["static", "s2d", str(tmp_path), str(file), "--simulated", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["relation"] == "static-to-simulated"


def test_a_correlation_of_other_static_scores_is_not_shown(tmp_path: Path) -> None:
    before = _results(*(_task("a", index, 10.0 * index) for index in range(5)))
    after = _results(*(_task("a", index, 10.0 * index + (index == 2)) for index in range(5)))
    executions = {("a", f"{index:03d}"): index / 4 for index in range(5)}
    write_evaluation(tmp_path, tmp_path)
    write_json_whole(tmp_path / "s2d.json", unstructure(s2d_rows(before, executions, Relation.SIMULATED)))
    for results, shown, outdated in ((before, 1, 0), (after, 0, 1)):
        write_json_whole(tmp_path / VLA_FILE, unstructure(results))
        found = read_static_results(tmp_path)
        assert (len(found.s2d), found.outdated) == (shown, outdated)


@pytest.mark.parametrize("text", ["subject,task\na,0\n", "subject,task,execution\na,0,1.5\n", "\udcff"])
def test_a_wrong_csv_file_is_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_json_whole(tmp_path / VLA_FILE, unstructure(_results(_task("a", 0, 1.0))))
    file = tmp_path / "runs.csv"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["static", "s2d", str(tmp_path), str(file)]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["static", "s2d", str(tmp_path), str(tmp_path / "nothing")]) == 1
    assert "holds no execution" in capsys.readouterr().err
