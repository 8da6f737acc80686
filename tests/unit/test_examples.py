"""Every example runs as its page says: scripts, the notebooks, and the parts of a user's own."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import embodied_iqa
from database_folders import write_database
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.live.cameras.own_cameras import own_cameras
from embodied_iqa.models.subjects.subject_options import PolicyOptions
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.world.protocols import ChunkStatus, VlaObservation
from live_process import TRIAL_S
from ur_emulator import HOSTS

EXAMPLES = (source_checkout() or Path()) / "examples"
EXTEND = EXAMPLES / "extend"


def run_script(name: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=TRIAL_S,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.stress  # 80 CPU seconds: ten processes, one after the other, and a graph
def test_the_first_day_ends_with_a_gated_run(tmp_path: Path) -> None:
    script, day = EXAMPLES / "first_day.sh", tmp_path / "day"
    commands = [line for line in script.read_text().splitlines() if re.match(r"step |embodied-iqa ", line)]
    assert len(commands) <= 12
    done = subprocess.run(
        ["bash", str(script), str(day)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TRIAL_S,
        env=os.environ
        | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FIRST_DAY_SECONDS": "3",
            "FIRST_DAY_ADDRESS": next(HOSTS),
        },
    )
    assert done.returncode == 0, done.stderr
    checks = json.loads((day / "checked" / "checks.json").read_text())
    assert checks["ok"]
    measured = {one["check"]: one["measured"] for one in checks["checks"]}
    assert measured["policy: test decision"].startswith("10 steps: the first 5.0 mm, all together 50.0 mm")
    assert {"front: gate", "wrist: gate", "front: hand-eye", "wrist: hand-eye"} <= measured.keys()
    (run,) = json.loads((day / "run" / "scores.json").read_text())["runs"]
    assert (run["gate"]["mode"], run["gate"]["reject"]) == ("on", 0)
    assert run["gate"]["pass"] > 0
    (record,) = read_trial(day / "run" / "trial.mcap").runs
    down, *_, done = (chunk for chunk in record.chunks if chunk.source is Source.DISTORTED)
    assert (down.view, [view for view, _ in down.other_frames]) == ("front", ["wrist"])
    assert 0 < abs(down.stamp_ns - down.stamp_of(View("wrist"))) <= PolicyOptions().pairing_tolerance_ns
    assert (len(down.increments), done.status) == (10, ChunkStatus.DONE)
    assert (day / "run" / "report.html").is_file()


def test_the_policy_of_the_first_day_needs_both_cameras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "first_day"))
    policy = embodied_iqa.load_vla("python:lab_policy:make")
    frames = {view: image_frame(np.zeros((4, 4, 3), np.uint8), view) for view in policy.info.views}
    shown = VlaObservation(frames, "wave", np.eye(4), 0.5, 0)
    assert list(frames) == ["front", "wrist"]
    assert policy.act(shown).increments[:, [2, 6]].tolist() == [[0.005, 0.5]] * 10
    assert policy.act(replace(shown, step=1)).status is ChunkStatus.DONE
    with pytest.raises(UsageError, match="a view is missing; expected wrist"):
        policy.act(replace(shown, frames={View("front"): frames[View("front")]}))


@pytest.fixture
def _own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXTEND))


def test_the_gate_passes_the_clean_and_rejects_the_dark_image() -> None:
    clean, dark = run_script("gate_an_image.py").splitlines()
    assert clean.startswith("clean: PASS (calibrated for the simulated cell, not for a camera of your own")
    assert dark.startswith("dark: REJECT (")


def test_the_strip_of_distorted_images_is_written(tmp_path: Path) -> None:
    run_script("distort_an_image.py", str(tmp_path / "strip.png"))
    strip = cv2.imread(str(tmp_path / "strip.png"))
    assert strip is not None
    assert strip.shape == (480, 4 * 640, 3)


def test_subjects_are_scored() -> None:
    cognition, decision = run_script("score_a_subject.py").splitlines()
    assert "became" in cognition
    assert "mm apart" in decision


def test_a_database_is_queried(tmp_path: Path) -> None:
    write_database(tmp_path / "db", references=2, subjects=2)
    subjects, *rows = run_script("open_a_database.py", str(tmp_path / "db")).splitlines()
    assert subjects == "subjects: vlm-0, vlm-1, vla-0, vla-1"
    assert len(rows) == 5
    database = embodied_iqa.open_database(tmp_path / "db")
    assert database.table("pairs").num_rows == database.sql("SELECT * FROM pairs").num_rows > 0
    assert database.sql("SELECT subject FROM scores WHERE false").num_rows == 0
    with pytest.raises(
        UsageError, match=r"no such table; got 'pears'; did you mean pairs\?; available: references"
    ):
        database.table("pears")


@pytest.mark.parametrize(
    ("name", "made"),
    [("tour", {"cognition", "decision", "quality"}), ("gate-loop", {"qualities", "asked_ns", "held"})],
)
def test_a_notebook_runs_from_top_to_bottom(name: str, made: set[str]) -> None:
    cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert made <= set(names)


@pytest.mark.usefixtures("_own_code")
def test_own_subjects_answer_and_act() -> None:
    frame = embodied_iqa.simulated_frame(3)
    vlm = embodied_iqa.load_vlm("python:own_vlm:make")
    assert vlm.info.name == "python:own_vlm:make"
    assert "bright" in vlm.answer(frame, "pick the red cube")
    assert embodied_iqa.load_vla("python:own_vla:make").info.views == (View.TOP,)
    assert main(["subjects", "check", "python:own_vlm:make", "python:own_vla:make"]) == 0


@pytest.mark.usefixtures("_own_code")
def test_an_own_vision_model_finds_the_brightest_place() -> None:
    (model,) = embodied_iqa.load_vision_models("python:own_vision:make")
    image = np.zeros((60, 80, 3), np.uint8)
    image[10:20, 30:40] = 200
    (found,) = model.predict([image])
    assert found.boxes_px.tolist() == [[30.0, 10.0, 40.0, 20.0]]


@pytest.mark.usefixtures("_own_code")
def test_an_own_camera_gives_frames() -> None:
    config = CameraParameters(source=CameraSource.PYTHON, path="own_camera:make", views=(View.TOP,))
    (camera,) = own_cameras(config, itertools.count(5).__next__)
    first, second = camera.read(0.0), camera.read(0.0)
    assert first is not None
    assert second is not None
    assert (first.view, first.stamp_ns, first.rgb.shape) == (View.TOP, 5, (480, 640, 3))
    assert not np.array_equal(first.rgb, second.rgb)


@pytest.mark.usefixtures("_own_code")
def test_an_own_distortion_works_like_a_built_in_one(tmp_path: Path) -> None:
    image = embodied_iqa.simulated_frame(3).rgb
    word = "python:own_distortion:scan_lines"
    levels = [embodied_iqa.distort(image, f"{word}:{level}", seed=4) for level in range(1, 6)]
    similarity = [embodied_iqa.measure(level, image) for level in levels]
    assert similarity == sorted(similarity, reverse=True)
    assert np.array_equal(levels[2], embodied_iqa.distort(image, f"{word}:3", seed=4))
    assert not np.array_equal(levels[2], embodied_iqa.distort(image, f"{word}:3", seed=5))
    cv2.imwrite(str(tmp_path / "in.png"), image[..., ::-1])
    out = tmp_path / "out"
    assert main(["distort", "--distortion", f"{word}:3", "--out", str(out), str(tmp_path / "in.png")]) == 0
    assert len(list(out.rglob("*.png"))) == 1


@pytest.mark.usefixtures("_own_code")
def test_an_own_metric_measures() -> None:
    black, grey = np.zeros((32, 32, 3), np.uint8), np.full((32, 32, 3), 9, np.uint8)
    assert embodied_iqa.measure(grey, black, "python:own_metric:MeanDifference") == 9.0
    assert not metric_by_name("python:own_metric:MeanDifference").info.higher_is_better


@pytest.mark.parametrize("name", ["own_vlm", "own_vla", "own_distortion", "own_metric"])
def test_the_guide_shows_the_example(name: str) -> None:
    guide = (EXAMPLES.parent / "docs/extend.md").read_text(encoding="utf-8")
    assert f"```python\n{(EXTEND / f'{name}.py').read_text(encoding='utf-8')}```\n" in guide


def test_own_tasks_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "check", "--no-files", str(EXTEND / "own_tasks.yaml")]) == 0
    assert "2" in capsys.readouterr().out


@pytest.mark.usefixtures("_own_code")
@pytest.mark.parametrize(
    ("word", "error", "message"),
    [
        ("python:no_such_module:x:1", UsageError, "no module no_such_module"),
        ("python:own_distortion:nothing:1", UsageError, "own_distortion has no nothing"),
        ("python:own_metric:MeanDifference:1", InputError, "is not a distortion; expected an Entry"),
        ("python:own_distortion:1", UsageError, "expected python:MODULE:NAME"),
    ],
)
def test_own_code_that_is_wrong_is_reported(word: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        embodied_iqa.distort(np.zeros((32, 32, 3), np.uint8), word)
