"""`embodied-iqa experiment`: killed half-way and resumed it ends with the same table and the same bytes."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

import pytest

from embodied_iqa.cli.experiment import configure
from embodied_iqa.cli.experiment.running import _graph, _parameters
from embodied_iqa.cli.main import main
from embodied_iqa.runs.experiment.experiment_plan import parse_subjects
from embodied_iqa.runs.graph.node_table import resolve
from fail_points import fail_point
from live_process import TRIAL_S, running_program

WORDS = [
    "experiment",
    "--set",
    "camera_node.width_px=320",
    "--set",
    "camera_node.height_px=240",
    "--set",
    "sim_node.camera_rate_hz=5.0",
    "--set",
    "gate_node.judge.lease.ttl_s=0.25",
    "--vla",
    "classical-vla",
    "--task",
    "pick the red cube",
    "--distortions",
    "02,04",
    "--levels",
    "5",
    "--out",
]
"""Small images, and few of them: to draw them, and to measure their light, is most of a run."""


ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def _program(out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "embodied_iqa.cli.main", *WORDS, str(out), *more]


def test_killed_and_resumed_gives_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    variables = ONE_THREAD | fail_point(2, killed / "shards", tmp_path / "notes")
    with running_program(_program(killed), tmp_path / "logs", variables) as program:
        assert program.wait(TRIAL_S) == -signal.SIGKILL
    assert len(list((killed / "shards").glob("*.parquet"))) == 1
    assert not (killed / "runs.parquet").exists()
    assert main([*WORDS, str(killed), "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main([*WORDS, str(whole), "--json", "--workers", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == resumed
    for name in ("runs.parquet", "scores.csv", "experiment.json"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    diffused = resumed["distortions"][-1]
    assert (diffused["distortion_id"], diffused["runs"], diffused["left_out"]) == ("04", 1, 0)
    assert 0 < diffused["score"] < 100
    before = {path: path.stat().st_mtime_ns for path in (whole / "shards").iterdir()}
    assert main([*WORDS, str(whole)]) == 0  # nothing is missing: only the table is made again
    assert "color-diffusion" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (whole / "shards").iterdir()} == before
    _check_another_plan(whole, capsys)


def _check_another_plan(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another plan changes nothing in a used folder; with --add it extends the results."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = [*WORDS[: WORDS.index("02,04")], "03", "--levels", "5", "--out", str(out)]
    assert main(other) == 2
    said = capsys.readouterr().err
    assert "distortion 03:5 with seed 0 is not there, asked" in said
    assert "distortion 02:5 with seed 0 is there, not asked; distortion 04:5 with seed 0 is there" in said
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert main([*other, "--add", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["distortions"]
    assert [row["distortion_id"] for row in rows] == ["02", "03", "04"]
    assert len((out / "scores.csv").read_text().splitlines()) == 1 + 3 + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", "0"], "argument --workers: expected 1 or more"),
        (["--workers", "2", "--ros"], "1 with --ros"),
        (["--attach"], "--attach needs --ros"),
        (["--namespace", "cell1"], "--namespace needs --ros"),
        (["--ros", "--namespace", "cell 1"], "not a ROS namespace"),
        (["--set", "nonsense"], "node.parameter=value"),
        (["--gate", "maybe"], "unknown gate"),
        (["--judge", "maybe"], "unknown judge"),
        (["--gate", "on", "--set", "gate_node.judge.mode=off"], "--gate and --set set the same parameter"),
        (["--judge", "learned", "--set", "gate_node.judge.kind=learned"], "--judge and --set set the same"),
        (["--calibration", "a.yaml", "--set", "gate_node.calibration=a.yaml"], "--calibration and --set"),
        (["--gate", "off,oracle", "--ros"], "no live gate knows the schedule"),
        (["--schedule", "burst", "--schedule", "burst:start=1"], "duplicate schedule"),
        (["--gate", "off,on", "--ros", "--attach"], "a running graph has one gate"),
        (["--schedule", "burst:view=side"], "the view of the schedule has no images"),
        (["--schedule", "burst:camera=side"], "note: camera= of a schedule is now view=; version 0.2.0"),
    ],
)
def test_what_is_refused_leaves_nothing(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*WORDS, str(out), *words]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_the_gate_has_options_of_its_own(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    words = ["--out", "x", "--calibration", str(tmp_path / "mine.yaml"), "--judge", "metric:piqe"]
    gate = _graph(parser.parse_args(words), parse_subjects("classical-vla")).gate_node
    assert (gate.calibration, str(gate.judge.kind)) == (str(tmp_path / "mine.yaml"), "metric:piqe")


def test_a_gate_that_was_fitted_anew_is_another_parameter(tmp_path: Path) -> None:
    file = tmp_path / "gate.yaml"
    graph = resolve((), {"gate_node.calibration": str(file)})
    arguments = argparse.Namespace(ros=False, vlm=False)
    found = []
    for text in ("one fit", "another fit"):
        file.write_text(text)
        found.append(_parameters(arguments, graph))
    other = {name for name in found[0] if found[0][name] != found[1][name]}
    assert other == {"gate_node.calibration.sha256"}


def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = _program(out, "--distortions", "all", "--workers", "2")  # far more runs than are waited for
    with running_program(words, tmp_path / "logs", ONE_THREAD) as program:
        program.wait_until(lambda: any((out / "shards").glob("*.parquet")), "a run", TRIAL_S)
        seen = program.running()
        assert program.process.pid in seen
        assert len(seen) >= 3, "the parent and both workers run"
        program.process.kill()
        assert program.wait(TRIAL_S) == -signal.SIGKILL
        program.wait_until_gone(seen, TRIAL_S)
