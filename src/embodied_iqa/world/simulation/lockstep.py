"""Lockstep and pace: the simulated world waits for its partners and is no faster than it may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_FURTHEST_BEHIND_S: Final = 0.1
"""About a period of the cameras: each of their images holds up the world on a slow machine."""


class Lockstep:
    """The last stamp that each partner answered, and which partners to wait for.

    The world waits for a partner from its first answer on. After a missed deadline it does not wait until the
    partner answers again: a dead process costs one deadline, not one for each step.

    Args:
        partners: Their names.
    """

    def __init__(self, partners: Iterable[str]) -> None:
        self._answered_ns: dict[str, int] = dict.fromkeys(partners, -1)
        self._alive: dict[str, bool] = dict.fromkeys(self._answered_ns, False)
        self.missed: dict[str, int] = dict.fromkeys(self._answered_ns, 0)

    def heard(self, partner: str, stamp_ns: int) -> None:
        """Record an answer; unknown partners are ignored."""
        if partner in self._answered_ns:
            self._answered_ns[partner] = max(self._answered_ns[partner], stamp_ns)
            self._alive[partner] = True

    def late(self, partners: Iterable[str], stamp_ns: int) -> list[str]:
        """Return which of ``partners`` to wait for: alive, and no answer to ``stamp_ns`` yet."""
        return [name for name in partners if self._alive[name] and self._answered_ns[name] < stamp_ns]

    def give_up(self, partners: Iterable[str]) -> None:
        """Stop waiting for partners until they answer again."""
        for name in partners:
            self._alive[name] = False
            self.missed[name] += 1


class Pace:
    """Real time at which the steps of the world are due.

    A world that a partner held up catches up, at most 0.1 s: it would otherwise lose the time of every
    image and be slower than the machine.

    Args:
        step_s: Real time of a step; 0 for no limit.
    """

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._due_s: float | None = None

    def due_s(self, began_s: float) -> float:
        """Return when the step after the one that began at ``began_s`` may begin."""
        last_s = began_s if self._due_s is None else max(self._due_s, began_s - _FURTHEST_BEHIND_S)
        self._due_s = last_s + self._step_s
        return self._due_s
