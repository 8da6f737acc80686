"""Waiting for those who work with the world: a slow machine slows it down instead of losing pictures."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Lockstep"]


class Lockstep:
    """Who has answered which stamp, and who is worth waiting for.

    A partner is waited for once it has been heard, and no longer after it has missed a deadline, until it is
    heard again: a dead process costs one deadline, not one a step.

    Args:
        partners: Names of those who answer.
    """

    def __init__(self, partners: Iterable[str]) -> None:
        self._answered_ns: dict[str, int] = dict.fromkeys(partners, -1)
        self._alive: dict[str, bool] = dict.fromkeys(self._answered_ns, False)
        self.missed: dict[str, int] = dict.fromkeys(self._answered_ns, 0)

    def heard(self, partner: str, stamp_ns: int) -> None:
        """Note an answer; an unknown partner is ignored."""
        if partner in self._answered_ns:
            self._answered_ns[partner] = max(self._answered_ns[partner], stamp_ns)
            self._alive[partner] = True

    def late(self, partners: Iterable[str], stamp_ns: int) -> list[str]:
        """Return those of ``partners`` who are waited for and have not answered ``stamp_ns`` yet."""
        return [name for name in partners if self._alive[name] and self._answered_ns[name] < stamp_ns]

    def give_up(self, partners: Iterable[str]) -> None:
        """Wait no longer for these until they are heard again."""
        for name in partners:
            self._alive[name] = False
            self.missed[name] += 1
