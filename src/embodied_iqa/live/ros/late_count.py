"""Count of the messages that a node never handles, because a newer one overtook them or they were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

MessageT = TypeVar("MessageT")
_NUMBER = "publication_sequence_number"


class LateCount:
    """Counts over any number of topics; each topic has one publisher.

    Attributes:
        total: Messages that were published between two handled ones, since the last start.
        by_topic: The same of each topic that has a name here.
    """

    def __init__(self) -> None:
        self.total = 0
        self.by_topic: Counter[str] = Counter()
        self._starts = 0

    def restart(self) -> None:
        """Count from zero; what was missed until now does not count."""
        self.total = 0
        self.by_topic.clear()
        self._starts += 1

    def counting(
        self, take: Callable[[MessageT], object], topic: str = ""
    ) -> Callable[[MessageT, Mapping[str, int]], object]:
        """Return the callback of a subscription that passes its messages to ``take``.

        Args:
            take: Handles a message.
            topic: Name in `by_topic`; empty for none.
        """
        last = starts = 0

        def handle(message: MessageT, info: Mapping[str, int]) -> None:
            nonlocal last, starts
            if starts != self._starts:
                last, starts = 0, self._starts
            number = info[_NUMBER]
            if 0 < last < number:  # a publisher that was restarted counts from 1 again
                missed = number - last - 1
                self.total += missed
                if topic and missed:
                    self.by_topic[topic] += missed
            last = number
            take(message)

        return handle
