"""The port to which clients upload programs as text."""

from __future__ import annotations

from embodied_iqa.emulator.controller import Controller
from embodied_iqa.emulator.link import Link, Peer
from embodied_iqa.emulator.uploaded import split_scripts

__all__ = ["ScriptPeer"]

_LONGEST_SCRIPT = 1 << 22


class ScriptPeer(Peer):
    """A client that uploads programs; the newest one runs.

    Args:
        link: The network that it is on.
        controller: Who runs them.
    """

    def __init__(self, link: Link, controller: Controller) -> None:
        super().__init__(link)
        self._controller = controller
        self._rest = ""

    def take(self, data: bytes) -> None:
        """Start every whole program."""
        scripts, self._rest = split_scripts(self._rest + data.decode("utf-8", "replace"))
        for text in scripts:
            self._controller.load(text)
        if len(self._rest) > _LONGEST_SCRIPT:
            self.transport.abort()
