"""TCP connections whose every step keeps a deadline, including the look-up of a name."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ConnectionLostError

_READ_BYTES = 1 << 18
_PORTS = {"http": 80, "https": 443}
_OPENPI_PORT = 8000


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
            try:
                made.settimeout(deadline.left_s())
                made.connect(where)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                made.close()
                problem = error
            except BaseException:
                made.close()
                raise
            else:
                return cls(_secured(made, address) if address.secure else made, address)
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
            self._socket.settimeout(deadline.left_s())
            try:
                rest = rest[self._socket.send(rest) :]
            except TimeoutError:
                raise deadline.error() from None
            except OSError as error:
                raise ConnectionLostError(f"the connection to {self.address} broke: {_why(error)}") from None

    def receive(self, deadline: Deadline) -> bytes:
        """Return received bytes, at least one; empty after the end of the connection.

        Raises:
            ConnectionLostError: The connection broke.
            DeadlineError: Nothing was received.
        """
        self._socket.settimeout(deadline.left_s())
        try:
            return self._socket.recv(_READ_BYTES)
        except TimeoutError:
            raise deadline.error() from None
        except OSError as error:
            raise ConnectionLostError(f"the connection to {self.address} broke: {_why(error)}") from None

    def receive_now(self) -> bytes | None:
        """Return received bytes without waiting: None for none, empty after the end of the connection."""
        self._socket.settimeout(0.0)
        try:
            return self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError:
            return b""

    def close(self) -> None:
        """Close, and wake a thread in `send` or `receive`; calling it twice is fine."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _secured(connected: socket.socket, address: Address) -> socket.socket:
    """Perform the TLS handshake; the socket's timeout applies to all of it."""
    try:
        return ssl.create_default_context().wrap_socket(connected, server_hostname=address.host)
    except (ssl.SSLError, ssl.CertificateError) as error:
        connected.close()
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        raise ConnectionLostError(f"no secure connection to {address}: {str(reason).lower()}") from None
    except BaseException:
        connected.close()
        raise


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

    def look_up() -> None:
        try:
            for family, _kind, _protocol, _name, where in socket.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM
            ):
                found.append((family, where))
        except OSError as error:
            problem.append(error)

    thread = threading.Thread(target=look_up, name="look-up", daemon=True)
    thread.start()
    thread.join(deadline.left_s())
    if thread.is_alive():
        raise deadline.error()
    if not found:
        raise ConnectionLostError(f"no machine {address.host}: {_why(problem[0] if problem else None)}")
    return found


def _why(error: OSError | None) -> str:
    if error is None:
        return "no address"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror or str(error) or type(error).__name__).lower()
