"""Count of the messages that a node never handles, because a newer one overtook them or they were lost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import TypeVar

MessageT = TypeVar("MessageT")
_NUMBER = "publication_sequence_number"
_PUBLISHERS = 4
"""Of one topic, those that published last."""


class LateCount:
    """Counts over any number of topics, each of one or a few publishers, which number their messages.

    Who published a message is not known: it is taken for the next of the publisher with the nearest number.

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
        newest: deque[int] = deque(maxlen=_PUBLISHERS)
        starts = 0

        def handle(message: MessageT, info: Mapping[str, int]) -> None:
            nonlocal starts
            if starts != self._starts:
                newest.clear()
                starts = self._starts
            number = info[_NUMBER]
            last = max((one for one in newest if one < number), default=0)
            if last:  # else it is another publisher, or one that was restarted and counts from 1 again
                newest.remove(last)
                missed = number - last - 1
                self.total += missed
                if topic and missed:
                    self.by_topic[topic] += missed
            newest.append(number)
            take(message)

        return handle
