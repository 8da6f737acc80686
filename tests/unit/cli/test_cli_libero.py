"""`embodied-iqa experiment --world libero_object`, with a stand-in for LIBERO's packages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.database.run_rows import read_rows
from embodied_iqa.pages.reports.experiment.experiment_report import page_of
from embodied_iqa.world.libero.suite_world import VARIABLE
from libero_stand_in import write_libero

EXPERT = "python:embodied_iqa.world.libero.expert:LiberoExpert"
TASK = "pick up the milk and place it in the basket"
WORDS = ["experiment", "--world", "libero_object", "--vla", EXPERT, "--distortions", "19"]


@pytest.fixture(autouse=True)
def _libero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packages").mkdir()
    monkeypatch.setenv(VARIABLE, str(write_libero(tmp_path / "packages")))


def test_gates_are_compared_and_an_experiment_is_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = [*WORDS, "--task", TASK, "--scenes", "2", "--gate", "off,oracle", "--out", str(out), "--json"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "a rollout takes up to" in told.err
    assert "8 rollouts: up to" in told.err
    table = json.loads(told.out)
    off, oracle = table["all_by_arm"]
    assert (off["runs"], off["success_rate"]) == (2, 1.0), "the expert looks at no image"
    assert (oracle["runs"], oracle["held_by_gate"]) == (2, 2)
    rows = [row for shard in sorted((out / "shards").glob("*.parquet")) for row in read_rows(shard)]
    assert {(row.task, row.scene_seed) for row in rows} == {(TASK, 0), (TASK, 1)}
    assert {row.peak_contact_n for row in rows} == {None}, "unknown in LIBERO"
    page = page_of(out, tmp_path / "page.html")
    assert page.command.startswith(f"embodied-iqa experiment --subjects {EXPERT} --task '{TASK}' --scenes 2")
    assert "--world libero_object" in page.command
    next((out / "shards").glob("*.oracle*reference.parquet"), next((out / "shards").iterdir())).unlink()
    before = (out / "runs.parquet").read_bytes()
    assert main(words) == 0
    assert "1 rollouts: up to" in capsys.readouterr().err
    assert (out / "runs.parquet").read_bytes() == before
    assert main(words) == 0
    assert "rollout" not in capsys.readouterr().err, "nothing is missing, nothing is opened for it"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--gate", "learned"], "not fitted to the camera agentview at 256x256"),
        (["--world", "libero_moon"], "unknown world"),
        (["--ros"], "--ros is of the simulated cell"),
        (["--task", "fly"], "libero_object has no such task"),
        (["--tasks", "11"], "libero_object has 10 tasks"),
        (["--scenes", "51"], "no such initial state"),
        (["--subjects", "classical-vla"], "classical-vla needs a camera top"),
        (["--schedule", "burst:camera=top"], "the camera of the schedule takes no images"),
    ],
)
def test_what_cannot_be_is_one_line(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--out", str(tmp_path / "out"), *more]) == 2
    assert message in capsys.readouterr().err
