"""Client of openpi's protocol: metadata first, then observations and answers in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError, one_line
from embodied_iqa.models.subjects.wire.msgpack_arrays import pack, unpack
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.websocket import Websocket

OWN_PROTOCOL: Final = "embodied-iqa/1"
"""``protocol`` in the metadata of our server, which repeats the number of a request in its answer."""


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Limits of a connection.

    Attributes:
        connect_s: From the first attempt to the metadata [s]; includes waiting for a server that is starting.
        answer_s: From a request to its whole answer, new connections included [s].
        most_bytes: Longest message [byte].
        retries: Further attempts over a new connection after one broke.
        asks_once: No observation is sent twice, as a policy that keeps a state may have taken it although
            the connection broke: only connecting is tried again.
    """

    connect_s: float = 10.0
    answer_s: float = 30.0
    most_bytes: int = 16 << 20
    retries: int = 2
    asks_once: bool = False


class PolicyClient:
    """Connection to one policy server; not for several threads at once.

    Args:
        address: The server.
        limits: Limits of the connection.
        token: Sent as ``Authorization: Api-Key``; may be empty.
        clock: Of the deadlines.
    """

    def __init__(
        self, address: Address, limits: WireLimits, token: str = "", clock: Clock = MONOTONIC
    ) -> None:
        self._address = address
        self._limits = limits
        self._clock = clock
        self._headers: Mapping[str, str] = {"Authorization": f"Api-Key {token}"} if token else {}
        self._connection: Websocket | None = None
        self._first: bytes | None = None
        self._numbered = False
        self._request = 0
        self._stop = Event()

    @property
    def greeting(self) -> bytes:
        """First message of the server; empty before a connection."""
        return self._first or b""

    def expect(self, greeting: bytes) -> dict[str, Any]:
        """Take the first message of an earlier connection as known; return its metadata.

        Raises:
            ProtocolError: It is none.
        """
        metadata = self._map(greeting)
        self._first, self._numbered = greeting, metadata.get("protocol") == OWN_PROTOCOL
        return metadata

    def connect(self) -> dict[str, Any]:
        """Connect, waiting for a server that is starting, and return its metadata.

        Raises:
            WireError: No policy server answered in time.
        """
        what = f"no policy server answers at {self._address}"
        deadline = Deadline.after(self._limits.connect_s, what, self._clock)
        return retrying(lambda: self._open(deadline), deadline, None, self._stop)

    def infer(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Send an observation and return the answer.

        If the connection breaks, the request is repeated over a new one, unless it may be sent only once:
        most policies are stateless. After any other failure the connection is dropped, so that a late answer
        is never taken for the next one.

        Raises:
            WireError: No answer in time, an invalid one, or one that reports a failure.
        """
        deadline = Deadline.after(self._limits.answer_s, f"no answer from {self._address}", self._clock)
        retries = self._limits.retries
        if self._limits.asks_once:
            retrying(lambda: self._usable(deadline), deadline, retries, self._stop)
            retries = 0
        return retrying(lambda: self._ask_or_drop(observation, deadline), deadline, retries, self._stop)

    def drop(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the connection for good; a request in another thread ends, and asks the server no more."""
        self._stop.set()
        self.drop()

    def _ask_or_drop(self, observation: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        try:
            return self._ask(observation, deadline)
        except BaseException:
            self.drop()
            raise

    def _usable(self, deadline: Deadline) -> Websocket:
        connection = self._connection
        if connection is None or not connection.is_usable(deadline):
            self.drop()
            self._open(deadline)
            connection = self._connection
            if connection is None:
                raise deadline.error()
        return connection

    def _ask(self, observation: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        connection = self._usable(deadline)
        self._request += 1
        asked = {**observation, "request": self._request} if self._numbered else observation
        connection.send(pack(asked), deadline)
        answer = connection.receive(deadline)
        if isinstance(answer, str):
            raise ServerError(f"{self._address} failed: {one_line(answer)}")
        content = self._map(answer)
        if self._numbered and content.get("request") != self._request:
            raise ProtocolError(f"{self._address} answers another question", got=content.get("request"))
        return content

    def _open(self, deadline: Deadline) -> dict[str, Any]:
        self.drop()
        self._require_open()
        connection = Websocket.connect(
            self._address, deadline, most_bytes=self._limits.most_bytes, headers=self._headers
        )
        try:
            message = self._first_message(connection.receive(deadline))
            metadata = self._map(message)
        except BaseException:
            connection.close()
            raise
        self._first, self._connection = message, connection
        self._require_open()  # again: `close` may have found no connection a moment ago
        self._numbered = metadata.get("protocol") == OWN_PROTOCOL
        return metadata

    def _require_open(self) -> None:
        if self._stop.is_set():
            self.drop()
            raise ConnectionLostError(f"the connection to {self._address} was closed")

    def _first_message(self, message: bytes | str) -> bytes:
        if isinstance(message, str):
            raise ServerError(f"{self._address} failed: {one_line(message)}")
        if self._first is not None and message != self._first:
            raise ProtocolError(f"{self._address} serves another policy than before")
        return message

    def _map(self, message: bytes) -> dict[str, Any]:
        content = unpack(message, self._limits.most_bytes, f"the answer of {self._address}")
        if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
            raise ProtocolError(
                f"{self._address} sends an invalid answer", expected="a map", got=type(content).__name__
            )
        return content
