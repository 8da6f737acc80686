"""Faults between driver and controller: each is noticed in time, and no call hangs.

Times are those of the emulated controller, which the test steps, and of a driver's clock that follows it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.messages import StopCause, StopEvent
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.messages import Answer
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from manual_clock import PATIENCE_S
from ur_emulator import EmulatorProcess, SharedEmulator
from ur_time import SteppedTime, rearm

LONGEST_CALL_S = 2.0
STATE_TIMEOUT_S = 0.4
TICKS_PER_S = 125


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedEmulator]:
    running = SharedEmulator("--series", "cb3", "--plant", "kinematic", "--unlock-after", "0.2")
    yield running
    running.close()


@pytest.fixture
def robot(shared: SharedEmulator) -> EmulatorProcess:
    return shared.restored()


@pytest.fixture
def time(robot: EmulatorProcess) -> SteppedTime:
    return SteppedTime(robot)


@pytest.fixture
def arm(time: SteppedTime) -> Iterator[UrArm]:
    made = _connected(time)
    try:
        rearm(made)
        yield made
    finally:
        _timed(time, made.close)


def _connected(time: SteppedTime, **options: object) -> UrArm:
    return time.arm(**({"state_timeout_s": STATE_TIMEOUT_S, "watchdog_hz": 1.0} | options))


def _timed(time: SteppedTime, call: Callable[[], object]) -> float:
    """Run a call, failing or not, while time passes; it may take no longer than any call may."""
    start_s = time.clock.now_s()
    with time.clock.passing(), suppress(InputError):
        call()
    seconds = time.clock.now_s() - start_s
    assert seconds < LONGEST_CALL_S, f"{call} took {seconds:.1f} s"
    return seconds


def _stream_until(time: SteppedTime, arm: UrArm, wanted: Callable[[], bool], ahead_rad: float = 0.0) -> None:
    """Stream the present position, or one so far ahead, in stepped time until something happens."""
    q_rad = np.array(arm.state.q_rad) + ahead_rad if arm.state else np.zeros(6)
    for _ in range(2000):
        if wanted():
            return
        arm.wait(0.01)
        arm.read()
        if arm.is_armed:
            arm.stream(q_rad)
    raise AssertionError(f"nothing happened until {time.clock.now_s():.3f} s")


def _until_lost(time: SteppedTime, arm: UrArm) -> tuple[float, str]:
    start_s = time.clock.now_s()
    with pytest.raises(InputError) as lost:
        _stream_until(time, arm, lambda: False)
    return time.clock.now_s() - start_s, str(lost.value)


@pytest.mark.parametrize("switch", ["freeze", "cut"])
def test_silent_controller_is_noticed_and_the_connection_can_be_restored(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm, switch: str
) -> None:
    robot.throw(switch)
    with time.clock.passing():
        seconds, reason = _until_lost(time, arm)
    assert seconds < STATE_TIMEOUT_S + 0.5
    assert robot.host in reason
    _restored(robot, arm, {"freeze": "resume", "cut": "mend"}[switch])


def test_the_speed_slider_arrives_with_the_next_states(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    def seen() -> float:
        state = arm.read()
        return -1.0 if state is None else state.speed_fraction

    assert seen() == 1.0
    robot.throw("slider 0.3")
    _stream_until(time, arm, lambda: seen() == 0.3)
    assert arm.is_armed
    robot.throw("slider 1")


def test_dropped_connection_is_noticed_at_once_and_can_be_restored(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    robot.throw("drop")
    seconds, reason = _until_lost(time, arm)
    assert seconds < 0.25
    assert robot.host in reason
    _restored(robot, arm, "state")


def _restored(robot: EmulatorProcess, arm: UrArm, switch: str) -> None:
    assert not arm.is_armed
    robot.throw(switch)
    arm.connect()
    assert not arm.is_armed, "a new connection must be armed again"
    with pytest.raises(InputError, match="not armed"):
        arm.stream(np.zeros(6))
    rearm(arm, "restored")
    arm.stream(np.array(arm.state.q_rad))


def test_killed_controller_is_noticed_and_no_call_hangs(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    os.kill(robot.process.pid, signal.SIGKILL)
    assert _until_lost(time, arm)[0] < 0.25
    for call in (
        lambda: arm.rearm("?"),
        lambda: arm.move_joints(np.zeros(6), deadline_s=1.0),
        lambda: arm.stop("?"),
        lambda: arm.set_speed(0.5),
        arm.unlock,
        arm.read,
        arm.idle,
    ):
        _timed(time, call)


@pytest.mark.parametrize("switch", ["freeze", "drop", "protective-stop", "emergency-stop", "stop-program"])
def test_what_arm_node_runs_stops_in_time(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm, switch: str
) -> None:
    """The runner above the driver; `test_ur_arm_node` has the node itself, which a busy machine delays."""
    parameters = ArmParameters()
    controller = make_controller(parameters.limits, parameters.controller, 0.2)
    runner = ArmRunner(controller, report_rate_hz=25.0)
    assert _stop_of(time, arm, runner, most=20) is None
    runner.arm(replace(arm.read(), stamp_ns=time.clock.now_ns()))
    assert _stop_of(time, arm, runner, most=20) is None
    assert runner.state.is_armed
    robot.throw(switch)
    thrown_s, begun_s = robot.state()["time_s"], time.clock.now_s()
    with time.clock.passing() if switch == "freeze" else nullcontext():
        stop = _stop_of(time, arm, runner, most=2000)
        stopped_s = time.clock.now_s()
    assert stop is not None
    most_s = parameters.controller.state_timeout_ns / SECOND_NS if switch == "freeze" else 0.0
    assert stopped_s - begun_s < most_s + 3 / TICKS_PER_S
    assert arm.state.controller_s - thrown_s < 3 / TICKS_PER_S
    assert not runner.state.is_armed


def _stop_of(time: SteppedTime, arm: UrArm, runner: ArmRunner, most: int) -> StopEvent | None:
    """Answer states as arm_node does, until the runner stops or that often."""
    seen_s = -1.0
    for _ in range(most):
        now_ns = time.clock.now_ns()
        try:
            measured, is_new = arm.read(), arm.state.controller_s != seen_s
            seen_s = arm.state.controller_s
            tick = runner.tick(replace(measured, stamp_ns=now_ns)) if is_new else runner.watch(now_ns)
        except InputError as error:
            tick = runner.watch(now_ns, str(error))
        if tick is not None and tick.stop is not None:
            return tick.stop
        if tick is not None and tick.q_target_rad is not None and arm.is_armed:
            arm.stream(tick.q_target_rad)
        elif arm.is_armed:
            arm.idle()
        arm.wait(0.01)
    return None


@pytest.mark.parametrize("switch", ["freeze", "cut"])
def test_no_request_hangs_on_a_silent_controller(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm, switch: str
) -> None:
    robot.throw(switch)
    for call in (
        lambda: arm.set_speed(0.5),
        lambda: arm.rearm("?"),
        lambda: arm.move_joints(np.zeros(6), deadline_s=60.0),
        arm.unlock,
        lambda: arm.stop("?"),
        arm.close,
    ):
        _timed(time, call)


def test_controller_that_dies_during_a_move_ends_the_move(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    before = robot.state()["q_rad"]
    killed_s: list[float] = []
    answer = arm._link._beat

    def kill_on_the_way() -> None:
        if not killed_s and arm.state and abs(arm.state.q_rad[0] - before[0]) > 0.05:
            killed_s.append(time.clock.now_s())
            os.kill(robot.process.pid, signal.SIGKILL)
        answer()

    arm._link._beat = kill_on_the_way  # called while the driver waits
    with pytest.raises(InputError):
        arm.move_joints(np.array(before) + 0.5, deadline_s=60.0)
    assert time.clock.now_s() - killed_s[0] < LONGEST_CALL_S


@pytest.mark.parametrize("switch", ["protective-stop", "emergency-stop", "stop-program"])
def test_stop_of_the_controller_disarms_until_armed_again(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm, switch: str
) -> None:
    robot.throw(switch)
    _stream_until(time, arm, lambda: not arm.is_armed)
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


def test_protective_stop_is_unlocked_and_the_arm_armed_again(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    robot.throw("protective-stop")
    _stream_until(time, arm, lambda: not arm.is_armed)
    with time.standing():
        with pytest.raises(InputError, match="Cannot unlock"):
            arm.unlock()
        with pytest.raises(InputError, match="unlock it first"):
            arm.rearm("too early")
    robot.step(round(0.3 * TICKS_PER_S))
    arm.unlock()
    assert not arm.is_armed
    rearm(arm, "looked at it")
    q_rad = np.array(arm.state.q_rad)
    arm.move_joints(q_rad + 0.05, deadline_s=10.0)
    assert np.abs(np.array(arm.state.q_rad) - q_rad - 0.05).max() < 1e-6


def test_refused_program_is_reported(robot: EmulatorProcess, time: SteppedTime) -> None:
    robot.throw("refuse-script on")
    arm = _connected(time)
    with time.standing(), pytest.raises(InputError, match="did not start the program"):
        arm.rearm("test")
    assert not arm.is_armed
    time.close(arm)


def test_nothing_moves_after_a_stop(robot: EmulatorProcess, time: SteppedTime, arm: UrArm) -> None:
    state = arm.read()
    assert state is not None
    arm.stop("test")
    q_rad, ended_s = robot.state()["q_rad"], robot.state()["time_s"]
    worker = arm._link.process
    assert worker is not None
    for _ in range(20):  # past the driver's own latch
        worker.send(Answer(0.0, (0.0,) * 6).pack())
    _stream_until(time, arm, lambda: arm.state.controller_s > ended_s + 0.2)
    assert robot.state()["q_rad"] == q_rad


def test_silent_driver_makes_the_robots_watchdog_end_the_program(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    robot.step(round(0.9 * TICKS_PER_S))
    assert robot.state()["playing"]
    robot.step(round(0.2 * TICKS_PER_S))
    assert not robot.state()["playing"]
    assert "watchdog" in robot.state()["messages"][-1]
    _stream_until(time, arm, lambda: arm.read().fault is not None)
    assert not arm.is_armed
    assert arm.read().fault.cause is StopCause.WATCHDOG
    assert "this computer's driver was silent for 1000 ms" in arm.read().fault.reason


def test_watchdog_stops_a_move_when_everything_above_the_controller_is_frozen(
    robot: EmulatorProcess, time: SteppedTime
) -> None:
    arm = _connected(time, watchdog_hz=4.0)
    rearm(arm)
    start_rad, frozen_rad = np.array(arm.state.q_rad), []
    worker = arm._link.process  # nobody else speaks to the controller
    assert worker is not None
    passing = ExitStack()

    def freeze_on_the_way() -> None:
        if not frozen_rad and np.abs(np.array(robot.state()["q_rad"]) - start_rad).max() > 0.1:
            os.kill(worker.pid, signal.SIGSTOP)
            frozen_rad.append(robot.state()["q_rad"])
            time.passes = False
            passing.enter_context(time.clock.passing())

    answer, arm._link._beat = arm._link._beat, lambda: (freeze_on_the_way(), answer())
    try:
        with passing, pytest.raises(InputError):
            arm.move_joints(start_rad + 2.0, speed=0.5, deadline_s=30.0)
        robot.step(round(0.26 * TICKS_PER_S))
        state = robot.state()
        assert not state["playing"]
        assert "the watchdog was not kicked for 0.25 s" in state["messages"][-1]
        robot.step(round(0.1 * TICKS_PER_S))
        state = robot.state()
        assert np.abs(state["qd_radps"]).max() == 0.0, "it moves on"
        assert np.abs(np.array(state["q_rad"]) - frozen_rad[0]).max() < 0.5 * 0.25 + 0.03
    finally:
        time.close(arm)


def test_killed_driver_leaves_the_robot_stopped(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    assert arm._link.process is not None
    os.kill(arm._link.process.pid, signal.SIGKILL)
    assert _until_lost(time, arm)[0] < 0.25
    robot.step(round(1.1 * TICKS_PER_S))
    assert not robot.state()["playing"]


def test_program_that_another_client_left_does_not_pull_the_arm_back(
    robot: EmulatorProcess, time: SteppedTime
) -> None:
    import rtde_control

    other = rtde_control.RTDEControlInterface(robot.host)
    q_rad = np.array(robot.state()["q_rad"])
    assert other.servoJ(q_rad.tolist(), 0.5, 0.5, 0.008, 0.1, 300)
    other.disconnect()
    assert robot.state()["playing"], "it follows its last target on"
    arm = _connected(time)
    rearm(arm, "taking over")
    arm.move_joints(q_rad + 0.1, deadline_s=10.0)
    later_s = robot.state()["time_s"] + 0.2
    while robot.state()["time_s"] < later_s:
        arm.wait(0.01)
        arm.read()
        arm.idle()
    assert np.abs(np.array(robot.state()["q_rad"]) - q_rad - 0.1).max() < 1e-6
    time.close(arm)


def test_last_target_of_a_program_that_has_ended_does_not_pull_the_arm(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    """It stays in the registers, and the arm may have been moved by hand before it is armed again."""
    away_rad = arm.state.q_rad[0] + 0.1
    _stream_until(time, arm, lambda: arm.state.q_rad[0] > away_rad, ahead_rad=1.0)
    robot.throw("stop-program")
    _stream_until(time, arm, lambda: not arm.is_armed, ahead_rad=1.0)
    robot.step(round(0.4 * TICKS_PER_S))
    stood = robot.state()["q_rad"]
    rearm(arm, "looked at it")
    robot.step(round(0.2 * TICKS_PER_S))
    assert robot.state()["playing"]
    assert robot.state()["q_rad"] == stood


def test_worker_ends_with_its_driver_even_if_the_controller_is_silent(
    robot: EmulatorProcess, time: SteppedTime, arm: UrArm
) -> None:
    q_rad = np.array(arm.state.q_rad)
    arm.stream(q_rad)
    _stream_until(time, arm, lambda: arm.state.controller_s > robot.state()["time_s"] - 0.02)
    robot.throw("freeze")
    worker = arm._link.process
    assert worker is not None
    worker._socket.close()  # as where the driver's process is gone
    worker._process.wait(PATIENCE_S)  # not for the controller, which never answers
    worker.reason = "ended"


def test_slow_link_delays_states_but_does_not_break_the_connection(
    robot: EmulatorProcess, time: SteppedTime
) -> None:
    arm = time.driver(state_timeout_s=STATE_TIMEOUT_S, watchdog_hz=1.0)  # 60 ms are longer than seven ticks
    arm.connect()
    rearm(arm)
    robot.throw("delay 60")
    q_rad = np.array(arm.state.q_rad)
    arm.move_joints(q_rad + 0.05, deadline_s=15.0)
    assert arm.is_armed
    assert np.abs(np.array(arm.state.q_rad) - q_rad - 0.05).max() < 1e-3
    time.close(arm)


def test_unreachable_controller_is_reported_in_time() -> None:
    arm = UrArm(UrOptions(ip="127.0.0.199", connect_s=10.0), tool_along_z(0.2))
    with pytest.raises(InputError, match=r"127\.0\.0\.199"):
        arm.connect()


def test_controller_that_never_answers_is_reported_at_the_deadline(
    robot: EmulatorProcess, time: SteppedTime
) -> None:
    robot.throw("freeze")
    arm = time.driver(connect_s=1.5)
    start_s = time.clock.now_s()
    with time.clock.passing(), pytest.raises(InputError, match=r"no connection after 1\.5 s"):
        arm.connect()
    assert time.clock.now_s() - start_s < LONGEST_CALL_S
    time.close(arm)
