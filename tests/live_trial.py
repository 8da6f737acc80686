"""Trials by the command line, and the one complete session that the live tests read.

Its images have a quarter of the usual pixels, and half as many are taken: every one is drawn, distorted,
judged and stored by processes that share two processors, and no test reads more out of larger or more ones.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from embodied_iqa.base.resources import shared_file
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.gate.calibration_file import load_calibrations, save_calibrations
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from live_process import TRIAL_S, Program, running_program
from ros_graph import EVERY, RosGraph

TASK, SCENE_SEED = "pick the red cube", 7
VLA, VLM = "classical-vla", "classical-vlm"
NOISE, PALE = DistortionSpec("12", 2), DistortionSpec("07", 5)
"""Noise changes what this policy does; without colours it sees no target."""
WIDTH_PX, HEIGHT_PX = 320, 240
FEW_IMAGES: Mapping[str, object] = {
    "sim_node.camera_rate_hz": 7.5,
    "sim_node.clock_rate_hz": 20.0,
    "gate_node.judge.lease.ttl_s": 0.25,
}
"""Half of the usual ones, a lease that lasts until the next, and a clock that wakes each node less often."""
_CALIBRATED_PX = 640, 480
_RECORDED_BYTES = 1_250_000
"""About twelve images."""
UNDECIDED = """
import threading

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import SubjectInfo


class Undecided:
    info = SubjectInfo("undecided", "1", "Never decides, so that its run does not end.", (View.TOP,))

    def act(self, observation):
        threading.Event().wait()


class Terse:
    info = SubjectInfo("terse", "1", "Says that there is an image.", (View.TOP,))

    def answer(self, frame, task):
        return "an image"
"""
_COMMAND = (sys.executable, "-m", "embodied_iqa.cli.main", "trial", "--task", TASK)


@dataclass
class Trial:
    """A running command."""

    program: Program
    folder: Path

    def wait_for_recording(self) -> None:
        recording = self.folder / "trial.mcap"
        self.program.wait_until(
            lambda: recording.is_file() and recording.stat().st_size > _RECORDED_BYTES,
            "a recording",
            TRIAL_S,
        )

    def nodes(self) -> dict[str, int]:
        """Names and ids of the processes that run with this trial's parameters."""
        mark = str(self.folder.resolve() / "log" / "parameters.yaml")
        return {
            next(word for word in words if "nodes." in word).rpartition(".")[2]: pid
            for pid, words in self.program.running().items()
            if mark in words
        }


@contextmanager
def begin(
    domain: int,
    folder: Path,
    logs: Path,
    *more: str,
    variables: Mapping[str, str] | None = None,
    **streams: Any,
) -> Iterator[Trial]:
    """Start a trial of the task in its scene."""
    command = [*_COMMAND, "--scene-seed", str(SCENE_SEED), "--out", str(folder), *more]
    its = {"ROS_DOMAIN_ID": str(domain), **(variables or {})}
    with running_program(command, logs, its, **streams) as program:
        yield Trial(program, folder)


def small_images(folder: Path) -> dict[str, object]:
    """Return parameters of cameras with small images, and of a gate that is calibrated for them.

    Its ranges are those of the usual size, so that some clean images pass and some are held.
    """
    usual = load_calibrations(shared_file("config/gate/simulated.yaml"))
    file = folder / "gate.yaml"
    save_calibrations(
        [
            replace(item, width_px=WIDTH_PX, height_px=HEIGHT_PX)
            for item in usual
            if (item.width_px, item.height_px) == _CALIBRATED_PX
        ],
        file,
    )
    return {
        "camera_node.width_px": WIDTH_PX,
        "camera_node.height_px": HEIGHT_PX,
        "gate_node.calibration": str(file),
    }


def still_cell(folder: Path, width_px: int = WIDTH_PX, height_px: int = HEIGHT_PX) -> list[str]:
    """Return arguments of a trial without arm and world: two stored images, which no codec makes smaller."""
    images = folder / "stored"
    images.mkdir()
    for number in range(2):
        rgb = np.random.default_rng(number).integers(0, 256, (height_px, width_px, 3), np.uint8)
        write_image(images / f"{number}.png", rgb)
    return ["--robot", "none", "--camera", "files", "--camera-path", str(images), "--view", "top"]


@contextmanager
def undecided(domain: int, folder: Path) -> Iterator[Trial]:
    """Start a trial without arm and world whose policy never decides: it goes on until something ends it."""
    (folder / "undecided.py").write_text(UNDECIDED, encoding="utf-8")
    patience = {"vla_node.answer_deadline_s": 3600.0, "trial_node.run_limit_s": 3600.0}
    subjects = ["--vla", "python:undecided:Undecided", "--vlm", "python:undecided:Terse"]
    words = ["--no-distortion", *still_cell(folder), *subjects, *words_of(patience)]
    search_path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with begin(domain, folder / "run", folder, *words, variables={"PYTHONPATH": search_path}) as trial:
        yield trial


def words_of(parameters: Mapping[str, object]) -> list[str]:
    """Return the arguments that set parameters."""
    return [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]


@dataclass(frozen=True)
class Session:
    """A complete session: the reference run, one in noise, one without colours; the gate in shadow mode.

    Attributes:
        folder: Of the session.
        scores: What the command printed.
        targets: The joint targets that went over the robot's protocol.
        parameters: Those that differ from the defaults.
    """

    folder: Path
    scores: dict[str, Any]
    targets: Sequence[JointState]
    parameters: Mapping[str, object]

    @property
    def recording(self) -> Path:
        return self.folder / "trial.mcap"

    @property
    def calibration(self) -> Path:
        return Path(str(self.parameters["gate_node.calibration"]))

    def headless(self) -> HeadlessOptions:
        """Return the options of the same runs without ROS."""
        own = {"gate_node.judge.mode": "shadow", "vla_node.subject": VLA}
        return HeadlessOptions(resolve((), own | dict(self.parameters)))


def complete_session(domain: int, folder: Path) -> Session:
    """Carry a session out; nothing of it runs afterwards."""
    # noise, exposure control and motion blur are part of what is compared
    parameters = {"camera_node.model": "d455", **small_images(folder), **FEW_IMAGES}
    spoilt = [word for spec in (NOISE, PALE) for word in ("--distortion", f"{spec.id}:{spec.level}")]
    words = [*spoilt, "--gate", "shadow", "--json", "--vla", VLA, "--vlm", VLM]
    with RosGraph(domain, folder / "listener", []) as listener:
        targets = listener.subscribe(JointState, "/sim/joint_targets", EVERY)
        with begin(domain, folder / "run", folder, *words, *words_of(parameters)) as trial:
            assert trial.program.wait(TRIAL_S) == 0
            assert trial.nodes() == {}
        scores = json.loads(trial.program.stdout)
        return Session(trial.folder, scores, tuple(targets.messages), parameters)
