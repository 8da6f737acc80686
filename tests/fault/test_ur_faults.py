"""Faults between driver and controller: each is noticed in time, and no call hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from embodied_iqa.errors import InputError
from embodied_iqa.kinematics import tool_along_z
from embodied_iqa.robot.messages import StopCause
from embodied_iqa.robot.ur_arm import UrArm
from embodied_iqa.robot.ur_options import UrOptions
from ur_emulator import EmulatorProcess, SharedEmulator

LONGEST_CALL_S = 2.0
STATE_TIMEOUT_S = 0.4
"""Longer than the default: the tests share two cores with others."""


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedEmulator]:
    running = SharedEmulator("--series", "cb3", "--plant", "kinematic", "--unlock-after", "0.2")
    yield running
    running.close()


@pytest.fixture
def robot(shared: SharedEmulator) -> EmulatorProcess:
    return shared.restored()


@pytest.fixture
def arm(robot: EmulatorProcess) -> Iterator[UrArm]:
    made = _arm(robot)
    try:
        made.connect()
        made.rearm("test")
        yield made
    finally:
        _timed(made.close)


def _arm(robot: EmulatorProcess, **options: object) -> UrArm:
    settings = {"ip": robot.host, "state_timeout_s": STATE_TIMEOUT_S, "watchdog_hz": 1.0} | options
    return UrArm(UrOptions(**settings), tool_along_z(0.2))


def _timed(call: Callable[[], object]) -> float:
    """Run a call, failing or not; it may take no longer than any call may."""
    start = time.monotonic()
    with contextlib.suppress(InputError):
        call()
    seconds = time.monotonic() - start
    assert seconds < LONGEST_CALL_S, f"{call} took {seconds:.1f} s"
    return seconds


def _stream_until(arm: UrArm, wanted: Callable[[], bool], limit_s: float = 5.0) -> float:
    """Stream the present position until something happens; return how long that took."""
    start = time.monotonic()
    q_rad = np.array(arm.state.q_rad) if arm.state else np.zeros(6)
    while not wanted():
        assert time.monotonic() - start < limit_s, "nothing happened"
        arm.wait(0.01)
        arm.read()
        if arm.is_armed:
            arm.stream(q_rad)
    return time.monotonic() - start


def _until_lost(arm: UrArm) -> tuple[float, str]:
    start = time.monotonic()
    with pytest.raises(InputError) as lost:
        _stream_until(arm, lambda: False)
    return time.monotonic() - start, str(lost.value)


@pytest.mark.parametrize(
    ("switch", "limit_s"), [("freeze", STATE_TIMEOUT_S), ("cut", STATE_TIMEOUT_S), ("drop", 0.25)]
)
def test_lost_connection_is_noticed_and_can_be_restored(
    robot: EmulatorProcess, arm: UrArm, switch: str, limit_s: float
) -> None:
    robot.throw(switch)
    seconds, reason = _until_lost(arm)
    assert seconds < limit_s + 0.5
    assert robot.host in reason
    assert not arm.is_armed
    robot.throw({"freeze": "resume", "cut": "mend", "drop": "state"}[switch])
    arm.connect()
    assert not arm.is_armed, "a new connection must be armed again"
    with pytest.raises(InputError, match="not armed"):
        arm.stream(np.zeros(6))
    arm.rearm("restored")
    arm.stream(np.array(arm.state.q_rad))


def test_killed_controller_is_noticed_and_no_call_hangs(robot: EmulatorProcess, arm: UrArm) -> None:
    os.kill(robot.process.pid, signal.SIGKILL)
    seconds, _ = _until_lost(arm)
    assert seconds < 1.0
    for call in (
        lambda: arm.rearm("?"),
        lambda: arm.move_joints(np.zeros(6), deadline_s=1.0),
        lambda: arm.stop("?"),
        lambda: arm.set_speed(0.5),
        arm.unlock,
        arm.read,
        arm.idle,
    ):
        _timed(call)


@pytest.mark.parametrize("switch", ["freeze", "cut"])
def test_no_request_hangs_on_a_silent_controller(robot: EmulatorProcess, arm: UrArm, switch: str) -> None:
    robot.throw(switch)
    for call in (
        lambda: arm.set_speed(0.5),
        lambda: arm.rearm("?"),
        lambda: arm.move_joints(np.zeros(6), deadline_s=60.0),
        arm.unlock,
        lambda: arm.stop("?"),
        arm.close,
    ):
        _timed(call)


def test_controller_that_dies_during_a_move_ends_the_move(robot: EmulatorProcess, arm: UrArm) -> None:
    before = robot.state()["q_rad"]
    killed: list[float] = []

    def kill_on_the_way() -> None:
        if not killed and arm.state and abs(arm.state.q_rad[0] - before[0]) > 0.05:
            killed.append(time.monotonic())
            os.kill(robot.process.pid, signal.SIGKILL)

    arm._link._beat = kill_on_the_way  # called while the driver waits
    with pytest.raises(InputError):
        arm.move_joints(np.array(before) + 0.5, deadline_s=60.0)
    assert time.monotonic() - killed[0] < LONGEST_CALL_S


@pytest.mark.parametrize("switch", ["protective-stop", "emergency-stop", "stop-program"])
def test_stop_of_the_controller_disarms_until_armed_again(
    robot: EmulatorProcess, arm: UrArm, switch: str
) -> None:
    robot.throw(switch)
    _stream_until(arm, lambda: not arm.is_armed)
    state = arm.read()
    assert state is not None
    assert state.fault is not None
    cause, words = {
        "protective-stop": (StopCause.PROTECTIVE, "protective stopped"),
        "emergency-stop": (StopCause.EMERGENCY, "robot emergency stopped"),
        "stop-program": (StopCause.PROGRAM_ENDED, "the robot's program ended, not by its watchdog"),
    }[switch]
    assert state.fault.cause is cause
    assert words in state.fault.reason
    with pytest.raises(InputError, match="not armed"):
        arm.stream(state.q_rad)


def test_protective_stop_is_unlocked_and_the_arm_armed_again(robot: EmulatorProcess, arm: UrArm) -> None:
    robot.throw("protective-stop")
    with pytest.raises(InputError, match="Cannot unlock"):
        arm.unlock()
    with pytest.raises(InputError, match="unlock it first"):
        arm.rearm("too early")
    unlocked_at_s = robot.state()["time_s"] + 0.3
    _stream_until(arm, lambda: robot.state()["time_s"] > unlocked_at_s)
    arm.unlock()
    assert not arm.is_armed
    arm.rearm("looked at it")
    q_rad = np.array(arm.state.q_rad)
    arm.move_joints(q_rad + 0.05, deadline_s=10.0)
    assert np.abs(np.array(arm.state.q_rad) - q_rad - 0.05).max() < 1e-6


def test_refused_program_is_reported(robot: EmulatorProcess) -> None:
    robot.throw("refuse-script on")
    arm = _arm(robot)
    arm.connect()
    with pytest.raises(InputError, match="did not start the program"):
        arm.rearm("test")
    assert not arm.is_armed
    arm.close()


def test_nothing_moves_after_a_stop(robot: EmulatorProcess, arm: UrArm) -> None:
    state = arm.read()
    assert state is not None
    arm.stop("test")
    q_rad, ended_s = robot.state()["q_rad"], robot.state()["time_s"]
    worker = arm._link.process
    assert worker is not None
    from embodied_iqa.robot.ur_messages import Answer

    for _ in range(20):  # past the driver's own latch
        worker.send(Answer(0.0, (0.0,) * 6).pack())
    _stream_until(arm, lambda: arm.state.controller_s > ended_s + 0.2)
    assert robot.state()["q_rad"] == q_rad


def test_silent_driver_makes_the_robots_watchdog_end_the_program(robot: EmulatorProcess, arm: UrArm) -> None:
    end_s = time.monotonic() + 5.0
    while robot.state()["playing"]:
        assert time.monotonic() < end_s
        with contextlib.suppress(InputError):
            arm.read()
    assert "watchdog" in robot.state()["messages"][-1]
    _stream_until(arm, lambda: arm.read().fault is not None)
    assert not arm.is_armed
    assert arm.read().fault.cause is StopCause.WATCHDOG
    assert "the driver was silent for 1000 ms" in arm.read().fault.reason


def test_watchdog_stops_a_move_when_everything_above_the_controller_is_frozen(robot: EmulatorProcess) -> None:
    arm = _arm(robot, watchdog_hz=4.0)
    arm.connect()
    arm.rearm("test")
    start_rad, frozen_rad = np.array(arm.state.q_rad), []
    worker = arm._link.process  # nobody else speaks to the controller
    assert worker is not None

    def freeze_on_the_way() -> None:
        if not frozen_rad and np.abs(np.array(robot.state()["q_rad"]) - start_rad).max() > 0.1:
            os.kill(worker.pid, signal.SIGSTOP)
            frozen_rad.append(robot.state()["q_rad"])

    answer, arm._link._beat = arm._link._beat, lambda: (freeze_on_the_way(), answer())
    try:
        with pytest.raises(InputError):
            arm.move_joints(start_rad + 2.0, speed=0.5, deadline_s=30.0)
        end_s = time.monotonic() + 10.0
        while np.abs(robot.state()["qd_radps"]).max() > 0.0:
            assert time.monotonic() < end_s, "it moves on"
        state = robot.state()
        assert not state["playing"]
        assert "the watchdog was not kicked for 0.25 s" in state["messages"][-1]
        assert np.abs(np.array(state["q_rad"]) - frozen_rad[0]).max() < 0.5 * 0.25 + 0.03
    finally:
        arm.close()


def test_killed_driver_leaves_the_robot_stopped(robot: EmulatorProcess, arm: UrArm) -> None:
    assert arm._link.process is not None
    os.kill(arm._link.process.pid, signal.SIGKILL)
    assert _until_lost(arm)[0] < 0.5
    end_s = time.monotonic() + 5.0
    while robot.state()["playing"]:
        assert time.monotonic() < end_s


def test_program_that_another_client_left_does_not_pull_the_arm_back(robot: EmulatorProcess) -> None:
    import rtde_control

    other = rtde_control.RTDEControlInterface(robot.host)
    q_rad = np.array(robot.state()["q_rad"])
    assert other.servoJ(q_rad.tolist(), 0.5, 0.5, 0.008, 0.1, 300)
    other.disconnect()
    assert robot.state()["playing"], "it follows its last target on"
    arm = _arm(robot)
    arm.connect()
    arm.rearm("taking over")
    arm.move_joints(q_rad + 0.1, deadline_s=10.0)
    later_s = robot.state()["time_s"] + 0.2
    while robot.state()["time_s"] < later_s:
        arm.read()
        arm.idle()
    assert np.abs(np.array(robot.state()["q_rad"]) - q_rad - 0.1).max() < 1e-6
    arm.close()


def test_worker_ends_with_its_driver_even_if_the_controller_is_silent(
    robot: EmulatorProcess, arm: UrArm
) -> None:
    q_rad = np.array(arm.state.q_rad)
    arm.stream(q_rad)
    _stream_until(arm, lambda: arm.state.controller_s > robot.state()["time_s"] - 0.02)
    robot.throw("freeze")
    worker = arm._link.process
    assert worker is not None
    worker._socket.close()  # as where the driver's process is gone
    end_s = time.monotonic() + 3.0
    while worker._process.poll() is None:
        assert time.monotonic() < end_s, "it waits for the controller"
        time.sleep(0.01)
    worker.reason = "ended"


def test_slow_link_delays_states_but_does_not_break_the_connection(
    robot: EmulatorProcess, arm: UrArm
) -> None:
    robot.throw("delay 60")
    q_rad = np.array(arm.state.q_rad)
    arm.move_joints(q_rad + 0.05, deadline_s=15.0)
    assert arm.is_armed
    assert np.abs(np.array(arm.state.q_rad) - q_rad - 0.05).max() < 1e-3


def test_unreachable_controller_is_reported_in_time() -> None:
    arm = UrArm(UrOptions(ip="127.0.0.199", connect_s=1.5), tool_along_z(0.2))
    start = time.monotonic()
    with pytest.raises(InputError, match=r"127\.0\.0\.199"):
        arm.connect()
    assert time.monotonic() - start < LONGEST_CALL_S
