"""Lockstep: the simulated world waits for its partners, so that a slow machine loses no pictures."""

from __future__ import annotations

from collections.abc import Iterable


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
