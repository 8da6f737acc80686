"""Errors of the connection to a policy or model server, each reported in one line."""

from __future__ import annotations

from typing import Any

from embodied_iqa.base.errors import InputError

_LONGEST = 300


class WireError(InputError):
    """The server cannot be used."""


class ConnectionLostError(WireError):
    """Nobody listens, the connection broke, or the server is busy: another attempt may help.

    Attributes:
        retry_after_s: When the server wants the next attempt [s]; 0 if it does not say.
    """

    def __init__(self, message: str, *, retry_after_s: float = 0.0, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after_s = retry_after_s


class DeadlineError(WireError):
    """The server took too long."""


class ProtocolError(WireError):
    """The server sent what the protocol does not allow."""


class ServerError(WireError):
    """The server reports a failure."""


def one_line(text: str) -> str:
    """Return the last line of a traceback or message, printable and at most 300 characters long."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "no reason given"
    plain = "".join(letter if letter.isprintable() else "?" for letter in last)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
