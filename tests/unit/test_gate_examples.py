"""The loops in Python behind the gate: a webcam, a policy of openpi, a recording with LeRobot."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise, repeat
from pathlib import Path
from queue import Queue
from types import ModuleType, SimpleNamespace
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


def test_the_loop_of_the_guide_moves_a_robot_whose_policy_takes_longer_than_a_lease(
    file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ((source_checkout() or Path()) / "docs/gate-only.md").read_text(encoding="utf-8")
    loop = page.partition("\n## In a Python loop\n")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(file.rename(file.with_name("mine.yaml")).parent)
    seen = [GOOD, GOOD, GOOD, DARK, GOOD]  # the second after the policy's answer
    done: list[str] = []

    def infer(_images: object) -> dict[str, Any]:
        clock.now_ns += 300 * MS
        return {"actions": ["first", "second", "third"], "gate": {}}

    robot = SimpleNamespace(
        is_running=lambda: bool(seen),
        images=lambda: dict.fromkeys(("top", "wrist"), seen.pop(0)),
        act=done.append,
        hold=done.append,
    )
    exec(loop, {"robot": robot, "policy": SimpleNamespace(infer=infer)})
    first, second, dark, after = done
    assert (first, second) == ("first", "second")
    assert dark.startswith("top: exposure")
    assert after.startswith("top: 1 of 5 good frames since: exposure")


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


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gate_a_webcam", "pip install opencv-python-headless"),
        ("gate_an_openpi_client", "pip install openpi-client typing_extensions"),
    ],
)
def test_what_is_not_installed_is_said_in_one_line(
    name: str,
    said: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", [name, "--calibration", str(file)])
    for missing in ("cv2", "openpi_client.websocket_client_policy"):
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as ended:
        example(name).main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(said)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("ends", "said"),
    [(ConnectionRefusedError("x"), "no policy server at localhost:8000: x\n"), (KeyboardInterrupt(), "")],
)
def test_a_policy_that_is_not_there_and_ctrl_c_end_the_loop_of_openpi_in_a_line(
    ends: BaseException,
    said: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def policy(_host: str, _port: int) -> None:
        raise ends

    client = SimpleNamespace(WebsocketClientPolicy=policy)
    monkeypatch.setitem(sys.modules, "openpi_client", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "openpi_client.websocket_client_policy", client)
    monkeypatch.setattr("sys.argv", ["x", "--calibration", str(file)])
    with pytest.raises(SystemExit) as ended:
        example("gate_an_openpi_client").main()
    assert ended.value.code == (1 if said else 130)
    assert capsys.readouterr().err == said


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


class SmallArm:
    """Is where it was sent; shows an image for each reading."""

    robot_type = "so100_follower"

    def __init__(self, images: Iterator[np.ndarray]) -> None:
        self.images, self.at, self.grip, self.sent = images, 0.0, 0.0, list[float]()

    def get_observation(self) -> dict[str, Any]:
        image = next(self.images)
        if image is LOST:
            raise TimeoutError("latest frame is too old")
        return {"shoulder.pos": self.at, "gripper.pos": self.grip, "laptop": image}

    def connect(self) -> None: ...

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.at = action["shoulder.pos"]
        self.sent.append(self.at)
        return action


LOST = np.zeros(0, np.uint8)


def gated_arm(file: Path, clock: Clock, images: list[np.ndarray], **options: Any) -> tuple[SmallArm, Any]:
    arm = SmallArm(iter(images))
    gate = Gate(file, GateOptions(**options))
    return arm, example("gate_a_lerobot_recording").GatedRobot(arm, gate, {"laptop": "top"}, clock.time_ns)


def test_a_lerobot_recording_holds_one_position_until_the_images_pass(file: Path, clock: Clock) -> None:
    arm, robot = gated_arm(file, clock, [GOOD, DARK, DARK, DARK, GOOD, GOOD], recover_frames=1)
    assert robot.robot_type == "so100_follower"

    def step(target: float) -> object:
        robot.get_observation()
        return robot.send_action({"shoulder.pos": target})

    assert step(7.0) == {"shoulder.pos": 7.0}
    assert step(9.0) == {"shoulder.pos": 7.0}, "what was sent"
    arm.at = 6.0  # it sags
    step(9.0)
    assert "exposure" in robot.held[-1]
    step(8.0)
    assert arm.sent == [7.0, 7.0, 7.0, 8.0]


def test_an_action_on_a_bad_image_of_lerobot_is_not_sent_though_the_next_image_passes(
    file: Path, clock: Clock
) -> None:
    arm, robot = gated_arm(file, clock, [DARK, GOOD, GOOD], recover_frames=1)
    robot.get_observation()
    robot.send_action({"shoulder.pos": 9.0})
    robot.send_action({"shoulder.pos": 9.0})
    assert arm.sent == [0.0, 0.0]
    robot.get_observation()
    robot.send_action({"shoulder.pos": 1.0})
    assert arm.sent[-1] == 1.0


def test_a_camera_of_lerobot_that_is_lost_holds_the_arm_where_it_was_sent(file: Path, clock: Clock) -> None:
    arm, robot = gated_arm(file, clock, [LOST, GOOD, GOOD, LOST])
    assert robot.send_action({"shoulder.pos": 1.0}) == {}, "nothing says where the arm is"
    assert arm.sent == []
    robot.get_observation()
    robot.send_action({"shoulder.pos": 1.0})
    robot.send_action({"shoulder.pos": 2.0})
    robot.send_action({"shoulder.pos": 3.0})
    assert arm.sent == [1.0, 2.0, 2.0]
    assert robot.held[-1] == "nothing is read: latest frame is too old"


def test_a_lost_camera_after_a_hold_of_lerobot_does_not_bring_back_the_command_before_it(
    file: Path, clock: Clock
) -> None:
    arm, robot = gated_arm(file, clock, [GOOD, DARK, DARK, GOOD, LOST], recover_frames=1)
    robot.send_action({"shoulder.pos": 5.0})
    arm.at = 4.0  # where something is in its way
    robot.get_observation()
    robot.send_action({"shoulder.pos": 6.0})
    robot.get_observation()
    clock.now_ns += 200 * MS
    robot.send_action({"shoulder.pos": 4.5})
    assert arm.sent == [5.0, 4.0, 4.0]


def test_a_hold_of_lerobot_ends_with_the_connection(file: Path, clock: Clock) -> None:
    arm, robot = gated_arm(file, clock, [DARK, DARK])
    arm.at = 80.0
    robot.send_action({"shoulder.pos": 81.0})
    arm.at = 0.0  # by hand
    robot.connect()
    robot.send_action({"shoulder.pos": 0.5})
    assert arm.sent == [80.0, 0.0]


def test_a_hold_of_lerobot_keeps_the_command_of_the_gripper(file: Path, clock: Clock) -> None:
    arm, robot = gated_arm(file, clock, [GOOD, DARK])
    robot.send_action({"shoulder.pos": 1.0, "gripper.pos": 0.0})
    arm.grip = 25.0  # an object is in it
    assert robot.send_action({"shoulder.pos": 2.0, "gripper.pos": 0.0}) == {
        "shoulder.pos": 1.0,
        "gripper.pos": 0.0,
    }


def test_an_action_of_lerobot_that_could_not_be_held_is_refused(file: Path, clock: Clock) -> None:
    arm, robot = gated_arm(file, clock, [GOOD])
    with pytest.raises(ValueError, match=r"no observation says where base\.vel is"):
        robot.send_action({"shoulder.pos": 1.0, "base.vel": 0.3})
    assert arm.sent == []


class Client:
    """What `RobotClient` of LeRobot 0.6.1 does with robot, queue and chunks; the policy takes some periods.

    One step up follows another: the numbers of a chunk begin where the arm was seen.
    """

    CHUNK = 20

    def __init__(self, arm: SmallArm, clock: Clock, takes: int) -> None:
        self.robot: Any = arm
        self.clock, self.takes = clock, takes
        self.action_queue_lock, self.action_queue = threading.Lock(), Queue[Any]()
        self.latest, self.asked = -1, list[Any]()

    def _aggregate_action_queues(self, chunk: list[Any], _function: object) -> None:
        queue = Queue[Any]()
        for action in chunk:
            if action.number > self.latest:
                queue.put(action)
        self.action_queue = queue

    def period(self) -> None:
        if self.asked and self.asked[0][0] == 0:
            _, stamp_s, number, at = self.asked.pop()
            chunk = [
                SimpleNamespace(number=number + i, target=at + i, get_timestamp=lambda: stamp_s)
                for i in range(self.CHUNK)
            ]
            self._aggregate_action_queues(chunk, None)
        self.asked = [(left - 1, *rest) for left, *rest in self.asked]
        if not self.action_queue.empty():
            action = self.action_queue.get_nowait()
            self.robot.send_action({"shoulder.pos": action.target})
            self.latest = action.number
        if self.action_queue.qsize() <= self.CHUNK / 2:
            self.observe()
        self.clock.now_ns += 33 * MS

    def observe(self) -> None:
        try:
            seen = self.robot.get_observation()
        except RuntimeError:
            return  # the client logs it
        if not self.asked:
            self.asked.append(
                (self.takes, self.clock.now_ns / 1e9, max(self.latest, 0), seen["shoulder.pos"])
            )


def gated_client(file: Path, clock: Clock, images: Iterator[np.ndarray], periods: int) -> SmallArm:
    arm = SmallArm(images)
    client = Client(arm, clock, takes=4)
    example("gate_a_lerobot_recording").gate_client(client, Gate(file), {"laptop": "top"}, clock.time_ns)
    for _ in range(periods):
        client.period()
    return arm


def test_a_clean_chunk_of_lerobots_client_is_sent_to_its_end(file: Path, clock: Clock) -> None:
    arm = gated_client(file, clock, repeat(GOOD), 60)
    assert arm.sent == [float(number) for number in range(55)]


@pytest.mark.parametrize("first", [9, 13, 18, 22, 25])
def test_what_lerobots_client_decided_before_a_bad_image_is_dropped(
    file: Path, clock: Clock, first: int
) -> None:
    """Whether it is in the queue or on its way; the arm goes on from where it was held, in single steps."""
    arm = gated_client(file, clock, chain(repeat(GOOD, first), [DARK] * 3, repeat(GOOD)), 80)
    steps = [after - before for before, after in pairwise(arm.sent)]
    assert set(steps) <= {0.0, 1.0}
    assert arm.sent[-1] > 40.0
