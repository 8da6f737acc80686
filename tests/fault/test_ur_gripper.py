"""The gripper's driver against the emulator: targets, objects, faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.robot.robotiq_gripper import RobotiqGripper
from embodied_iqa.robot.ur_options import GripperOptions
from ur_emulator import EmulatorProcess, SharedEmulator

REPLY_S = 0.3


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedEmulator]:
    running = SharedEmulator("--plant", "kinematic")
    yield running
    running.close()


@pytest.fixture
def robot(shared: SharedEmulator) -> EmulatorProcess:
    return shared.restored()


@pytest.fixture
def gripper(robot: EmulatorProcess) -> Iterator[RobotiqGripper]:
    made = RobotiqGripper(robot.host, GripperOptions(reply_s=REPLY_S))
    try:
        made.wait_ready(10.0)
        yield made
    finally:
        start = time.monotonic()
        made.close()
        assert time.monotonic() - start < 1.0


def _until(wanted: Callable[[], object], limit_s: float = 8.0) -> None:
    end_s = time.monotonic() + limit_s
    while not wanted():
        assert time.monotonic() < end_s
        time.sleep(0.005)


def _is_lost(gripper: RobotiqGripper) -> bool:
    start = time.monotonic()
    try:
        gripper.read()
    except InputError:
        return True
    finally:
        assert time.monotonic() - start < 0.1, "reading waited for the network"
    return False


def test_moves_and_reports_arrival(gripper: RobotiqGripper) -> None:
    for target in (0.7, 0.2, 0.0):
        gripper.move(target)
        assert gripper.read().moving, "from the command on"
        _until(lambda: not gripper.read().moving)
        assert gripper.read().position == pytest.approx(target, abs=1 / 255)
        assert not gripper.read().object_held


def test_newest_target_wins(gripper: RobotiqGripper) -> None:
    for target in (1.0, 0.0, 0.9, 0.3):
        gripper.move(target)
    _until(lambda: not gripper.read().moving)
    assert gripper.read().position == pytest.approx(0.3, abs=1 / 255)


def test_object_is_held(robot: EmulatorProcess, gripper: RobotiqGripper) -> None:
    robot.throw("object 0.4")
    gripper.move(1.0)
    _until(lambda: gripper.read().object_held)
    assert gripper.read().position == pytest.approx(0.4, abs=1 / 255)


def test_counts_of_a_real_gripper_are_mapped(robot: EmulatorProcess) -> None:
    gripper = RobotiqGripper(robot.host, GripperOptions(open_count=13, closed_count=230))
    gripper.wait_ready(10.0)
    gripper.move(0.5)
    _until(lambda: not gripper.read().moving)
    assert gripper.read().position == pytest.approx(0.5, abs=0.01)
    assert robot.state()["gripper"] == pytest.approx((13 + 217 / 2) / 255, abs=0.01)
    gripper.close()


@pytest.mark.parametrize("switch", ["freeze", "cut"])
def test_silent_controller_is_noticed_and_found_again(
    robot: EmulatorProcess, gripper: RobotiqGripper, switch: str
) -> None:
    robot.throw(switch)
    start = time.monotonic()
    _until(lambda: _is_lost(gripper))
    assert time.monotonic() - start < REPLY_S + 2.0
    assert not gripper.is_ready
    robot.throw("resume" if switch == "freeze" else "mend")
    _until(lambda: gripper.is_ready and not _is_lost(gripper))


def test_dropped_connection_is_made_again(robot: EmulatorProcess, gripper: RobotiqGripper) -> None:
    robot.throw("drop")
    _until(lambda: not gripper.is_ready)
    _until(lambda: gripper.is_ready)
    gripper.move(0.5)
    _until(lambda: not gripper.read().moving)


def test_fault_of_the_gripper_is_reported(robot: EmulatorProcess, gripper: RobotiqGripper) -> None:
    robot.throw("gripper-fault 14")
    _until(lambda: not gripper.is_ready)
    with pytest.raises(InputError, match="fault 14"):
        gripper.wait_ready(0.1)


def test_wrong_targets_are_refused(gripper: RobotiqGripper) -> None:
    for target in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError):
            gripper.move(target)


def test_missing_gripper_is_reported_in_time() -> None:
    gripper = RobotiqGripper("127.0.0.199", GripperOptions(reply_s=REPLY_S))
    with pytest.raises(InputError, match="does not answer"):
        gripper.wait_ready(0.5)
    gripper.close()
