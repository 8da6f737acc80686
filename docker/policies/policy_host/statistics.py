"""Which data set's statistics turn a policy's numbers into units."""

from __future__ import annotations

from collections.abc import Iterable

from embodied_iqa.errors import UsageError

__all__ = ["choose_key"]


def choose_key(given: str, usual: str, known: Iterable[str]) -> str:
    """Return the key: the one that was given, else the convention's, else the only one.

    Raises:
        UsageError: It is not known, or there are several and none is meant.
    """
    keys = tuple(known)
    wanted = given or (usual if usual in keys else "") or (keys[0] if len(keys) == 1 else "")
    if wanted not in keys:
        raise UsageError(
            "whose statistics give the actions their units?",
            expected="--unnorm-key",
            got=given or None,
            available=keys,
        )
    return wanted
