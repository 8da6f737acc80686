"""The two kinds of error: what a user can mend, and what is our bug."""

from __future__ import annotations

from collections.abc import Iterable


class EmbodiedIqaError(Exception):
    """Base of every error that this package raises on purpose."""

    exit_code = 1


class UserError(EmbodiedIqaError):
    """Something the user can mend, told in one line: what was expected, what came, what is available.

    Args:
        message: What went wrong, without a full stop.
        expected: What a right value looks like.
        got: What came instead.
        available: The values that exist, listed for the user.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        got: object = None,
        available: Iterable[object] | None = None,
    ) -> None:
        parts = [message]
        if expected is not None:
            parts.append(f"expected {expected}")
        if got is not None:
            parts.append(f"got {got!r}")
        if available is not None:
            parts.append("available: " + ", ".join(str(item) for item in available))
        super().__init__("; ".join(parts))


class UsageError(UserError):
    """A wrong word on a command line or in a configuration (exit code 2)."""

    exit_code = 2


class InputError(UserError):
    """A file, picture or recording that cannot be used (exit code 1)."""


class MissingDependencyError(UserError):
    """An optional library or system package is not installed; the message says how to install it."""


class InternalError(EmbodiedIqaError):
    """A broken promise between our own parts: a bug, worth a traceback and a report."""
