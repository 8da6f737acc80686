"""Websocket client in the caller's thread; every call keeps its deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.protocol import SEND_EOF, State
from websockets.uri import parse_uri

from embodied_iqa.models.subjects.wire.deadline import Deadline
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, ProtocolError
from embodied_iqa.models.subjects.wire.sockets import Address, TimedSocket

_CLOSE = Frame(Opcode.CLOSE, Close(CloseCode.NORMAL_CLOSURE, "").serialize())
_DATA = {Opcode.TEXT, Opcode.BINARY, Opcode.CONT}
_FEED_BYTES = 1 << 14
"""Bytes parsed between two checks of the deadline: many tiny frames take long."""
_MOST_FRAMES = 4096
"""Frames of one message, including pings in between."""


class Websocket:
    """A websocket over a `TimedSocket`; messages are requests and answers, one at a time.

    Framing is the sans-I/O layer of the `websockets` package. Clients of that package block in `send` as long
    as the server does not read.

    Args:
        link: The connected socket.
        protocol: The framing, after a completed handshake.
    """

    def __init__(self, link: TimedSocket, protocol: ClientProtocol) -> None:
        self._link = link
        self._protocol = protocol
        self._parts: list[bytes] = []
        self._is_text = False
        self._whole: list[bytes | str] = []
        self._frames = 0

    @classmethod
    def connect(
        cls, address: Address, deadline: Deadline, *, most_bytes: int, headers: Mapping[str, str]
    ) -> Websocket:
        """Connect and perform the handshake.

        Args:
            address: The server.
            deadline: Of the whole handshake.
            most_bytes: A longer message is refused while it arrives.
            headers: Sent with the handshake.

        Raises:
            ConnectionLostError: Nobody listens, or the server is busy.
            DeadlineError: It took too long.
            ProtocolError: Not a websocket server, or the client is refused.
        """
        link = TimedSocket.connect(address, deadline)
        try:
            protocol = ClientProtocol(
                parse_uri(f"{'wss' if address.secure else 'ws'}://{address}/"), max_size=most_bytes
            )
            made = cls(link, protocol)
            made._shake_hands(headers, deadline)
        except BaseException:
            link.close()
            raise
        return made

    def is_usable(self, deadline: Deadline) -> bool:
        """Whether a request can be sent: the connection is open, and there is no unrequested message.

        Raises:
            DeadlineError: The server keeps sending.
            ProtocolError: The server sent an unrequested message.
        """
        while (data := self._link.receive_now()) is not None:
            self._feed(data, deadline)
            if not data:
                break
        if self._whole or self._parts or self._protocol.reader.buffer:
            raise ProtocolError(f"{self._link.address} sends unrequested messages")
        self._flush(deadline)
        return self._protocol.state is State.OPEN

    def send(self, message: bytes, deadline: Deadline) -> None:
        """Send a binary message."""
        self._protocol.send_binary(message)
        self._flush(deadline)

    def receive(self, deadline: Deadline) -> bytes | str:
        """Return the next whole message.

        Raises:
            ConnectionLostError: The server closed the connection.
            DeadlineError: It did not come in time, however fast its parts drip.
            ProtocolError: It breaks the websocket protocol, or is longer than allowed.
        """
        while not self._whole:
            self._check_open()
            self._feed(self._link.receive(deadline), deadline)
            self._flush(deadline)
        return self._whole.pop(0)

    def close(self) -> None:
        """Send a close frame if there is room for it, and close at once; calling it twice is fine."""
        # not by the protocol, which may be in use: this also ends a `receive` of another thread
        is_open = self._protocol.state is State.OPEN
        self._link.close(_CLOSE.serialize(mask=True) if is_open else b"")

    def _shake_hands(self, headers: Mapping[str, str], deadline: Deadline) -> None:
        request = self._protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        self._protocol.send_request(request)
        self._flush(deadline)
        while self._protocol.state is State.CONNECTING:
            data = self._link.receive(deadline)
            self._feed(data, deadline)
            if self._protocol.handshake_exc is not None:
                raise self._refusal(self._protocol.handshake_exc)
            if not data:
                raise ConnectionLostError(f"{self._link.address} hung up during the handshake")

    def _refusal(self, error: Exception) -> Exception:
        where = self._link.address
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            if status in {401, 403}:
                return ProtocolError(f"{where} needs a token", got=f"HTTP {status}")
            if status in {429, 500, 502, 503, 504}:
                return ConnectionLostError(f"{where} is busy", got=f"HTTP {status}")
            return ProtocolError(
                f"{where} is not a policy server", expected="a websocket", got=f"HTTP {status}"
            )
        if isinstance(error, InvalidHandshake):
            return ProtocolError(f"{where} is not a policy server: {error}")
        return ConnectionLostError(f"{where} hung up during the handshake")

    def _feed(self, data: bytes, deadline: Deadline) -> None:
        if not data:
            self._protocol.receive_eof()
        for start in range(0, len(data), _FEED_BYTES):
            deadline.left_s()
            self._protocol.receive_data(data[start : start + _FEED_BYTES])
            for event in self._protocol.events_received():
                self._notice(event)

    def _notice(self, event: object) -> None:
        if not isinstance(event, Frame):
            return  # the answer to the handshake
        self._frames += 1
        if self._frames > _MOST_FRAMES:
            raise ProtocolError(f"{self._link.address} sends too many frames")
        if event.opcode in _DATA:
            self._take(event)

    def _take(self, frame: Frame) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._parts.append(bytes(frame.data))
        if not frame.fin:
            return
        whole = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        self._whole.append(whole.decode("utf-8", "replace") if self._is_text else whole)
        self._frames = 0

    def _flush(self, deadline: Deadline) -> None:
        for data in self._protocol.data_to_send():
            if data is not SEND_EOF and data:
                self._link.send(data, deadline)

    def _check_open(self) -> None:
        problem: Any = self._protocol.parser_exc
        if problem is not None and not isinstance(problem, EOFError):
            raise ProtocolError(f"{self._link.address} breaks the websocket protocol: {problem}")
        if self._protocol.state is not State.OPEN:
            reason = self._protocol.close_reason if self._protocol.state is State.CLOSED else None
            raise ConnectionLostError(
                f"{self._link.address} closed the connection" + (f": {reason}" if reason else "")
            )
