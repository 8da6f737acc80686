"""What a server needs of whatever it offers.."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Offered"]


class Offered(Protocol):
    """Something that answers messages: one at a time, or several at once where it can."""

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        ...

    @property
    def metadata(self) -> dict[str, Any]:
        """What a client is told first."""
        ...

    @property
    def batches(self) -> bool:
        """Whether several at once are quicker than one after the other."""
        ...

    def understand(self, message: Mapping[str, Any], /) -> Any:
        """Turn a message into a question, quickly.

        Raises:
            InputError: It is none.
        """
        ...

    def answer(self, questions: Sequence[Any], /) -> Sequence[dict[str, Any]]:
        """Turn questions into answers, one for each."""
        ...
