"""The driver's link to its worker process: states with an age limit, requests with deadlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embodied_iqa.arm.robot.messages import RobotFault, StopCause
from embodied_iqa.arm.robot.ur.messages import (
    NOTE,
    REPLY,
    STATE,
    Answer,
    Command,
    Reply,
    Request,
    UrFlags,
    UrState,
    safety_stop,
    why_no_power,
)
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.arm.robot.ur.process import UrProcess
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS

_HEARTBEAT_S = 0.02
_SILENT_NS = 250_000_000
_EXIT_S = 0.5
_OLDER_STATES = 1
"""So many states that come after a reply may have been read before it, in the worker's other thread."""


class UrLink:
    """Starts the worker process and exchanges messages with it; no call waits without a deadline.

    Args:
        options: Options of the worker process.
        log: Receives what the worker has for the operator.
        clock: Of the deadlines and of the ages of states.
        make_process: Starts the worker process.

    Attributes:
        process: The worker process; None before `start` and after `close`.
        state: The newest state, or None.
        armed: Set by the driver; cleared by a stop in a state, an ended program or a lost connection.
    """

    def __init__(
        self,
        options: SessionOptions,
        log: Callable[[str], object] = lambda _: None,
        clock: Clock = MONOTONIC,
        make_process: Callable[[SessionOptions, Clock], UrProcess] = UrProcess,
    ) -> None:
        self._options = options
        self._log = log
        self._clock = clock
        self._make_process = make_process
        self.process: UrProcess | None = None
        self.state: UrState | None = None
        self.armed = False
        self._replies: dict[int, Reply] = {}
        self._number = self._since_reply = 0
        self._started_ns = self._sent_ns = 0

    @property
    def is_connected(self) -> bool:
        """Whether states arrive."""
        return self.state is not None and self.process is not None and not self.process.is_gone

    def start(self) -> None:
        """Start a new worker process, which begins to connect; end the old one."""
        self.close("reconnecting")
        self.state, self.armed = None, False
        self._started_ns = self._clock.now_ns()
        self.process = self._make_process(self._options, self._clock)

    def close(self, reason: str) -> None:
        """End the worker process."""
        if self.process is not None:
            self.process.end(reason, grace_s=_EXIT_S)
            self.process = None

    def receive(self) -> UrState | None:
        """Process all messages of the worker; return the newest state, or None before the first.

        Raises:
            RefusedArmError: The arm is of another model; the link is disarmed.
            InputError: The connection is lost or was not made in time; the link is disarmed.
        """
        process = self.process
        if process is None:
            raise InputError("the arm is not connected")
        for message in process.receive():
            kind = message[:1]
            if kind == STATE:
                self.state = UrState.unpack(message)
                self._since_reply += 1
            elif kind == REPLY:
                reply = Reply.unpack(message)
                self._replies[reply.number] = reply
                self._since_reply = 0
            elif kind == NOTE:
                self._log(message[1:].decode("utf-8", "replace"))
        self._check_age(process)
        if process.is_gone:
            self.armed = False
            what = "is not connected" if self.state is None else "is lost"
            problem = f"the arm at {self._options.arm.ip} {what}: {process.reason}"
            if process.refusal is not None:
                raise RefusedArmError(problem, process.refusal)
            raise InputError(problem)
        state = self.state
        if state is not None and self.fault_of(state) is not None:
            self.armed = False
        return state

    @property
    def silence(self) -> str:
        """That no state has come for some time, in words; empty where states come."""
        return self._silence(_SILENT_NS)

    def _silence(self, limit_ns: float) -> str:
        age_ns = 0 if self.state is None else self._clock.now_ns() - self.state.arrived_ns
        return f"no state for {age_ns / 1e6:.0f} ms" if age_ns > limit_ns else ""

    def fault_of(self, state: UrState) -> RobotFault | None:
        """Return why the robot does not follow joint targets; None where it does, or could once armed."""
        if stop := safety_stop(state.safety_bits):
            return RobotFault(StopCause.EMERGENCY if state.emergency_stop else StopCause.PROTECTIVE, stop)
        if reason := why_no_power(state.robot_mode):
            return RobotFault(StopCause.POWER_LOST, reason)
        if UrFlags.WATCHDOG in state.flags:
            limit_ms = 1e3 / self._options.arm.watchdog_hz
            silent = f"this computer's driver was silent for {limit_ms:.0f} ms"
            return RobotFault(StopCause.WATCHDOG, f"the robot's watchdog stopped the arm: {silent}")
        if UrFlags.HALTED in state.flags:
            return RobotFault(StopCause.PROGRAM_ENDED, "the robot's program ended, not by its watchdog")
        return None

    def wait(self, seconds: float) -> None:
        """Wait until the worker sends something, at most so long."""
        if self.process is not None:
            self.process.wait(seconds)

    def answer(self, q_rad: tuple[float, ...] | None = None) -> None:
        """Answer the newest state with a joint target ``(6,)`` (rad), or None to keep the watchdog quiet."""
        if self.process is not None and self.state is not None:
            self._send(Answer(self.state.controller_s, q_rad).pack())

    def post(self, command: Command) -> None:
        """Send a request without waiting for its reply; a worker that is gone gets none."""
        if self.process is not None and not self.process.is_gone:
            self._send(self._request(command).pack())
            self._replies.clear()

    def ask(self, command: Command, values: Sequence[float] = (), deadline_s: float | None = None) -> None:
        """Send a request, watch the connection and wait for the reply, by default at most ``reply_s``.

        Raises:
            InputError: The worker refuses, the deadline passes or the connection is lost.
        """
        deadline_s = self._options.arm.reply_s if deadline_s is None else deadline_s
        deadline = self._clock.now_s() + deadline_s
        request = self._request(command, values)
        self._send(request.pack())
        while True:
            self.receive()
            if request.number in self._replies:
                break
            if self._clock.now_s() > deadline:
                raise InputError(f"the arm did not finish '{command}' within {deadline_s:g} s")
            self.wait(_HEARTBEAT_S)
            self._beat()
        error = self._replies.pop(request.number).error
        if error:
            raise InputError(f"the arm did not complete '{command}': {error}")

    def wait_armed(self) -> None:
        """Wait for a state in which the worker accepts joint targets, after its reply that it does.

        States are answered meanwhile: a simulated world sends the next one only then.

        Raises:
            InputError: The robot has stopped again, or no such state arrives within ``reply_s``.
        """
        deadline = self._clock.now_s() + self._options.arm.reply_s
        while (state := self.receive()) is None or UrFlags.ARMED not in state.flags:
            fault = None if state is None else self.fault_of(state)
            if fault is not None and self._since_reply > _OLDER_STATES:
                raise InputError(f"the arm was armed and stopped again: {fault.reason}")
            if self._clock.now_s() > deadline:
                raise InputError("the arm was armed, but no state confirms it")
            self.wait(_HEARTBEAT_S)
            self._beat()

    def _send(self, message: bytes) -> None:
        if self.process is None:
            raise InputError("the arm is not connected")
        self._sent_ns = self._clock.now_ns()
        self.process.send(message)

    def _request(self, command: Command, values: Sequence[float] = ()) -> Request:
        self._number += 1
        return Request(self._number, command, tuple(values))

    def _beat(self) -> None:
        if self._clock.now_ns() - self._sent_ns > _HEARTBEAT_S * SECOND_NS:
            self.answer()

    def _check_age(self, process: UrProcess) -> None:
        if process.is_gone:
            return
        now_ns, options = self._clock.now_ns(), self._options.arm
        if self.state is None:
            if now_ns - self._started_ns > options.connect_s * SECOND_NS:
                process.end(f"no connection after {options.connect_s:g} s")
        elif silence := self._silence(options.state_timeout_s * SECOND_NS):
            process.end(silence)
