"""A session says what it will do and how long that takes before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.cli.main import parse
from embodied_iqa.cli.trial import check
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.runs.graph.session_outlook import estimate_s, outlook, runs_of
from embodied_iqa.runs.graph.session_plan import SessionPlan


def _plan(*words: str) -> SessionPlan:
    return check(parse(["trial", *words])[1])


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ([], 4 + 1 + 2),
        (["--tour"], 3 * 4 + 1 + 2),
        (["--no-distortion"], 1),
        (
            [
                "--task",
                "pick the red cube",
                "--distortion",
                "19:5",
                "--schedule",
                "burst",
                "--schedule",
                "ramp",
            ],
            3,
        ),
    ],
)
def test_the_runs_are_those_of_the_folders(words: list[str], runs: int) -> None:
    plan = _plan(*words)
    folders = [folder for part in plan.parts for folder in part.folders(Path("runs/x"))]
    assert runs_of(plan) == sum(folder.runs for folder in folders) == runs
    assert outlook(plan)[1].startswith(f"{runs} run{'' if runs == 1 else 's'}, ")


def test_everything_that_will_happen_is_named() -> None:
    what, _ = outlook(_plan("--scene-seed", "3"))
    assert what == (
        "'press the blue button' (scene 3), undistorted, 02:2 lens-blur, 18:5 max-brighten, 19:5 max-darken; "
        "under burst 07:5 hsv-saturation, without a gate and with one"
    )
    what, _ = outlook(_plan("--tour"))
    assert "'push the green cylinder', 'press the blue button' (scene 7), each undistorted" in what
    assert "; the last under burst" in what
    what, _ = outlook(_plan("--task", "pick the red cube", "--no-distortion"))
    assert what == "'pick the red cube' (scene 7), undistorted"


def test_the_default_trial_takes_what_was_measured() -> None:
    assert 68.0 <= (estimate_s(_plan()) or 0.0) <= 81.0
    assert outlook(_plan())[1] == "7 runs, about 1:15 min on two cores"


def test_a_longer_session_takes_longer() -> None:
    words = [["--no-distortion"], ["--distortion", "19:5"], [], ["--tour"]]
    times = [estimate_s(_plan(*each)) for each in words]
    assert None not in times
    assert times == sorted(times, key=float)
    assert estimate_s(_plan("--view", "top", "--view", "wrist", "--view", "side")) > estimate_s(_plan())
    assert outlook(_plan())[1].endswith(" min on two cores")


@pytest.mark.parametrize(
    ("words", "most_s"),
    [
        (["--attach"], 180),
        (["--vlm", "openai:http://gpu:8000/v1#model"], 180),
        (["--camera", "files", "--camera-path", "FOLDER", "--robot", "none", "--view", "top"], 120),
    ],
)
def test_no_time_is_given_where_it_is_not_known(words: list[str], most_s: int, tmp_path: Path) -> None:
    write_image(tmp_path / "0.png", np.zeros((8, 8, 3), np.uint8))
    plan = _plan(
        "--task", "pick the red cube", *(str(tmp_path) if word == "FOLDER" else word for word in words)
    )
    assert estimate_s(plan) is None
    assert f"at most {most_s} s" in outlook(plan)[1]
    assert "the person" not in outlook(plan)[1]


def test_a_person_takes_the_time_that_a_person_takes() -> None:
    plan = _plan("--task", "pick the red cube")
    attended = replace(plan.graph.trial_node, simulated=False, has_arm=True)
    plan = replace(plan, attach=True, graph=replace(plan.graph, trial_node=attended))
    assert outlook(plan)[1].endswith("and the person")
