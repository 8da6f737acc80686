"""What can go wrong between us and a policy server, told in one line each."""

from __future__ import annotations

from embodied_iqa.errors import InputError

__all__ = ["ConnectionLostError", "DeadlineError", "ProtocolError", "ServerError", "WireError", "one_line"]

_LONGEST = 300


class WireError(InputError):
    """The other side cannot be used."""


class ConnectionLostError(WireError):
    """Nobody listens, or the connection broke; trying again may help."""


class DeadlineError(WireError):
    """The other side took too long."""


class ProtocolError(WireError):
    """The other side sent what the protocol does not allow."""


class ServerError(WireError):
    """The other side says that it failed."""


def one_line(text: str) -> str:
    """Return the last line of a traceback or message, printable and short: servers send whole tracebacks."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "no reason given"
    plain = "".join(letter if letter.isprintable() else "?" for letter in last)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
