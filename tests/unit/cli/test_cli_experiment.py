"""`embodied-iqa experiment`: killed half-way and resumed it ends with the same table and the same bytes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from embodied_iqa.cli.experiment.running import _parameters
from embodied_iqa.cli.main import main
from embodied_iqa.graph.node_table import resolve

WORDS = [
    "experiment",
    "--subjects",
    "classical-vla",
    "--task",
    "pick the red cube",
    "--distortions",
    "02,04",
    "--levels",
    "5",
    "--out",
]
DEADLINE_S = 100.0


def _start(out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "embodied_iqa.cli.main", *WORDS, str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _kill_after_first_run(process: subprocess.Popen[bytes], out: Path) -> int:
    """Kill as soon as a run is on disk; return how many were."""
    until = time.monotonic() + DEADLINE_S
    while not list((out / "shards").glob("*.parquet")):
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(120.0)
    return len(list((out / "shards").glob("*.parquet")))


def test_killed_and_resumed_gives_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    done = _kill_after_first_run(_start(killed), killed)
    assert 1 <= done < 3
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
    assert "it lacks: distortion 03:5 with seed 0" in said
    assert "it also has: distortion 02:5 with seed 0, distortion 04:5 with seed 0" in said
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert main([*other, "--add", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["distortions"]
    assert [row["distortion_id"] for row in rows] == ["02", "03", "04"]
    assert len((out / "scores.csv").read_text().splitlines()) == 1 + 3 + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", "0"], "wrong --workers"),
        (["--workers", "2", "--ros"], "1 with --ros"),
        (["--attach"], "--attach needs --ros"),
        (["--set", "nonsense"], "node.parameter=value"),
        (["--gate", "maybe"], "unknown gate"),
        (["--gate", "off,oracle", "--ros"], "no live gate knows the schedule"),
        (["--schedule", "burst", "--schedule", "burst:start=1"], "duplicate schedule"),
        (["--gate", "off,on", "--ros", "--attach"], "a running graph has one gate"),
        (["--schedule", "burst:camera=side"], "the camera of the schedule takes no images"),
    ],
)
def test_what_is_refused_leaves_nothing(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*WORDS, str(out), *words]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


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


def _children(pid: int) -> list[int]:
    """Ids of the processes that a process started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "embodied_iqa.cli.main", *WORDS, str(out), "--workers", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    until = time.monotonic() + DEADLINE_S
    while not list((out / "shards").glob("*.parquet")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    workers = _children(process.pid)
    assert len(workers) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait(120.0)
    while any(Path(f"/proc/{worker}").exists() and _is_alive(worker) for worker in workers):
        assert time.monotonic() < until, "workers go on without a parent"
        time.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
