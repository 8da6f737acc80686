"""A client that speaks in lines of text."""

from __future__ import annotations

from collections.abc import Callable

from embodied_iqa.emulator.link import Link, Peer

__all__ = ["LinePeer"]

_LONGEST_LINE = 65536


class LinePeer(Peer):
    """Answers each line.

    Args:
        link: The network that it is on.
        answer: Turns a line without its end into the bytes to send back.
        greeting: Sent to a new client.
    """

    def __init__(self, link: Link, answer: Callable[[str], bytes], greeting: bytes = b"") -> None:
        super().__init__(link)
        self._answer = answer
        self._greeting = greeting
        self._rest = b""

    def greet(self) -> None:
        """Send the greeting."""
        if self._greeting:
            self.send(self._greeting)

    def take(self, data: bytes) -> None:
        """Answer every whole line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            reply = self._answer(line.decode("utf-8", "replace").strip())
            if reply:
                self.send(reply)
        if len(self._rest) > _LONGEST_LINE:
            self.transport.abort()
