"""Cameras with names of their user, from a recording to a database, distorted images, metrics and a gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import Person
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from scene_bags import HEIGHT_PX, WIDTH_PX, SceneRecorder
from trial_recording import stamp_ns, start_ns

VIEWS = (View("front"), View("left_wrist"))
FRAMES = 24
PANEL = ("python:named_subjects:vlm", "python:named_subjects:vla")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorder = SceneRecorder(tmp_path_factory.mktemp("named") / "trial.mcap", VIEWS)
    recorder.event(1, 0, start_ns(0), None)
    for frame in range(FRAMES):
        recorder.frame(0, frame, None, decides=frame in {0, 12})
    end = {"outcome": 1, "reason": "done", "frames_published": FRAMES * len(VIEWS)}
    recorder.event(3, 0, stamp_ns(0, FRAMES), None, **end)
    return recorder.close()


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """Run a command that succeeds; return the JSON that it prints."""
    assert main([*map(str, words), "--json"]) == 0
    return json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]


def test_a_database_holds_them(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "db"
    panel = ("--panel", ",".join(PANEL), "--workers", 1)
    tree = printed(capsys, "build", "--from-bag", recording, "--out", out, *panel)
    assert tree["counts"]["references"] == 2
    assert main(["db", "check", str(out)]) == 0
    store = DatabaseStore(out)
    rows = store.references().to_pylist()
    assert [(row["view"], row["person"]) for row in rows] == [("front", Person.THIRD)] * 2
    scores = store.scores(["view", "subject", "score"]).to_pylist()
    assert {(row["view"], row["subject"]) for row in scores} == {("front", name) for name in PANEL}
    assert all(row["score"] is not None for row in scores)
    capsys.readouterr()
    image = out / rows[0]["image"]
    assert printed(capsys, "metrics", "score", "piqe", image, "--view", "front")["mean"] > 0


def test_images_are_distorted_each_camera_by_itself(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "distorted"
    assert main(["distort", str(recording), "--distortion", "12:3", "--out", str(out), "--workers", "1"]) == 0
    capsys.readouterr()
    for view in VIEWS:
        folder = f"camera-{view}-image_raw"
        assert len([path for path in out.rglob("*.png") if folder in str(path)]) == FRAMES


def test_a_gate_knows_them_and_names_them(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(recording), "--out", str(gate)]) == 0
    found = [(one.view, one.width_px, one.height_px) for one in load_calibrations(gate)]
    assert found == [(view, WIDTH_PX, HEIGHT_PX) for view in VIEWS]
    capsys.readouterr()
    wanted = ("gate", "check", recording, "--calibration", gate, "--view")
    assert printed(capsys, *wanted, "left_wrist")["counts"] == {"pass": FRAMES, "hold": 0, "reject": 0}
    assert main([*map(str, wanted), "front"]) == 0
    assert capsys.readouterr().err == f"next: embodied-iqa trial --calibration {gate}\n"
    assert main([*map(str, wanted), "top"]) == 2
    assert "has no such camera; got 'top'; available: front, left_wrist" in capsys.readouterr().err
