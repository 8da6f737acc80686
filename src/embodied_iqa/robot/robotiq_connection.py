"""The socket of the Robotiq URCap: atomic commands in text, every one with a deadline."""

from __future__ import annotations

import socket
import time

from embodied_iqa.errors import InputError

__all__ = ["RobotiqConnection"]

_LONGEST_REPLY = 1024


class RobotiqConnection:
    """One connection; anything that goes wrong closes it and raises `InputError`.

    Args:
        ip: Of the robot's controller.
        port: Of the URCap's server.
        reply_s: Longest time for connecting, and for any answer.
    """

    def __init__(self, ip: str, port: int, reply_s: float) -> None:
        self._name = f"gripper at {ip}:{port}"
        self._reply_s = reply_s
        try:
            self._socket = socket.create_connection((ip, port), timeout=reply_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise InputError(f"the {self._name} does not answer: {error}") from None

    def get(self, name: str) -> int:
        """Return a variable such as ``POS``.

        Raises:
            InputError: No answer in time, or none that is a number (``?`` during an emergency stop).
        """
        reply = self._ask(f"GET {name}\n", complete=b"\n")
        words = reply.split()
        try:
            if len(words) == 2 and words[0] == name:
                return int(words[1])
        except ValueError:
            pass
        self.close()
        raise InputError(f"the {self._name} answered {reply!r} to GET {name}")

    def set(self, **values: int) -> None:
        """Write variables in one command: all of them are in force together.

        Raises:
            InputError: No ``ack`` in time.
        """
        words = " ".join(f"{name} {value}" for name, value in values.items())
        reply = self._ask(f"SET {words}\n", complete=b"ack")
        if reply.strip() != "ack":
            self.close()
            raise InputError(f"the {self._name} answered {reply!r} to SET {words}")

    def close(self) -> None:
        """Close the socket; twice is fine."""
        self._socket.close()

    def _ask(self, line: str, complete: bytes) -> str:
        """Send a line; return what comes back up to ``complete``, or a lone ``?``."""
        deadline = time.monotonic() + self._reply_s
        received = b""
        try:
            self._socket.settimeout(self._reply_s)
            self._socket.sendall(line.encode("ascii"))
            while complete not in received and received.strip() != b"?":
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                data = self._socket.recv(_LONGEST_REPLY)
                if not data:
                    raise ConnectionError("it closed the connection")
                received += data
                if len(received) > _LONGEST_REPLY:
                    raise ConnectionError("it talks too much")
        except OSError as error:
            self.close()
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            raise InputError(f"the {self._name} is lost: {why}") from None
        return received.decode("ascii", "replace")
