"""The network between controller and clients, with its faults; clients that exchange lines of text."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

_MOST_WAITING_BYTES = 1 << 20
_LONGEST_LINE = 65536


class Link:
    """All connections of one emulator.

    Attributes:
        delay_s: Delay of everything that the controller sends.
    """

    def __init__(self) -> None:
        self.delay_s = 0.0
        self._silent = False
        self._peers: set[Peer] = set()
        self._due_s = 0.0

    def join(self, peer: Peer) -> None:
        """Add a connection."""
        self._peers.add(peer)
        if self._silent:
            peer.transport.pause_reading()

    def leave(self, peer: Peer) -> None:
        """Remove a connection."""
        self._peers.discard(peer)

    def silence(self, *, silent: bool) -> None:
        """Block or pass all data in both directions; connections stay open, as with a cut cable."""
        self._silent = silent
        for peer in self._peers:
            if silent:
                peer.transport.pause_reading()
            else:
                peer.transport.resume_reading()

    def drop_all(self) -> None:
        """Close every connection at once."""
        for peer in tuple(self._peers):
            peer.transport.abort()

    def send(self, peer: Peer, data: bytes) -> None:
        """Send after the delay; drop the data if the link is silent or the client does not read."""
        if self._silent or peer.transport.is_closing():  # asyncio logs each write to a broken connection
            return
        if peer.transport.get_write_buffer_size() > _MOST_WAITING_BYTES:
            return
        loop = asyncio.get_running_loop()
        if self.delay_s <= 0.0 and loop.time() >= self._due_s:
            peer.transport.write(data)
            return
        self._due_s = max(loop.time() + self.delay_s, self._due_s)
        loop.call_at(self._due_s, self._send_late, peer, data)

    def _send_late(self, peer: Peer, data: bytes) -> None:
        if not self._silent and not peer.transport.is_closing():
            peer.transport.write(data)


class Peer(asyncio.Protocol):
    """One client of one port.

    Args:
        link: Its network.
    """

    transport: asyncio.Transport

    def __init__(self, link: Link) -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set up the socket to send small messages at once."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._link.join(self)
        self.greet()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Remove the client."""
        self._link.leave(self)
        self.farewell()

    def data_received(self, data: bytes) -> None:
        """Acknowledge at once, because a client that waits for it before sending again would lose 40 ms."""
        if hasattr(socket, "TCP_QUICKACK"):
            self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self.take(data)

    def greet(self) -> None:
        """Greet a new client."""

    def farewell(self) -> None:
        """Clean up after a client has left."""

    def take(self, data: bytes) -> None:
        """Handle received bytes."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Send bytes to the client."""
        self._link.send(self, data)


class LinePeer(Peer):
    """A client whose lines are answered one by one.

    Args:
        link: Its network.
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
        """Answer every complete line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            reply = self._answer(line.decode("utf-8", "replace").strip())
            if reply:
                self.send(reply)
        if len(self._rest) > _LONGEST_LINE:
            self.transport.abort()
