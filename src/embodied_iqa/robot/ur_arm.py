"""The driver of a UR arm: states in, joint targets out, and never a call that hangs.

The client library `ur_rtde` runs in a process of its own, because it waits up to 300 s for a controller that
has gone away and holds Python's interpreter lock while it connects: a thread could not be stopped in that,
a process can be killed. The driver exchanges small packets with it without waiting, checks the age of the
newest state itself, and ends the process where a deadline passes.

Safety: nothing moves before `rearm`. A stop, a protective or emergency stop, a lost connection or an ended
program disarm the arm until `rearm` is called again. The robot's program has a watchdog: where the driver is
silent for a quarter of a second the robot stops by itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.kinematics import pose_to_transform, transform_to_pose
from embodied_iqa.robot.protocols import ArmState, Gripper, GripperState
from embodied_iqa.robot.robotiq_gripper import RobotiqGripper
from embodied_iqa.robot.ur_messages import (
    REPLY,
    STATE,
    WELCOME,
    Reply,
    Request,
    UrFlags,
    UrState,
    pack_idle,
    pack_stream,
)
from embodied_iqa.robot.ur_options import UrOptions
from embodied_iqa.robot.ur_process import UrProcess

__all__ = ["CB3_RATE_HZ", "UrArm"]

CB3_RATE_HZ = 125.0
_SECOND_NS = 1_000_000_000
_NO_GRIPPER = GripperState(position=0.0)
_HEARTBEAT_S = 0.02
_GRIPPER_S = 0.2
_FAREWELL_S = 0.5


class UrArm:
    """`Arm` on a real UR controller, or on the emulator.

    Args:
        options: Address, rates, deadlines.
        T_flange_tool: ``(4, 4)``, the tool centre point in the flange's frame (m).
        rate_hz: States and joint targets per second: 125 for a CB3, up to 500 for an e-Series.
        simulated_time: The robot is emulated inside a simulated world: states bear that world's time, and
            each is acknowledged.
        gripper: Whose state goes into the arm's states; it is closed with the arm.
        log: Takes what a person should know.
        start_worker: Makes the worker process.
    """

    def __init__(
        self,
        options: UrOptions,
        T_flange_tool: NDArray[np.float64],
        *,
        rate_hz: float = CB3_RATE_HZ,
        simulated_time: bool = False,
        gripper: Gripper | None = None,
        log: Callable[[str], object] = lambda _: None,
        start_worker: Callable[[dict[str, Any]], UrProcess] = UrProcess,
    ) -> None:
        options.check()
        self._options = options
        self._rate_hz, self._simulated_time = rate_hz, simulated_time
        self._settings = _worker_settings(options, T_flange_tool)
        self._settings |= {"rate_hz": rate_hz, "lockstep": simulated_time}
        self._start_worker = start_worker
        self._gripper = gripper
        self._log = log
        self._worker: UrProcess | None = None
        self._state: UrState | None = None
        self._replies: dict[int, Reply] = {}
        self._number = 0
        self._armed = self._closed = False
        self._started_ns = self._said_ns = 0
        self.version = ""

    @property
    def rate_hz(self) -> float:
        """How often the arm wants a joint target."""
        return self._rate_hz

    @property
    def is_armed(self) -> bool:
        """Whether joint targets are taken."""
        return self._armed

    @property
    def is_connected(self) -> bool:
        """Whether states come in."""
        return self._state is not None and self._worker is not None and not self._worker.is_gone

    @property
    def is_begun(self) -> bool:
        """Whether `start` was called."""
        return self._worker is not None

    @property
    def state(self) -> UrState | None:
        """The newest state with everything that the controller tells."""
        return self._state

    @property
    def T_base_tool(self) -> NDArray[np.float64] | None:
        """``(4, 4)``, measured pose of the tool (m); None before the first state."""
        return None if self._state is None else pose_to_transform(self._state.tool_pose)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is news; -1 while there is no connection."""
        return -1 if self._worker is None else self._worker.fileno()

    def start(self) -> None:
        """Begin to connect and return at once; `read` gives None until the first state has come."""
        if self._closed:
            raise InputError("the arm's driver is closed")
        self._end_worker("reconnecting")
        self._state, self._armed = None, False
        self._started_ns = time.monotonic_ns()
        self._worker = self._start_worker(self._settings)

    def connect(self) -> None:
        """Connect and wait for the first state, at most ``options.connect_s``.

        Raises:
            InputError: The controller cannot be reached, or the time is over.
        """
        self.start()
        while self.read() is None:
            self._wait(0.05)

    def read(self) -> ArmState | None:
        """Return the newest state without waiting, or None before the first.

        Raises:
            InputError: The connection is lost, or was not made in time; `start` tries again.
        """
        state = self._hear()
        return None if state is None else self._arm_state(state)

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Send the joint target ``(6,)`` (rad) of this period.

        Raises:
            UsageError: Not six finite numbers.
            InputError: The arm is not armed.
        """
        target = _six(q_rad, "joint target")
        if not self._armed:
            raise InputError("the arm is not armed: it takes no joint targets")
        self._say(pack_stream(self._answered_s(), target))

    def idle(self) -> None:
        """Answer the newest state with nothing to do: keeps the robot's watchdog quiet."""
        if self._worker is not None and self._state is not None:
            self._say(pack_idle(self._answered_s()))

    def move_gripper(self, position: float) -> None:
        """Start moving the gripper to ``position`` in [0, 1] (0 open, 1 closed) and return at once.

        Raises:
            UsageError: There is no gripper.
        """
        if self._gripper is None:
            raise UsageError("this arm has no gripper")
        self._gripper.move(position)
        if self._simulated_time and isinstance(self._gripper, RobotiqGripper):
            self._gripper.wait_sent(
                _GRIPPER_S
            )  # the world waits with its next step until this one is answered

    def stop(self, reason: str) -> None:
        """Stop the arm as fast as it can by itself and disarm it; returns at once."""
        was_armed, self._armed = self._armed, False
        if self._worker is not None and not self._worker.is_gone:
            self._request("stop")
        if was_armed:
            self._log(f"stopping the arm: {reason}")

    def rearm(self, reason: str) -> None:
        """Make the arm take joint targets: starts the robot's program where it does not run.

        Takes at most ``options.reply_s``, and as long as the gripper takes to tell its state: what was true
        before a scene was put back may not be true any more.

        Raises:
            InputError: A stop is in force, the controller refuses, or the gripper is silent; says why.
        """
        self._hear()
        self._log(f"arming the arm: {reason}")
        self._ask(Request(self._next(), "rearm", (), {"unlock": self._options.unlock_on_rearm}))
        deadline = time.monotonic() + self._options.reply_s
        while UrFlags.ARMED not in self._heard().flags:
            if time.monotonic() > deadline:
                raise InputError("the arm was armed, but no state says so")
            self._wait(_HEARTBEAT_S)
        if isinstance(self._gripper, RobotiqGripper):
            self._gripper.wait_fresh(self._options.gripper.reply_s + _GRIPPER_S)
        self._armed = True

    def unlock(self) -> None:
        """Unlock a protective stop; the arm stays disarmed. A person has looked at the cause before.

        Raises:
            InputError: The controller refuses, as within the first five seconds.
        """
        self._ask(Request(self._next(), "unlock"))

    def set_speed(self, fraction: float) -> None:
        """Set the speed slider, 0 to 1.

        Raises:
            UsageError: Another number.
            InputError: The controller does not take it.
        """
        if not 0.0 <= fraction <= 1.0:
            raise UsageError("bad speed", expected="a fraction from 0 to 1", got=fraction)
        self._ask(Request(self._next(), "speed_slider", (fraction,)))

    def set_digital_output(self, pin: int, *, level: bool) -> None:
        """Set a standard digital output, 0 to 7."""
        if not 0 <= pin <= 7:
            raise UsageError("bad digital output", expected="0 to 7", got=pin)
        self._ask(Request(self._next(), "digital_output", (pin, level)))

    def move_joints(
        self, q_rad: ArrayLike, *, speed: float = 1.0, acceleration: float = 1.4, deadline_s: float
    ) -> None:
        """Move in joint space and wait for the end; watches the robot meanwhile.

        Args:
            q_rad: ``(6,)``, where to.
            speed: Of the joint that moves furthest (rad/s).
            acceleration: Of that joint (rad/s2).
            deadline_s: The arm is stopped where the move takes longer.

        Raises:
            InputError: The move was not finished; the arm is disarmed.
        """
        self._move("move_joints", (*_six(q_rad, "joint target"), speed, acceleration), deadline_s)

    def move_line(
        self, T_base_tool: ArrayLike, *, speed: float = 0.25, acceleration: float = 1.2, deadline_s: float
    ) -> None:
        """Move the tool along a line and wait for the end; like `move_joints`, in m/s and m/s2."""
        pose = _six(transform_to_pose(T_base_tool), "pose")
        self._move("move_line", (*pose, speed, acceleration), deadline_s)

    def close(self) -> None:
        """Stop the arm and give it back; twice is fine."""
        self._closed, self._armed = True, False
        self._end_worker("closed")
        if self._gripper is not None:
            self._gripper.close()

    def _arm_state(self, state: UrState) -> ArmState:
        gripper = _NO_GRIPPER if self._gripper is None else self._gripper.read()
        return ArmState(
            stamp_ns=round(state.world_s * _SECOND_NS) if self._simulated_time else state.system_ns,
            q_rad=np.array(state.q_rad),
            qd_radps=np.array(state.qd_radps),
            gripper=gripper,
            protective_stop=state.protective_stop or UrFlags.HALTED in state.flags,
            emergency_stop=state.emergency_stop,
        )

    def _hear(self) -> UrState | None:
        """Take in what the worker has said; disarm and raise where the connection is lost."""
        worker = self._worker
        if worker is None:
            raise InputError("the arm is not connected")
        for message in worker.receive():
            kind = message[:1]
            if kind == STATE:
                self._state = UrState.unpack(message)
            elif kind == REPLY:
                reply = Reply.unpack(message)
                self._replies[reply.number] = reply
            elif kind == WELCOME:
                self.version = message[1:].decode()
        self._check_age(worker)
        if worker.is_gone:
            self._armed = False
            raise InputError(f"the arm at {self._options.ip} is lost: {worker.reason}")
        state = self._state
        if state is not None and (
            state.protective_stop or state.emergency_stop or UrFlags.HALTED in state.flags
        ):
            self._armed = False
        return state

    def _heard(self) -> UrState:
        state = self._hear()
        if state is None:
            raise InputError("the arm was never seen")
        return state

    def _check_age(self, worker: UrProcess) -> None:
        now_ns = time.monotonic_ns()
        if worker.is_gone:
            return
        if self._state is None:
            if now_ns - self._started_ns > self._options.connect_s * _SECOND_NS:
                worker.end(f"no connection after {self._options.connect_s:g} s")
        elif now_ns - self._state.arrived_ns > self._options.state_timeout_s * _SECOND_NS:
            age_ms = (now_ns - self._state.arrived_ns) / 1e6
            worker.end(f"no state for {age_ms:.0f} ms")

    def _move(self, name: str, values: tuple[float, ...], deadline_s: float) -> None:
        if not self._armed:
            raise InputError("the arm is not armed: it takes no moves")
        try:
            self._ask(Request(self._next(), name, values), deadline_s)
        except InputError as error:
            self.stop(str(error))
            raise

    def _ask(self, request: Request, deadline_s: float | None = None) -> None:
        """Send a request and wait for its reply, watching the connection."""
        deadline_s = self._options.reply_s if deadline_s is None else deadline_s
        deadline = time.monotonic() + deadline_s
        self._say(request.pack())
        while request.number not in self._replies:
            self._hear()
            if time.monotonic() > deadline:
                raise InputError(f"the arm did not finish {request.name!r} within {deadline_s:g} s")
            self._wait(_HEARTBEAT_S)
            self._beat()
        error = self._replies.pop(request.number).error
        if error:
            raise InputError(f"the arm did not do {request.name!r}: {error}")

    def _beat(self) -> None:
        if time.monotonic_ns() - self._said_ns > _HEARTBEAT_S * _SECOND_NS:
            self.idle()

    def _request(self, name: str) -> None:
        self._say(Request(self._next(), name).pack())
        self._replies.clear()

    def _say(self, message: bytes) -> None:
        if self._worker is None:
            raise InputError("the arm is not connected")
        self._said_ns = time.monotonic_ns()
        self._worker.send(message)

    def _answered_s(self) -> float:
        return math.nan if self._state is None else self._state.controller_s

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _wait(self, seconds: float) -> None:
        if self._worker is not None:
            self._worker.wait(seconds)

    def _end_worker(self, reason: str) -> None:
        if self._worker is not None:
            self._worker.end(reason, grace_s=_FAREWELL_S)
            self._worker = None


def _worker_settings(options: UrOptions, T_flange_tool: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "ip": options.ip,
        "lookahead_s": options.servo_lookahead_s,
        "gain": options.servo_gain,
        "watchdog_hz": options.watchdog_hz,
        "stop_mps2": options.stop_mps2,
        "stop_radps2": options.stop_radps2,
        "tool_pose": transform_to_pose(T_flange_tool).tolist(),
        "payload_kg": options.payload_kg,
    }


def _six(values: ArrayLike, what: str) -> tuple[float, ...]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise UsageError(f"bad {what}", expected="six finite numbers", got=array.tolist())
    return tuple(array.tolist())
