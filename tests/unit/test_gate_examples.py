"""The loops in Python behind the gate: a webcam, a policy of openpi, a recording with LeRobot."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest

from embodied_iqa import Gate, GateOptions
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from gate_files import HEIGHT_PX, WIDTH_PX, calibration

MS = 1_000_000
GOOD = np.full((HEIGHT_PX, WIDTH_PX, 3), 200, np.uint8)
DARK = np.zeros((HEIGHT_PX, WIDTH_PX, 3), np.uint8)


class Clock:
    """Milliseconds that go on only where the test says so."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000 * MS

    def time_ns(self) -> int:
        self.now_ns += MS
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.syspath_prepend(str((source_checkout() or Path()) / "examples"))
    clock = Clock()
    monkeypatch.setattr("time.time_ns", clock.time_ns)
    return clock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    top = calibration(exposure=Bounds(0.1, 0.3, np.inf, np.inf))
    save_calibrations([top, replace(top, view=View.WRIST)], tmp_path / "gate.yaml")
    return tmp_path / "gate.yaml"


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_a_webcam_acts_on_the_images_that_pass(file: Path, clock: Clock, tmp_path: Path) -> None:
    for number, image in enumerate([GOOD, DARK, GOOD]):
        cv2.imwrite(str(tmp_path / f"frame_{number}.png"), image)
    capture = cv2.VideoCapture(str(tmp_path / "frame_%d.png"))
    done: list[Any] = []
    example("gate_a_webcam").run(
        capture, Gate(file), "top", lambda image: done.append(image.shape), done.append
    )
    first, dark, after = done
    assert first == GOOD.shape
    assert dark.startswith("exposure")
    assert after.startswith("1 of 5 good frames since: exposure")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("name", ["gate_a_webcam", "gate_an_openpi_client"])
def test_a_calibration_that_is_absent_is_said_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [name, "--calibration", "absent.yaml"])
    with pytest.raises(SystemExit) as ended:
        example(name).main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "absent.yaml" in line


class Policy:
    """Answers with the number of its question in a chunk of two, after some time."""

    def __init__(self, clock: Clock, takes_ms: int) -> None:
        self.clock, self.takes_ms, self.asked = clock, takes_ms, 0

    def infer(self, _observation: object) -> dict[str, Any]:
        self.clock.now_ns += self.takes_ms * MS
        self.asked += 1
        return {"actions": [(self.asked, step) for step in range(2)]}


class Robot:
    """Shows images in turn, and notes what it is told."""

    def __init__(self, keys: Iterator[str] | list[str], images: list[np.ndarray]) -> None:
        self.keys, self.images, self.done = list(keys), iter(images), []

    def observe(self) -> dict[str, Any]:
        return dict.fromkeys(self.keys, next(self.images)) | {"prompt": "pick"}

    def act(self, action: object) -> None:
        self.done.append(action)

    def hold(self, reason: str) -> None:
        self.done.append(reason)


def test_a_chunk_of_openpi_ends_with_the_first_bad_image(file: Path, clock: Clock) -> None:
    loop = example("gate_an_openpi_client")
    gate = Gate(file, GateOptions(recover_frames=1, lease=loop.LEASE))
    robot = Robot(loop.CAMERAS, [GOOD, GOOD, DARK, GOOD, GOOD, DARK, GOOD])
    policy = Policy(clock, takes_ms=300)

    def wait(seconds: float) -> None:
        clock.now_ns += round(seconds * 1000) * MS

    loop.run(robot, policy, gate, 4, wait)
    assert robot.done[0] == (1, 0), "judged again after the policy's 300 ms"
    assert "exposure" in robot.done[1]
    assert robot.done[2] == (2, 0), "a new question: the old chunk is void"
    assert "exposure" in robot.done[3]
    assert policy.asked == 2


def test_a_lerobot_recording_holds_the_observed_positions(file: Path, clock: Clock) -> None:
    class Arm:
        name, robot_type = "arm", "so100_follower"

        def __init__(self) -> None:
            self.image, self.sent = GOOD, []

        def get_observation(self) -> dict[str, Any]:
            return {"shoulder.pos": 7.0, "laptop": self.image}

        def send_action(self, action: dict[str, float]) -> dict[str, float]:
            self.sent.append(action["shoulder.pos"])
            return action

    arm = Arm()
    robot = example("gate_a_lerobot_recording").gated(arm, file, {"laptop": "top"})
    robot._clock_ns = clock.time_ns
    assert robot.robot_type == "so100_follower"
    with pytest.raises(RuntimeError, match="before the first observation"):
        robot.send_action({"shoulder.pos": 9.0})
    robot.get_observation()
    assert robot.send_action({"shoulder.pos": 9.0}) == {"shoulder.pos": 9.0}
    clock.now_ns += 300 * MS
    assert robot.send_action({"shoulder.pos": 9.0}) == {"shoulder.pos": 7.0}
    assert "ran out" in robot.held[-1]
    arm.image = DARK
    robot.get_observation()
    robot.send_action({"shoulder.pos": 9.0})
    assert arm.sent == [9.0, 7.0, 7.0]
    assert "exposure" in robot.held[-1]
