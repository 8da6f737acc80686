"""Count of the messages that a node never handles, because a newer one overtook them or they were lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

MessageT = TypeVar("MessageT")
_NUMBER = "publication_sequence_number"


class LateCount:
    """Counts over any number of topics; each topic has one publisher.

    Attributes:
        total: Messages that were published between two handled ones.
    """

    def __init__(self) -> None:
        self.total = 0

    def counting(self, take: Callable[[MessageT], object]) -> Callable[[MessageT, Mapping[str, int]], object]:
        """Return the callback of a subscription that passes its messages to ``take``."""
        last = 0

        def handle(message: MessageT, info: Mapping[str, int]) -> None:
            nonlocal last
            number = info[_NUMBER]
            if 0 < last < number:  # a publisher that was restarted counts from 1 again
                self.total += number - last - 1
            last = number
            take(message)

        return handle
