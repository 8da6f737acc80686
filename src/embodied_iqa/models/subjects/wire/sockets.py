"""TCP connections whose every step keeps a deadline, including the look-up of a name."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from embodied_iqa.models.subjects.wire.deadline import Deadline
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError

_READ_BYTES = 1 << 18
_PORTS = {"http": 80, "https": 443}
_OPENPI_PORT = 8000

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Address:
    """A machine and a TCP port.

    Attributes:
        host: Name or number.
        port: 1 to 65535.
        secure: Use TLS, with a certificate that this machine trusts.
    """

    host: str
    port: int
    secure: bool = False

    @classmethod
    def of(cls, url: str) -> tuple[Self, str]:
        """Return host and path of an address such as ``openpi://host:8000`` or ``https://host/act``."""
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, _OPENPI_PORT)
        return cls(parts.hostname or "", port, parts.scheme in {"https", "openpi+wss"}), parts.path

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class TimedSocket:
    """A connected TCP socket; each call takes its deadline."""

    def __init__(self, connected: socket.socket, address: Address) -> None:
        self._socket = connected
        self.address = address

    @classmethod
    def connect(cls, address: Address, deadline: Deadline) -> TimedSocket:
        """Connect to the first address of the machine that answers.

        Raises:
            ConnectionLostError: Nobody listens there.
            DeadlineError: It took too long.
        """
        problem: OSError | None = None
        for family, where in _resolve(address, deadline):
            made = socket.socket(family, socket.SOCK_STREAM)
            made.setblocking(False)
            try:
                _connect(made, where, deadline)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                made.close()
                problem = error
            except BaseException:
                made.close()
                raise
            else:
                return cls(_secured(made, address, deadline) if address.secure else made, address)
        deadline.left_s()
        raise ConnectionLostError(f"nobody answers at {address}: {_why(problem)}")

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send all of it.

        Raises:
            ConnectionLostError: The connection broke.
            DeadlineError: The other side does not read.
        """
        rest = memoryview(data)
        while rest:
            rest = rest[self._finish(partial(self._socket.send, rest), deadline, to_write=True) :]

    def receive(self, deadline: Deadline) -> bytes:
        """Return received bytes, at least one; empty after the end of the connection.

        Raises:
            ConnectionLostError: The connection broke.
            DeadlineError: Nothing was received.
        """
        return self._finish(partial(self._socket.recv, _READ_BYTES), deadline, to_write=False)

    def receive_now(self) -> bytes | None:
        """Return received bytes without waiting: None for none, empty after the end of the connection."""
        try:
            return self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError:
            return b""

    def close(self, last: bytes = b"") -> None:
        """Close, and wake a thread in `send` or `receive`; calling it twice is fine.

        Args:
            last: Sent before, if there is room for it now.
        """
        with contextlib.suppress(OSError):
            if last:
                self._socket.send(last)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _finish(self, step: Callable[[], ResultT], deadline: Deadline, *, to_write: bool) -> ResultT:
        try:
            return _finish(self._socket, step, deadline, to_write=to_write)
        except OSError as error:
            raise ConnectionLostError(f"the connection to {self.address} broke: {_why(error)}") from None


def _finish(
    link: socket.socket, step: Callable[[], ResultT], deadline: Deadline, *, to_write: bool
) -> ResultT:
    """Return the result of a step on a socket that does not block, repeated until it has one.

    Args:
        link: The socket, perhaps with TLS, which may read in order to write.
        step: Raises `BlockingIOError` or its likes of TLS where it would block.
        deadline: Of all attempts together.
        to_write: Whether the step waits for room, else for data.

    Raises:
        DeadlineError: The deadline passed.
        OSError: The connection broke.
    """
    while True:
        left_s = deadline.left_s()
        try:
            return step()
        except ssl.SSLWantReadError:
            writes = False
        except ssl.SSLWantWriteError:
            writes = True
        except BlockingIOError:
            writes = to_write
        wait = deadline.clock.wait_writable if writes else deadline.clock.wait_readable
        wait(link, left_s)


def _connect(connection: socket.socket, where: Any, deadline: Deadline) -> None:
    """Connect a socket that does not block.

    Raises:
        OSError: Nobody listens there.
        DeadlineError: It took too long.
    """
    number = connection.connect_ex(where)
    if number == errno.EINPROGRESS:
        while not deadline.clock.wait_writable(connection, deadline.left_s()):
            continue
        number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        raise OSError(number, os.strerror(number))


def _secured(connected: socket.socket, address: Address, deadline: Deadline) -> socket.socket:
    """Perform the TLS handshake within the deadline."""
    secured = None
    try:
        secured = ssl.create_default_context().wrap_socket(
            connected, server_hostname=address.host, do_handshake_on_connect=False
        )
        _finish(secured, secured.do_handshake, deadline, to_write=False)
    except OSError as error:
        (secured or connected).close()
        reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or _why(error)
        raise ConnectionLostError(f"no secure connection to {address}: {str(reason).lower()}") from None
    except BaseException:
        (secured or connected).close()
        raise
    return secured


def _resolve(address: Address, deadline: Deadline) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """Look the name up in a thread, because the system's look-up has no deadline."""
    try:
        family = socket.AF_INET6 if ip_address(address.host).version == 6 else socket.AF_INET
    except ValueError:
        pass
    else:
        return [(family, (address.host, address.port))]
    found: list[tuple[socket.AddressFamily, tuple[object, ...]]] = []
    problem: list[OSError] = []
    ended = threading.Event()

    def look_up() -> None:
        try:
            for family, _kind, _protocol, _name, where in socket.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM
            ):
                found.append((family, where))
        except OSError as error:
            problem.append(error)

        ended.set()

    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    while not deadline.clock.wait_event(ended, deadline.left_s()):
        continue
    if not found:
        raise ConnectionLostError(f"no machine {address.host}: {_why(problem[0] if problem else None)}")
    return found


def _why(error: OSError | None) -> str:
    if error is None:
        return "no address"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror or str(error) or type(error).__name__).lower()
