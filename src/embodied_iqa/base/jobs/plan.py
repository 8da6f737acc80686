"""Plans as plain data: their hash, and what differs between a stored and an asked one, in words."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import UsageError

_SHOWN: Final = 3
_LONGEST: Final = 120
"""Characters of a value in a message."""
_HASH: Final = re.compile(r"[0-9a-f]{16,64}")


def digest_of(*parts: Any) -> str:
    """Return a hash of JSON data, 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def require_same_plan(where: Path, stored: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Check that a folder holds the plan that is asked for.

    Args:
        where: The folder, for the message.
        stored: Its plan, as read from JSON.
        asked: The plan as plain data; tuples count as lists.

    Raises:
        UsageError: They differ; the message names what differs.
    """
    if parts := differences(stored, asked):
        raise another_plan(where, parts)


def another_plan(where: Path, parts: Sequence[str], *, expected: str = "") -> UsageError:
    """Return the error of a folder with another plan; ``parts`` say what differs."""
    more = [f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else []
    shown = "; ".join([*parts[:_SHOWN], *more])
    return UsageError(
        f"{where} holds another plan: {shown}", expected=expected or "the same plan, or another folder"
    )


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in words what differs between two plans, by the dotted name of each setting."""
    return tuple(_differences(stored, json.loads(json.dumps(asked)), ""))


def _differences(stored: Mapping[str, Any], asked: Mapping[str, Any], within: str) -> Iterator[str]:
    for name in sorted({*stored, *asked}):
        there, here = stored.get(name), asked.get(name)
        if there == here:  # also where one of them lacks what the other has as None
            continue
        if isinstance(there, Mapping) and isinstance(here, Mapping):
            yield from _differences(there, here, f"{within}{name}.")
        elif _is_hash(there) and _is_hash(here):
            yield f"{within}{name} have changed since"
        elif name not in stored:
            yield f"{within}{name} is not there, {_shown(here)} asked"
        elif name not in asked:
            yield f"{within}{name} is {_shown(there)} there, not asked"
        else:
            yield f"{within}{name} is {_shown(there)} there, {_shown(here)} asked"


def _is_hash(value: object) -> bool:
    """Return whether a value stands for data; nobody can read a difference from it."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
