"""The network between controller and clients, with the faults that a network can have."""

from __future__ import annotations

import asyncio
import socket

__all__ = ["Link", "Peer"]

_MOST_WAITING_BYTES = 1 << 20


class Link:
    """Every connection of one emulator.

    Attributes:
        delay_s: How much later everything that the controller says arrives.
    """

    def __init__(self) -> None:
        self.delay_s = 0.0
        self._silent = False
        self._peers: set[Peer] = set()
        self._due_s = 0.0

    def join(self, peer: Peer) -> None:
        """Take a new connection in."""
        self._peers.add(peer)
        if self._silent:
            peer.transport.pause_reading()

    def leave(self, peer: Peer) -> None:
        """Forget a connection."""
        self._peers.discard(peer)

    def silence(self, *, silent: bool) -> None:
        """Let nothing through either way, or everything again; connections stay open, as with a cut cable."""
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
        """Send, later where the link is slow, never where it is silent or the client does not read."""
        if self._silent or peer.transport.get_write_buffer_size() > _MOST_WAITING_BYTES:
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
        link: The network that it is on.
    """

    transport: asyncio.Transport

    def __init__(self, link: Link) -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Prepare the socket: small messages leave at once."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._link.join(self)
        self.greet()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Forget the client."""
        self._link.leave(self)
        self.farewell()

    def data_received(self, data: bytes) -> None:
        """Acknowledge at once: a client that waits for that before it sends again would lose 40 ms."""
        if hasattr(socket, "TCP_QUICKACK"):
            self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self.take(data)

    def greet(self) -> None:
        """Say what is said to a new client."""

    def farewell(self) -> None:
        """Clean up after a client that has left."""

    def take(self, data: bytes) -> None:
        """Handle received bytes."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Send bytes to the client."""
        self._link.send(self, data)
