"""The driver of a Robotiq 2F gripper behind its URCap."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.robot.protocols import GripperState
from embodied_iqa.robot.robotiq_connection import RobotiqConnection
from embodied_iqa.robot.ur_options import GripperOptions

__all__ = ["RobotiqGripper"]

_ACTIVE = 3
_MOVING, _STOPPED_OPENING, _STOPPED_CLOSING = 0, 1, 2
_FULL = 255
_POLL_S = 0.02
_RETRY_S = 1.0
_FRESH_S = 1.0
_MINOR_FAULTS = frozenset({0, 5, 7, 9})
"""Also what the gripper reports before and during its activation, and while it hears nothing for a moment."""


@dataclass(frozen=True, slots=True)
class _Seen:
    state: GripperState
    at_s: float
    """When it was asked for: it is not older than that."""


class RobotiqGripper:
    """`Gripper` on the URCap's socket server. A thread talks to it, so that no call waits for the network.

    Args:
        ip: Of the robot's controller.
        options: Port, speed, force, deadlines.
        log: Takes what a person should know.
    """

    def __init__(
        self, ip: str, options: GripperOptions | None = None, log: Callable[[str], object] = lambda _: None
    ) -> None:
        self._ip = ip
        self._options = options or GripperOptions()
        if self._options.open_count == self._options.closed_count:
            raise UsageError("the gripper's open and closed positions are the same")
        self._log = log
        self._lock = threading.Lock()
        self._target: float | None = None
        self._requested: float | None = None
        self._seen: _Seen | None = None
        self._problem = "it was not reached yet"
        self._news = threading.Event()
        self._sent = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="gripper", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether the gripper is activated and answers."""
        with self._lock:
            return self._seen is not None and not self._problem

    def wait_ready(self, deadline_s: float) -> None:
        """Wait until the gripper is activated and answers.

        Raises:
            InputError: It is not within the deadline.
        """
        deadline = time.monotonic() + deadline_s
        while not self.is_ready:
            if time.monotonic() > deadline:
                with self._lock:
                    raise InputError(f"no gripper within {deadline_s:g} s: {self._problem}")
            self._ending.wait(_POLL_S)

    def wait_fresh(self, deadline_s: float) -> None:
        """Wait for a state that was measured after this call, at most so long.

        Raises:
            InputError: None came.
        """
        since_s, deadline = time.monotonic(), time.monotonic() + deadline_s
        while True:
            with self._lock:
                seen, problem = self._seen, self._problem
            if seen is not None and seen.at_s > since_s and not problem:
                return
            if time.monotonic() > deadline:
                raise InputError(f"the gripper did not tell its state within {deadline_s:g} s: {problem}")
            self._ending.wait(_POLL_S / 4)

    def read(self) -> GripperState:
        """Return the newest measured state.

        Raises:
            InputError: The gripper has not answered for a second beyond its deadline.
        """
        with self._lock:
            seen, target, problem = self._seen, self._target, self._problem
        if seen is None or time.monotonic() - seen.at_s > _FRESH_S + self._options.reply_s:
            raise InputError(f"the gripper is lost: {problem or 'its thread hangs'}")
        if target is None:
            return seen.state
        return GripperState(seen.state.position, moving=True)

    def move(self, position: float) -> None:
        """Start moving to ``position`` in [0, 1] (0 open, 1 closed) and return at once.

        Raises:
            UsageError: Another number.
        """
        if not (math.isfinite(position) and 0.0 <= position <= 1.0):
            raise UsageError("bad gripper target", expected="a number from 0 to 1", got=position)
        with self._lock:
            self._target = self._requested = float(position)
        self._sent.clear()
        self._news.set()

    def wait_sent(self, deadline_s: float) -> None:
        """Wait until the gripper's server has taken the newest target, at most so long."""
        self._sent.wait(deadline_s)

    def close(self) -> None:
        """End the thread and the connection; twice is fine."""
        self._ending.set()
        self._news.set()
        self._thread.join(timeout=self._options.reply_s + _POLL_S)

    def _work(self) -> None:
        """Keep a connection until the end: connect, activate, then serve; after a problem begin again."""
        while not self._ending.is_set():
            connection = None
            try:
                connection = RobotiqConnection(self._ip, self._options.port, self._options.reply_s)
                self._activate(connection)
                self._note(connection, "")
                self._serve(connection)
            except InputError as error:
                with self._lock:
                    changed, self._problem = str(error) != self._problem, str(error)
                if changed:
                    self._log(str(error))
            finally:
                if connection is not None:
                    connection.close()
            self._ending.wait(_RETRY_S)

    def _activate(self, connection: RobotiqConnection) -> None:
        """Activate a gripper that is not active: its fingers open and close once."""
        if connection.get("STA") == _ACTIVE and connection.get("ACT") == 1:
            return
        connection.set(ACT=0, ATR=0, GTO=0)
        self._await(connection, "STA", 0)
        connection.set(ACT=1)
        self._await(connection, "STA", _ACTIVE)

    def _await(self, connection: RobotiqConnection, name: str, value: int) -> None:
        deadline = time.monotonic() + self._options.activation_s
        while connection.get(name) != value:
            if time.monotonic() > deadline or self._ending.is_set():
                raise InputError(f"the gripper was not activated within {self._options.activation_s:g} s")
            self._ending.wait(_POLL_S)

    def _serve(self, connection: RobotiqConnection) -> None:
        while not self._ending.is_set():
            self._news.clear()
            with self._lock:
                target = self._target
            if target is not None:
                self._command(connection, target)
            self._note(connection, "")
            self._arrived(target)
            self._news.wait(_POLL_S)
        with contextlib.suppress(InputError):
            connection.set(GTO=0)

    def _command(self, connection: RobotiqConnection, target: float) -> None:
        """Send the target in one command and wait until the gripper has taken it in."""
        count = self._count(target)
        connection.set(POS=count, SPE=self._options.speed, FOR=self._options.force, GTO=1)
        if self._target == target:
            self._sent.set()
        deadline = time.monotonic() + self._options.reply_s
        while connection.get("PRE") != count:
            if time.monotonic() > deadline:
                raise InputError("the gripper does not take its target")

    def _arrived(self, target: float | None) -> None:
        """The gripper has taken a target, and the state after it is known."""
        with self._lock:
            if self._target == target:
                self._target = None

    def _note(self, connection: RobotiqConnection, problem: str) -> None:
        asked_s = time.monotonic()
        objects, count, fault = connection.get("OBJ"), connection.get("POS"), connection.get("FLT")
        if fault not in _MINOR_FAULTS:
            raise InputError(f"the gripper reports fault {fault}")
        held = objects in {_STOPPED_OPENING, _STOPPED_CLOSING}
        moving = objects == _MOVING and self._requested is not None
        state = GripperState(self._position(count), moving, held)
        with self._lock:
            self._seen, self._problem = _Seen(state, asked_s), problem

    def _count(self, position: float) -> int:
        low, high = self._options.open_count, self._options.closed_count
        return min(max(round(low + (high - low) * position), 0), _FULL)

    def _position(self, count: int) -> float:
        low, high = self._options.open_count, self._options.closed_count
        return min(max((count - low) / (high - low), 0.0), 1.0)
