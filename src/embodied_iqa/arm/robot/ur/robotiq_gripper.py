"""Driver of a Robotiq 2F gripper connected through its URCap."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable

from embodied_iqa.arm.robot.messages import GripperState
from embodied_iqa.arm.robot.ur.options import GripperOptions
from embodied_iqa.arm.robot.ur.robotiq_connection import RobotiqConnection
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, UsageError

_ACTIVE = 3
_MOVING, _STOPPED_OPENING, _STOPPED_CLOSING = 0, 1, 2
_FULL = 255
_POLL_S = 0.02
_ACCEPT_S = 0.002
_RETRY_S = 1.0
_FRESH_S = 1.0
_MINOR_FAULTS = frozenset({0, 5, 7, 9})
"""Faults reported before and during activation, and after a short silence of the controller."""


class RobotiqGripper:
    """A gripper on the URCap's socket server; a thread does the communication, so that no call waits for it.

    Args:
        ip: Address of the robot's controller.
        options: Port, speed, force, deadlines.
        log: Receives messages for the operator.
        clock: Of deadlines, pauses and the age of states.
    """

    def __init__(
        self,
        ip: str,
        options: GripperOptions | None = None,
        log: Callable[[str], object] = lambda _: None,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._ip = ip
        self._clock = clock
        self._options = options or GripperOptions()
        if self._options.open_count == self._options.closed_count:
            raise UsageError("the gripper's open and closed positions are the same")
        self._log = log
        self._lock = threading.Lock()
        self._measured = threading.Condition(self._lock)
        self._target: float | None = None
        self._commanded = False
        self._state: GripperState | None = None
        self._state_s = -math.inf  # request of the newest state; the state is not older
        self._problem = "the gripper was not reached yet"
        self._wake = threading.Event()
        self._sent = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="gripper", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether the gripper is activated and answers."""
        with self._lock:
            return self._state is not None and not self._problem

    def wait_ready(self, deadline_s: float) -> None:
        """Wait until the gripper is activated and answers.

        Raises:
            InputError: The deadline passes.
        """
        self._wait_for_state(-math.inf, deadline_s)

    def wait_fresh(self, deadline_s: float) -> None:
        """Wait for a state that is measured after this call.

        Raises:
            InputError: The deadline passes.
        """
        since_s = self._clock.now_s()
        self._wake.set()
        self._wait_for_state(since_s, deadline_s)

    def read(self) -> GripperState:
        """Return the newest measured state.

        Raises:
            InputError: The gripper has not answered for a second beyond its deadline.
        """
        with self._lock:
            state, state_s, target, problem = self._state, self._state_s, self._target, self._problem
        if state is None or self._clock.now_s() - state_s > _FRESH_S + self._options.reply_s:
            raise InputError(problem or "the gripper is lost: its thread hangs")
        return state if target is None else GripperState(state.position, moving=True)

    def move(self, position: float) -> None:
        """Start moving to ``position`` in [0, 1] (0 open, 1 closed) and return at once.

        Raises:
            UsageError: The position is out of range.
        """
        if not (math.isfinite(position) and 0.0 <= position <= 1.0):
            raise UsageError("bad gripper target", expected="a number from 0 to 1", got=position)
        with self._lock:
            self._target, self._commanded = float(position), True
        self._sent.clear()
        self._wake.set()

    def wait_sent(self, deadline_s: float) -> None:
        """Wait until the gripper's server has accepted the newest target, at most so long."""
        self._clock.wait_event(self._sent, deadline_s)

    def close(self) -> None:
        """End the thread and the connection; calling it twice is allowed."""
        self._ending.set()
        self._wake.set()
        self._thread.join(timeout=self._options.reply_s + _POLL_S)

    def _wait_for_state(self, since_s: float, deadline_s: float) -> None:
        deadline = self._clock.now_s() + deadline_s
        with self._measured:
            while not self._state_s > since_s or self._problem:
                left_s = deadline - self._clock.now_s()
                if left_s <= 0.0:
                    raise InputError(f"no state of the gripper within {deadline_s:g} s: {self._problem}")
                self._clock.wait(self._measured, left_s)

    def _work(self) -> None:
        """Connect, activate and serve until closed; start again after a problem."""
        while not self._ending.is_set():
            connection = None
            try:
                connection = self._connect()
                self._activate(connection)
                self._measure(connection)
                self._serve(connection)
            except InputError as error:
                with self._lock:
                    changed, self._problem = str(error) != self._problem, str(error)
                if changed:
                    self._log(str(error))
            finally:
                if connection is not None:
                    connection.close()
            self._clock.wait_event(self._ending, _RETRY_S)

    def _connect(self) -> RobotiqConnection:
        return RobotiqConnection(self._ip, self._options.port, self._options.reply_s, self._clock)

    def _activate(self, connection: RobotiqConnection) -> None:
        """Activate an inactive gripper, whose fingers then open and close once."""
        if connection.get("STA") == _ACTIVE and connection.get("ACT") == 1:
            return
        connection.set(ACT=0, ATR=0, GTO=0)
        self._await(connection, "STA", 0)
        connection.set(ACT=1)
        self._await(connection, "STA", _ACTIVE)

    def _await(self, connection: RobotiqConnection, name: str, value: int) -> None:
        deadline = self._clock.now_s() + self._options.activation_s
        while connection.get(name) != value:
            if self._clock.now_s() > deadline or self._ending.is_set():
                raise InputError(f"the gripper was not activated within {self._options.activation_s:g} s")
            self._clock.wait_event(self._ending, _POLL_S)

    def _serve(self, connection: RobotiqConnection) -> None:
        while not self._ending.is_set():
            self._wake.clear()
            with self._lock:
                target = self._target
            if target is not None:
                self._command(connection, target)
            self._measure(connection)
            with self._lock:
                if self._target == target:
                    self._target = None  # accepted, and the state after it is known
            self._clock.wait_event(self._wake, _POLL_S)
        with contextlib.suppress(InputError):
            connection.set(GTO=0)

    def _command(self, connection: RobotiqConnection, target: float) -> None:
        """Send the target in one command and wait until the gripper has accepted it."""
        count = self._count(target)
        connection.set(POS=count, SPE=self._options.speed, FOR=self._options.force, GTO=1)
        if self._target == target:
            self._sent.set()
        deadline = self._clock.now_s() + self._options.reply_s
        while connection.get("PRE") != count:
            if self._clock.now_s() > deadline:
                raise InputError("the gripper does not accept its target")
            self._clock.wait_event(self._ending, _ACCEPT_S)

    def _measure(self, connection: RobotiqConnection) -> None:
        state_s = self._clock.now_s()
        objects, count, fault = connection.get("OBJ"), connection.get("POS"), connection.get("FLT")
        if fault not in _MINOR_FAULTS:
            raise InputError(f"the gripper reports fault {fault}")
        held = objects in {_STOPPED_OPENING, _STOPPED_CLOSING}
        moving = objects == _MOVING and self._commanded
        state = GripperState(self._position(count), moving, held)
        with self._lock:
            self._state, self._state_s, self._problem = state, state_s, ""
            self._measured.notify_all()

    def _count(self, position: float) -> int:
        low, high = self._options.open_count, self._options.closed_count
        return min(max(round(low + (high - low) * position), 0), _FULL)

    def _position(self, count: int) -> float:
        low, high = self._options.open_count, self._options.closed_count
        return min(max((count - low) / (high - low), 0.0), 1.0)
