"""An experiment as on a real arm: a camera of one's own, a controller, a person at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from live_process import TRIAL_S, running_program
from ur_emulator import emulator

pytestmark = pytest.mark.stress

TASK = "pick the red cube"
JUDGEMENTS = ("y held well", "n missed it")
MOST_QUESTIONS = 12
CAMERA = """
import json
from pathlib import Path
import numpy as np
from embodied_iqa.imaging.images.file_camera import FileCamera
from embodied_iqa.imaging.images.frame import Intrinsics

FOLDER = Path(__file__).parent

def make(view, clock_ns):
    known = json.loads((FOLDER / "camera.json").read_text())
    pose = np.array(known["T_base_camera"])
    lens = Intrinsics(**known["intrinsics"])
    image = FOLDER / f"{view}.png"
    return FileCamera([image], view, lens, T_base_camera=pose, clock_ns=clock_ns, loop=True)
"""


def write_camera(folder: Path) -> None:
    """Write the module `scene_camera`: a top camera that sees a static scene."""
    world = World(make_scene(7, parse_instruction(TASK)))
    with SceneRenderer(world.scene, 640, 480) as renderer:
        frame = renderer.frame(View.TOP, world.snapshot())
    write_image(folder / "top.png", frame.rgb)
    known = {"intrinsics": asdict(frame.intrinsics), "T_base_camera": frame.T_base_camera.tolist()}
    (folder / "camera.json").write_text(json.dumps(known), encoding="utf-8")
    (folder / "scene_camera.py").write_text(CAMERA, encoding="utf-8")


def write_cell(folder: Path, host: str, model: str = "ur5") -> Path:
    write_camera(folder)
    camera = {"views": ["top"], "source": "python", "path": "scene_camera:make", "rate_hz": 15.0}
    # a machine that runs other tests at the same time is slower
    arm = {
        "robot": "ur5",
        "model": model,
        "limits": {"workspace_min_m": [-0.8, -0.45, -0.01], "workspace_max_m": [-0.2, 0.45, 0.71]},
        "ur": {"ip": host, "state_timeout_s": 5.0, "watchdog_hz": 1.0},
        "controller": {"state_timeout_ns": 5_000_000_000, "max_frame_age_ns": 1_500_000_000},
    }
    nodes = {"camera_node": camera, "arm_node": arm, "gate_node": {"judge": {"lease": {"ttl_s": 1.0}}}}
    cell: dict[str, Any] = {name: {"ros__parameters": values} for name, values in nodes.items()}
    path = folder / "cell.yaml"
    path.write_text(yaml.safe_dump(cell), encoding="utf-8")
    return path


class Person:
    """Reads the questions of the command, and types."""

    def __init__(self, process: subprocess.Popen[str], keyboard: int) -> None:
        self.text = ""
        self.asked: list[str] = []
        self._process, self._keyboard = process, keyboard
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        judgements = iter(JUDGEMENTS)
        while character := self._process.stderr.read(1):
            self.text += character
            if "[y = " in self.text and self.text.endswith("] "):
                self.asked.append(self.text)
                answer = "y" if "Ready?" in self.text else next(judgements, "")
                self.text = ""
                if not answer or len(self.asked) == MOST_QUESTIONS:  # `await_end` shows the questions
                    self._process.kill()
                    return
                os.write(self._keyboard, f"{answer}\n".encode())

    def await_end(self) -> None:
        try:
            code: int | str = self._process.wait(TRIAL_S)
        except subprocess.TimeoutExpired:
            code = "still running"
        else:
            self._thread.join(TRIAL_S)
        assert code == 0, "\n".join([str(code), *self.asked, self.text])


@contextmanager
def keyboard() -> Iterator[tuple[int, int]]:
    """The two ends of a terminal: that of the person and that of the command."""
    ends = pty.openpty()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


@pytest.fixture(scope="module")
def outcome(
    tmp_path_factory: pytest.TempPathFactory, ros_domain: int
) -> tuple[dict[str, Any], tuple[Any, ...], list[str]]:
    folder = tmp_path_factory.mktemp("real_arm")
    with emulator("--plant", "kinematic", "--unlock-after", "0", "--watchdog-margin", "20") as robot:
        words = ["--vla", "classical-vla", "--task", TASK, "--distortions", "19"]
        words += ["--ros", "--gate", "off", "--json"]
        words += ["--config", str(write_cell(folder, robot.host)), "--out", str(folder / "out")]
        command = [sys.executable, "-m", "embodied_iqa.cli.main", "experiment", *words]
        search_path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        with (
            keyboard() as (ours, theirs),
            running_program(
                command,
                folder,
                {"ROS_DOMAIN_ID": str(ros_domain), "PYTHONPATH": search_path},
                stdin=theirs,
                stderr=subprocess.PIPE,
                text=True,
            ) as program,
        ):
            person = Person(program.process, ours)
            person.await_end()
        table = json.loads(program.stdout)
    (recording,) = (folder / "out" / "recordings").glob("*/trial.mcap")
    return table, read_trial(recording).runs, person.asked


def test_the_person_is_asked_before_and_after_each_run(outcome: tuple[Any, Any, list[str]]) -> None:
    asked = outcome[2]
    first = [text for text in asked if not re.match(r"\n?the (arm|tool)", text)]  # a repeat says why
    assert [bool(re.search("Ready", text)) for text in first] == [True, False, True, False], asked
    assert all("darken" not in text for text in asked), "who judges knows the distortion"


def test_the_answer_of_the_person_is_the_outcome(outcome: tuple[Any, Any, list[str]]) -> None:
    table, runs, _ = outcome
    assert [str(run.outcome) for run in runs] == ["success", "no_target"], "the second image is dark"
    assert "judged: done; held well" in runs[0].reason
    assert runs[1].reason == "the policy saw no target; judged: not done; missed it"
    assert 0.0 < table["all"]["score"] < 100.0


def test_every_run_begins_at_the_start_of_the_first(outcome: tuple[Any, Any, list[str]]) -> None:
    runs = outcome[1]
    starts = [next(iter(run.chunks)).T_base_tool for run in runs]
    assert np.linalg.norm(runs[0].T_base_tool[:3, 3] - starts[0][:3, 3]) > 0.05, "it never moved"
    assert np.linalg.norm(starts[1][:3, 3] - starts[0][:3, 3]) < 0.003
