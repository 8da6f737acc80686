"""A robot that stops while the driver waits for the first state of an armed arm, on a worker of the test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.robot.messages import GripperState, RobotFault, StopCause
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.link import UrLink
from embodied_iqa.arm.robot.ur.messages import ANSWER, REQUEST, Command, Reply, Request, UrFlags, UrState
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import ArmModel
from manual_clock import ManualClock

PLAYING = 2
NORMAL, PROTECTIVE, EMERGENCY = 1, 1 << 2, 1 << 6
SIX = (0.0,) * 6


class Worker:
    """A worker process whose messages the test sends."""

    is_gone = False

    def __init__(self, clock: ManualClock) -> None:
        self.messages: list[list[bytes]] = []
        self.sent: list[bytes] = []
        self.waits = 0
        self._clock = clock

    def receive(self) -> list[bytes]:
        return self.messages.pop(0) if self.messages else []

    def wait(self, seconds: float) -> None:
        self.waits += 1
        self._clock.advance(seconds)

    def send(self, message: bytes) -> None:
        self.sent.append(message)


def _started(arm: UrOptions | None = None) -> tuple[UrLink, Worker, ManualClock]:
    clock = ManualClock()
    worker = Worker(clock)
    link = UrLink(SessionOptions(arm or UrOptions()), clock=clock, make_process=lambda *_: worker)  # type: ignore[arg-type,return-value]
    link.start()
    return link, worker, clock


def _message(clock: ManualClock, flags: UrFlags, safety: int = NORMAL) -> bytes:
    return UrState(clock.now_ns(), 0, 1.0, 0.0, SIX, SIX, SIX, SIX, PLAYING, safety, 7, 1.0, flags).pack()


@pytest.mark.parametrize(
    ("flags", "safety", "words"),
    [
        (UrFlags.HALTED, NORMAL, "the robot's program ended"),
        (UrFlags.HALTED, PROTECTIVE, "the robot made a protective stop"),
        (UrFlags(0), EMERGENCY, "the robot made an emergency stop"),
    ],
)
def test_an_arm_that_stops_while_it_is_armed_says_why_at_once(
    flags: UrFlags, safety: int, words: str
) -> None:
    link, worker, clock = _started()
    old, new = _message(clock, UrFlags.HALTED), _message(clock, flags, safety)
    worker.messages = [[old], [old, Reply(1).pack()], [old], [new]]
    link.ask(Command.REARM)
    with pytest.raises(InputError, match=f"armed and stopped again: {words}"):
        link.wait_armed()
    assert worker.messages == []
    assert worker.waits <= 3


def test_a_silent_driver_is_not_called_a_fault_of_the_robot() -> None:
    link, worker, clock = _started()
    worker.messages = [[_message(clock, UrFlags.HALTED | UrFlags.WATCHDOG)]]
    state = link.receive()
    assert state is not None
    assert link.fault_of(state) == RobotFault(
        StopCause.WATCHDOG,
        "the robot's watchdog stopped the arm: this computer's driver was silent for 250 ms",
    )


def test_a_state_from_before_the_reply_does_not_count() -> None:
    link, worker, clock = _started()
    old, new = _message(clock, UrFlags.HALTED), _message(clock, UrFlags.ARMED)
    worker.messages = [[old, Reply(1).pack()], [], [old], [], [new]]
    link.ask(Command.REARM)
    link.wait_armed()
    assert worker.messages == []
    assert ANSWER in {message[:1] for message in worker.sent}, "a simulated world waits for it"


class Silent:
    """A gripper that sends no new state."""

    def read(self) -> GripperState:
        raise InputError("the gripper is lost")

    def wait_fresh(self, _deadline_s: float) -> None:
        raise InputError("the gripper is silent")


def test_a_controller_that_fell_silent_with_its_gripper_is_named_first() -> None:
    options = UrOptions(ip="192.0.2.1", state_timeout_s=3.0)
    link, worker, clock = _started(options)
    gripper: Any = Silent()
    arm = UrArm(options, np.eye(4), model=ArmModel.UR5, gripper=gripper, link=lambda *_: link)
    worker.messages = [[_message(clock, UrFlags.ARMED)]]
    with pytest.raises(InputError, match=r"^the gripper is lost$"):
        arm.read()
    clock.advance(0.6)
    with pytest.raises(InputError, match=r"^no state for 600 ms; the gripper is lost$"):
        arm.read()


@pytest.mark.parametrize("late", ["reply", "state", "gripper", ""])
def test_a_robot_whose_arming_failed_late_is_stopped(late: str) -> None:
    """The worker may have armed it: it would follow the targets of nobody, with its watchdog as the end."""
    options = UrOptions(ip="192.0.2.1", state_timeout_s=30.0)
    link, worker, clock = _started(options)
    arm = UrArm(
        options,
        np.eye(4),
        model=ArmModel.UR5,
        gripper=Silent() if late == "gripper" else None,  # type: ignore[arg-type]
        link=lambda *_: link,
    )
    state = _message(clock, UrFlags(0) if late == "state" else UrFlags.ARMED)
    worker.messages = [[state], [state] if late == "reply" else [state, Reply(1).pack()], [state]]
    if late:
        with pytest.raises(InputError):
            arm.rearm("test")
    else:
        arm.rearm("test")
    assert arm.is_armed is not bool(late)
    asked = [Request.unpack(message).command for message in worker.sent if message[:1] == REQUEST]
    assert asked == [Command.REARM, *([Command.STOP] if late else [])]


@pytest.mark.parametrize(
    ("safety", "mode", "words"),
    [
        (NORMAL, 3, "the robot is not running (power off): power on, release the brakes"),
        (EMERGENCY, 3, "the robot made an emergency stop"),
    ],
)
def test_a_robot_without_power_has_a_fault_and_an_emergency_stop_is_named_first(
    safety: int, mode: int, words: str
) -> None:
    link, _, clock = _started()
    state = replace(UrState.unpack(_message(clock, UrFlags(0), safety)), robot_mode=mode)
    fault = link.fault_of(state)
    assert fault is not None
    assert fault.cause.lasts
    assert fault.reason.startswith(words)
