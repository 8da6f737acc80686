"""The gripper's driver against the emulator: targets, objects, faults.

The driver's pauses move its clock on, and the emulated controller's time with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest

from embodied_iqa.arm.robot.ur.options import GripperOptions
from embodied_iqa.arm.robot.ur.robotiq_gripper import RobotiqGripper
from embodied_iqa.base.errors import InputError, UsageError
from manual_clock import PATIENCE_S, ManualClock
from ur_emulator import EmulatorProcess, SharedEmulator

REPLY_S = 0.3
TICK_S = 0.008


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedEmulator]:
    running = SharedEmulator("--plant", "kinematic")
    yield running
    running.close()


@pytest.fixture
def robot(shared: SharedEmulator) -> EmulatorProcess:
    return shared.restored()


class Time(ManualClock):
    """The driver's time and that of the robot, which is held and passes along."""

    def __init__(self, robot: EmulatorProcess) -> None:
        super().__init__(pauses_pass=True)
        self._robot, self._passed_s = robot, 0.0
        self._wanted: Callable[[], object] | None = None
        self._advanced = threading.Condition()
        self._passes = threading.Event()
        self._passes.set()
        robot.throw("hold")

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._passed_s += seconds
        ticks = int(self._passed_s / TICK_S)
        self._passed_s -= ticks * TICK_S
        with suppress(OSError):
            if ticks:
                self._robot.step(ticks)
        with self._advanced:
            if self._wanted is not None and self._wanted():
                self._wanted = None
                self._advanced.notify_all()

    def wait_event(self, event: threading.Event, seconds: float | None = None) -> bool:
        assert self._passes.wait(PATIENCE_S)
        return super().wait_event(event, seconds)

    @contextmanager
    def standing(self) -> Iterator[None]:
        """The driver's next pause lasts as long as the block."""
        self._passes.clear()
        yield
        self._passes.set()

    def until(self, wanted: Callable[[], object], *, silent: bool = False) -> None:
        """Wait until it is so, looked at whenever time passes.

        With ``silent`` time also passes while the driver waits for the robot.
        """
        with self._advanced:
            self._wanted = wanted
        with self.passing() if silent else nullcontext(), self._advanced:
            assert self._advanced.wait_for(lambda: self._wanted is None, PATIENCE_S)


@pytest.fixture
def time(robot: EmulatorProcess) -> Time:
    return Time(robot)


@pytest.fixture
def gripper(robot: EmulatorProcess, time: Time) -> Iterator[RobotiqGripper]:
    made = RobotiqGripper(robot.host, GripperOptions(reply_s=REPLY_S), clock=time)
    try:
        made.wait_ready(10.0)
        yield made
    finally:
        robot.throw("resume")
        made.close()
        made._thread.join(PATIENCE_S)
        assert not made._thread.is_alive()


def _is_lost(gripper: RobotiqGripper) -> bool:
    try:
        gripper.read()
    except InputError:
        return True
    return False


def test_moves_and_reports_arrival(gripper: RobotiqGripper, time: Time) -> None:
    for target in (0.7, 0.2, 0.0):
        with time.standing():
            gripper.move(target)
            assert gripper.read().moving, "from the command on"
        time.until(lambda: not gripper.read().moving)
        assert gripper.read().position == pytest.approx(target, abs=1 / 255)
        assert not gripper.read().object_held


def test_newest_target_wins(gripper: RobotiqGripper, time: Time) -> None:
    with time.standing():
        for target in (1.0, 0.0, 0.9, 0.3):
            gripper.move(target)
    time.until(lambda: not gripper.read().moving)
    assert gripper.read().position == pytest.approx(0.3, abs=1 / 255)


def test_object_is_held(robot: EmulatorProcess, gripper: RobotiqGripper, time: Time) -> None:
    robot.throw("object 0.4")
    gripper.move(1.0)
    time.until(lambda: gripper.read().object_held)
    assert gripper.read().position == pytest.approx(0.4, abs=1 / 255)


def test_counts_of_a_real_gripper_are_mapped(robot: EmulatorProcess, time: Time) -> None:
    gripper = RobotiqGripper(robot.host, GripperOptions(open_count=13, closed_count=230), clock=time)
    gripper.wait_ready(10.0)
    gripper.move(0.5)
    time.until(lambda: not gripper.read().moving)
    assert gripper.read().position == pytest.approx(0.5, abs=0.01)
    assert robot.state()["gripper"] == pytest.approx((13 + 217 / 2) / 255, abs=0.01)
    gripper.close()


@pytest.mark.parametrize("switch", ["freeze", "cut"])
def test_silent_controller_is_noticed_and_found_again(
    robot: EmulatorProcess, gripper: RobotiqGripper, time: Time, switch: str
) -> None:
    with time.standing():
        robot.throw(switch)
        time.advance(1.0)
        assert not _is_lost(gripper)
        time.advance(REPLY_S + 0.01)
        assert _is_lost(gripper)
    time.until(lambda: not gripper.is_ready, silent=True)
    robot.throw("resume" if switch == "freeze" else "mend")
    time.until(lambda: gripper.is_ready and not _is_lost(gripper))


def test_dropped_connection_is_made_again(
    robot: EmulatorProcess, gripper: RobotiqGripper, time: Time
) -> None:
    robot.throw("drop")
    time.until(lambda: not gripper.is_ready)
    time.until(lambda: gripper.is_ready)
    with time.standing():
        gripper.move(0.5)
    time.until(lambda: not gripper.read().moving)


def test_fault_of_the_gripper_is_reported(
    robot: EmulatorProcess, gripper: RobotiqGripper, time: Time
) -> None:
    robot.throw("gripper-fault 14")
    time.until(lambda: not gripper.is_ready)
    with pytest.raises(InputError, match="fault 14"):
        gripper.wait_ready(0.1)


def test_wrong_targets_are_refused(gripper: RobotiqGripper) -> None:
    for target in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError):
            gripper.move(target)


def test_missing_gripper_is_reported_in_time() -> None:
    told, clock = threading.Event(), ManualClock(pauses_pass=True)
    options = GripperOptions(reply_s=REPLY_S)
    gripper = RobotiqGripper("127.0.0.199", options, log=lambda _: told.set(), clock=clock)
    assert told.wait(PATIENCE_S)
    with pytest.raises(InputError, match="does not answer"):
        gripper.wait_ready(0.5)
    gripper.close()
