"""Exception hierarchy: user-correctable errors and internal errors (bugs)."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import PurePath


class EmbodiedIqaError(Exception):
    """Base class of all errors that this package raises."""

    exit_code = 1


class Description(str):
    """Words about a value that nobody typed, such as the shape of an array; errors do not quote them."""

    __slots__ = ()


class UserError(EmbodiedIqaError):
    """User-correctable error, reported in one line.

    Args:
        message: What went wrong, without a full stop.
        expected: Description of a valid value.
        got: The value received, or its `Description`.
        available: The valid values.
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
            shown = str(got) if isinstance(got, PurePath | str) else got  # of a name, its text alone
            parts.append(f"got {got}" if isinstance(got, Description) else f"got {shown!r}")
        if available is not None:
            items = [str(item) for item in available]
            close = nearest(got, items) if isinstance(got, str) else None
            parts += [f"did you mean {close}?"] if close else []
            parts.append("available: " + (", ".join(items) or "nothing"))
        super().__init__("; ".join(parts))


class UsageError(UserError):
    """Invalid command-line argument or configuration value (exit code 2)."""

    exit_code = 2


class InputError(UserError):
    """Unusable file, image or recording (exit code 1)."""


class MissingDependencyError(UserError):
    """Missing optional library or system package; the message says how to install it."""


class InternalError(EmbodiedIqaError):
    """Violated internal contract: a bug, reported with a traceback."""


def nearest(word: str, available: Iterable[str]) -> str | None:
    """Return the valid value that a mistyped word is nearest to, None if none is near.

    Args:
        word: The word that was typed.
        available: The valid values; of a value such as "01 gaussian-blur", each part counts. Hyphens and
            underscores do not count: "mssim" is nearer to "ms-ssim" than to "ssim".
    """
    forms = {_letters(form): form for item in available for form in (*item.split(), item)}
    typed = _letters(word)
    begun = [form for form in forms if typed and form.startswith(typed)]
    found = get_close_matches(typed, forms, n=1) or begun
    return forms[found[0]] if found and forms[found[0]] != word else None


def _letters(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, for messages that quote another library's error."""
    return (str(error).strip().splitlines() or ["no reason given"])[0]
