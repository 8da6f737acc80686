"""Socket connection to the Robotiq URCap: atomic text commands, each with a deadline."""

from __future__ import annotations

import re
import socket

from embodied_iqa.arm.robot.ur.connecting import await_readable, connected
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError

_LONGEST_REPLY = 1024


class RobotiqConnection:
    """One connection; any failure closes it and raises `InputError`.

    Args:
        ip: Address of the robot's controller.
        port: Port of the URCap's server.
        reply_s: Deadline for connecting and for each reply.
        clock: Of these deadlines.
    """

    def __init__(self, ip: str, port: int, reply_s: float, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._name = f"gripper at {ip}:{port}"
        self._reply_s = reply_s
        try:
            self._socket = connected(ip, port, reply_s, clock)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise InputError(f"the {self._name} does not answer: {error}") from None

    def get(self, name: str) -> int:
        """Return a variable such as ``POS``.

        Raises:
            InputError: The reply is late or not a number (``?`` during an emergency stop).
        """
        reply = self._ask(f"GET {name}\n", complete=b"\n")
        if found := re.fullmatch(rf"{name}\s+([+-]?\d+)", reply.strip()):
            return int(found[1])
        self.close()
        raise InputError(f"the {self._name} answered {reply!r} to GET {name}")

    def set(self, **values: int) -> None:
        """Write variables in one command, which takes effect as a whole.

        Raises:
            InputError: No ``ack`` in time.
        """
        words = " ".join(f"{name} {value}" for name, value in values.items())
        reply = self._ask(f"SET {words}\n", complete=b"ack")
        if reply.strip() != "ack":
            self.close()
            raise InputError(f"the {self._name} answered {reply!r} to SET {words}")

    def close(self) -> None:
        """Close the socket; calling it twice is allowed."""
        self._socket.close()

    def _ask(self, line: str, complete: bytes) -> str:
        """Send a line; return the reply up to ``complete``, or a lone ``?``."""
        deadline = self._clock.now_s() + self._reply_s
        received = b""
        try:
            self._socket.sendall(line.encode("ascii"))  # a short line, never more than one that is unanswered
            while complete not in received and received.strip() != b"?":
                await_readable(self._socket, deadline, self._clock)
                data = self._socket.recv(_LONGEST_REPLY)
                if not data:
                    raise ConnectionError("it closed the connection")
                received += data
                if len(received) > _LONGEST_REPLY:
                    raise ConnectionError("its reply is too long")
        except OSError as error:
            self.close()
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            raise InputError(f"the {self._name} is lost: {why}") from None
        return received.decode("ascii", "replace")
