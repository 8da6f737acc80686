"""Every address of a controller's name is tried, within one deadline."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from embodied_iqa.arm.robot.ur.connecting import connected
from manual_clock import ManualClock

DEADLINE_S = 6.0


class Wire:
    """A socket whose connection is under way until the clock lets it be writable."""

    closed = False

    def __init__(self, family: int) -> None:
        self.family = family

    def setblocking(self, _is_blocking: bool) -> None:
        pass

    def connect_ex(self, _where: object) -> int:
        return errno.EINPROGRESS

    def getsockopt(self, _level: int, _option: int) -> int:
        return 0

    def close(self) -> None:
        self.closed = True


class SilentTo(ManualClock):
    """A clock whose waits for an address pass in full."""

    def __init__(self, *silent: int) -> None:
        super().__init__()
        self._silent = silent
        self.waits: list[float] = []

    def wait_writable(self, sink: Wire, seconds: float) -> bool:  # type: ignore[override]
        self.waits.append(seconds)
        if sink.family in self._silent:
            self.advance(seconds)
        return sink.family not in self._silent


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> list[Wire]:
    """Sockets made of a machine without IPX, whose controller has three addresses."""
    made: list[Wire] = []

    def make(family: int, _kind: int, _protocol: int) -> Wire:
        if family == socket.AF_IPX:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        made.append(Wire(family))
        return made[-1]

    families = (socket.AF_IPX, socket.AF_INET6, socket.AF_INET)
    found = [(family, socket.SOCK_STREAM, 0, "", ("a controller", 30004)) for family in families]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "socket", make)
    return made


def test_an_address_family_that_the_machine_lacks_is_passed_over(wires: list[Wire]) -> None:
    assert connected("robot", 30004, DEADLINE_S, SilentTo()) is wires[0]
    assert [wire.family for wire in wires] == [socket.AF_INET6]


def test_a_silent_address_leaves_time_for_the_next(wires: list[Wire]) -> None:
    clock = SilentTo(socket.AF_INET6)
    assert connected("robot", 30004, DEADLINE_S, clock) is wires[1]
    assert [wire.closed for wire in wires] == [True, False]
    assert clock.waits == [pytest.approx(DEADLINE_S / 2), pytest.approx(DEADLINE_S / 2)]


def test_nobody_answers_within_the_deadline(wires: list[Wire]) -> None:
    clock = SilentTo(socket.AF_INET6, socket.AF_INET)
    begun_s = clock.now_s()
    with pytest.raises(TimeoutError):
        connected("robot", 30004, DEADLINE_S, clock)
    assert clock.now_s() - begun_s == pytest.approx(DEADLINE_S)
    assert all(wire.closed for wire in wires)
