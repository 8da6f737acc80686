"""`embodied-iqa experiment --world libero_object`, with a stand-in for LIBERO's packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.database.run_rows import read_rows
from embodied_iqa.pages.reports.experiment.experiment_report import page_of
from embodied_iqa.world.libero import suite_world
from embodied_iqa.world.libero.suite_world import VARIABLE
from libero_stand_in import write_libero
from openvla_server import deploy
from wire_servers import reference_server

EXPERT = "python:embodied_iqa:LiberoExpert"
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
    assert page.command.startswith(f"embodied-iqa experiment --vla {EXPERT} --task '{TASK}' --scenes 2")
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
        (["--gate", "learned"], "learned knows no images of the camera agentview at 256x256"),
        (["--gate", "off,statistics"], "statistics knows no images of the camera agentview at 256x256"),
        (["--world", "libero_moon"], "unknown world"),
        (["--ros"], "--ros is of the simulated cell"),
        (["--model", "ur5e"], "--model is of the simulated cell"),
        (["--task", "fly"], "libero_object has no such task"),
        (["--first-tasks", "11"], "libero_object has 10 tasks"),
        (["--scenes", "51"], "no such initial state"),
        (["--vla", "classical-vla"], "classical-vla needs a camera top"),
        (["--world", "libero_spatial"], "LiberoExpert is for other worlds"),
        (["--schedule", "burst:view=top"], "the view of the schedule has no images"),
    ],
)
def test_what_cannot_be_is_one_line(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--out", str(tmp_path / "out"), *more]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_world, "HORIZONS", {"libero_object": 20})


@pytest.mark.usefixtures("_short")
def test_a_policy_behind_openpis_server_gets_what_its_evaluation_gives_it(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def policy(observation: dict[str, Any]) -> dict[str, Any]:
        asked.append(observation)
        return {"actions": np.tile([0.4, -0.2, 0.0, 0.0, 0.0, 0.0, -1.0], (50, 1))}

    out = tmp_path / "out"
    with reference_server({}, policy) as port:
        words = ["--vla", f"pi0-libero=openpi://127.0.0.1:{port}", "--first-tasks", "1", "--out", str(out)]
        assert main([*WORDS, *words]) == 0
    first, *rest = asked
    assert len(rest) == 4 + 2 * 4, "every five steps of 20; on distorted images twice"
    assert {key: value.shape for key, value in first.items() if key != "prompt"} == {
        "observation/image": (224, 224, 3),
        "observation/wrist_image": (224, 224, 3),
        "observation/state": (8,),
    }
    assert first["prompt"] == "pick up the alphabet soup and place it in the basket"
    assert first["observation/state"][3] > np.pi
    shift_m = rest[1]["observation/state"][:3] - rest[0]["observation/state"][:3]
    np.testing.assert_allclose(shift_m, [5 * 0.4 * 0.05 / 8, -5 * 0.2 * 0.05 / 8, 0.0], atol=1e-6)
    assert rest[5]["observation/image"].mean() < 0.5 * rest[0]["observation/image"].mean(), "darkened"


@pytest.mark.usefixtures("_short")
def test_a_policy_behind_openvlas_server_gets_one_image(tmp_path: Path) -> None:
    with deploy(lambda _: [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]) as (port, requests):
        reference = f"openvla-libero-object=openvla+http://127.0.0.1:{port}/act"
        words = [
            "--vla",
            reference,
            "--first-tasks",
            "1",
            "--gate",
            "off,oracle",
            "--out",
            str(tmp_path / "out"),
        ]
        setting = ["--set", "vla_node.policy.unnorm_key=libero_object"]
        assert main([*WORDS, *words, *setting, "--json"]) == 0
    body = requests[0][2]
    assert body["unnorm_key"] == "libero_object"
    assert body["image"]["shape"] == [224, 224, 3]
    assert "state" not in body
