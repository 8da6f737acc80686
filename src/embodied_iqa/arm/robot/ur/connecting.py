"""TCP connections to a controller, limited by a clock that is an argument."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

from embodied_iqa.base.clock import Clock


def connected(ip: str, port: int, deadline_s: float, clock: Clock) -> socket.socket:
    """Return a connected socket that does not block.

    Args:
        ip: Address of the controller, or a name.
        port: The port.
        deadline_s: For connecting; the look-up of a name takes as long as the system likes. Where a name has
            several addresses, each gets an equal share of the time that is left.
        clock: Of the deadline.

    Raises:
        OSError: Nobody answers there, or not in time.
    """
    until_s = clock.now_s() + deadline_s
    problem = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    found = socket.getaddrinfo(ip, port, type=socket.SOCK_STREAM)
    for left, (family, kind, protocol, _name, where) in zip(range(len(found), 0, -1), found, strict=True):
        now_s = clock.now_s()
        try:
            return _opened((family, kind, protocol), where, now_s + (until_s - now_s) / left, clock)
        except OSError as error:  # also of an address family that this machine does not have
            problem = error
    raise problem


def await_readable(connection: socket.socket, until_s: float, clock: Clock) -> None:
    """Wait until reading does not block.

    Raises:
        TimeoutError: It is later than ``until_s`` of the clock.
    """
    while not clock.wait_readable(connection, until_s - clock.now_s()):
        if clock.now_s() >= until_s:
            raise TimeoutError("timed out")


def _opened(kind: tuple[int, int, int], where: Any, until_s: float, clock: Clock) -> socket.socket:
    made = socket.socket(*kind)
    try:
        made.setblocking(False)
        _connect(made, where, until_s, clock)
    except OSError:
        made.close()
        raise
    return made


def _connect(connection: socket.socket, where: Any, until_s: float, clock: Clock) -> None:
    number = connection.connect_ex(where)
    if number == errno.EINPROGRESS:
        while not clock.wait_writable(connection, until_s - clock.now_s()):
            if clock.now_s() >= until_s:
                raise TimeoutError("timed out")
        number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        raise OSError(number, os.strerror(number))
