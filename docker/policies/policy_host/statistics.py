"""Choice of the data set whose statistics un-normalise a policy's actions."""

from __future__ import annotations

from collections.abc import Iterable

from embodied_iqa.base.errors import UsageError


def choose_key(given: str, usual: str, known: Iterable[str]) -> str:
    """Return the given key, else the convention's, else the only one.

    Raises:
        UsageError: It is unknown, or there are several and none is given.
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
