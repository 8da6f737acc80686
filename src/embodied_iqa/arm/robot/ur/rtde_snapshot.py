"""States of a UR controller, read over RTDE without the client library: they cannot move anything.

The client library reads neither the controller's version nor, before a program runs, the offset of its tool
centre point.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.emulator.rtde_types import (
    HEADER,
    NOT_FOUND,
    RTDE_PORT,
    RTDE_VERSION,
    Kind,
    Packing,
    RtdeType,
)
from embodied_iqa.arm.robot.ur.connecting import await_readable, connected
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError

_RATE_HZ: Final = 125.0  # the fastest rate that every series has
_NEEDED: Final = {
    "actual_q": RtdeType.VECTOR6D,
    "actual_TCP_pose": RtdeType.VECTOR6D,
    "robot_mode": RtdeType.INT32,
    "safety_status_bits": RtdeType.UINT32,
}
_OFFSET: Final = "tcp_offset"
_PAYLOAD: Final = "payload"
_OPTIONAL: Final = {_OFFSET: RtdeType.VECTOR6D, _PAYLOAD: RtdeType.DOUBLE}
"""What older software does not report."""
_LONGEST: Final = 65536
_AGAIN_S: Final = 0.2

Six = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RtdeSnapshot:
    """What a controller says about itself at one instant.

    Attributes:
        version: Software of the controller: major, minor, bug fix, build.
        q_rad: ``(6,)``, measured joint angles.
        tool_pose: Pose of the active tool centre point in the base frame (m, rotation vector in rad).
        tool_offset: That point in the flange's frame, likewise; None where the controller does not report it,
            as older software does not.
        robot_mode: RTDE's robot_mode; 7 is running.
        address: Number of the address that answered: a name may lead to several controllers.
        safety_bits: RTDE's safety_status_bits; 1 is the normal mode.
        payload_kg: Mass of tool and load that is set (kg); None where the controller does not report it.
    """

    version: tuple[int, int, int, int]
    q_rad: Six
    tool_pose: Six
    tool_offset: Six | None
    robot_mode: int
    address: str
    safety_bits: int = 1
    payload_kg: float | None = None


def read_snapshot(ip: str, deadline_s: float, clock: Clock = MONOTONIC) -> RtdeSnapshot:
    """Connect, read one state and disconnect.

    Args:
        ip: Address of the controller.
        deadline_s: For everything together.
        clock: Of the deadline.

    Raises:
        InputError: The controller cannot be reached, does not answer in time or not as RTDE requires.
    """
    until_s = clock.now_s() + deadline_s
    with closing(StateStream(ip, deadline_s, clock=clock)) as stream:
        return stream.read(until_s - clock.now_s())


def await_snapshot(ip: str, deadline_s: float, clock: Clock = MONOTONIC) -> RtdeSnapshot:
    """Read one state as soon as the controller is there; for one that is started at the same time.

    Args:
        ip: Address of the controller.
        deadline_s: For everything together.
        clock: Of the deadline and of the pauses between two attempts.

    Raises:
        InputError: As `read_snapshot`, and nothing has changed by the deadline.
    """
    until_s = clock.now_s() + deadline_s
    while True:
        try:
            return read_snapshot(ip, max(until_s - clock.now_s(), 0.0), clock)
        except InputError:
            if clock.now_s() + _AGAIN_S >= until_s:
                raise
        clock.sleep(_AGAIN_S)


class StateStream:
    """States of a controller as it sends them; nothing that could move the arm is ever sent to it.

    Args:
        ip: Address of the controller.
        deadline_s: For connecting.
        rate_hz: States per second.
        clock: Of the deadlines.

    Raises:
        InputError: As `read_snapshot`.
    """

    def __init__(
        self, ip: str, deadline_s: float, *, rate_hz: float = _RATE_HZ, clock: Clock = MONOTONIC
    ) -> None:
        self._clock = clock
        until_s = clock.now_s() + deadline_s
        with _reported(deadline_s):
            self._connection = connected(ip, RTDE_PORT, deadline_s, clock)
        try:
            with _reported(deadline_s):
                self._address = str(self._connection.getpeername()[0])
                self._dialogue = _Dialogue(self._connection, until_s, clock)
                self._version, self._wanted = _begun(self._dialogue, rate_hz)
        except InputError:
            self.close()
            raise
        self._packing = Packing.of(list(self._wanted.values()))

    def read(self, deadline_s: float) -> RtdeSnapshot:
        """Return the next state.

        Raises:
            InputError: None comes in time, or the connection is lost.
        """
        self._dialogue.until_s = self._clock.now_s() + deadline_s
        with _reported(deadline_s):
            values = self._packing.unpack(self._dialogue.await_package(Kind.DATA)[1:])
            found = dict(zip(self._wanted, values, strict=True))
            return RtdeSnapshot(
                version=self._version,
                q_rad=_six(found["actual_q"]),
                tool_pose=_six(found["actual_TCP_pose"]),
                tool_offset=_six(found[_OFFSET]) if _OFFSET in found else None,
                robot_mode=int(str(found["robot_mode"])),
                address=self._address,
                safety_bits=int(str(found["safety_status_bits"])),
                payload_kg=float(str(found[_PAYLOAD])) if _PAYLOAD in found else None,
            )

    def close(self) -> None:
        """Disconnect; may be called twice."""
        self._connection.close()


@contextmanager
def _reported(deadline_s: float) -> Iterator[None]:
    """Report in one line what goes wrong on the connection."""
    try:
        yield
    except TimeoutError:
        raise InputError(f"the controller sent no state within {deadline_s:g} s") from None
    except OSError as error:
        raise InputError(f"cannot read its state from port {RTDE_PORT}: {error.strerror or error}") from None
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"the answers on port {RTDE_PORT} are not RTDE: {error}") from None


class _Dialogue:
    """Requests and answers on one connection."""

    def __init__(self, connection: socket.socket, until_s: float, clock: Clock) -> None:
        self._connection = connection
        self.until_s = until_s
        self._clock = clock
        self._buffer = b""

    def ask(self, kind: Kind, payload: bytes = b"") -> bytes:
        """Send a package and return the payload of the answer."""
        self._connection.sendall(HEADER.pack(len(payload) + HEADER.size, kind) + payload)
        return self.await_package(kind)

    def await_package(self, wanted: Kind) -> bytes:
        """Return the payload of the next package of a kind; messages of the controller are skipped."""
        while True:
            size, kind = HEADER.unpack(self._take(HEADER.size))
            if size < HEADER.size:
                raise ValueError("a package shorter than its header")
            payload = self._take(size - HEADER.size)
            if kind == wanted:
                return payload

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            await_readable(self._connection, self.until_s, self._clock)
            data = self._connection.recv(_LONGEST)
            if not data:
                raise ConnectionResetError("the controller closed the connection")
            self._buffer += data
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


_Version = tuple[int, int, int, int]


def _begun(dialogue: _Dialogue, rate_hz: float) -> tuple[_Version, dict[str, RtdeType]]:
    """Start the states; return the version of the software and the variables of a state."""
    if dialogue.ask(Kind.REQUEST_VERSION, struct.pack(">H", RTDE_VERSION)) != b"\x01":
        raise ValueError(f"the controller does not speak version {RTDE_VERSION} of RTDE")
    major, minor, fix, build = struct.unpack(">4I", dialogue.ask(Kind.CONTROLLER_VERSION))
    wanted = _NEEDED | _OPTIONAL
    if lacks := _set_up(dialogue, wanted, rate_hz):
        wanted = {name: kind for name, kind in wanted.items() if name in _NEEDED or name not in lacks}
        if _set_up(dialogue, wanted, rate_hz):
            raise ValueError(f"the controller does not offer {', '.join(wanted)}")
    if dialogue.ask(Kind.START) != b"\x01":
        raise ValueError("the controller sends no states")
    return (major, minor, fix, build), wanted


def _set_up(dialogue: _Dialogue, wanted: dict[str, RtdeType], rate_hz: float) -> set[str]:
    """Select variables; return those that the controller does not have."""
    request = struct.pack(">d", rate_hz) + ",".join(wanted).encode("ascii")
    types = dialogue.ask(Kind.SETUP_OUTPUTS, request)[1:].decode("ascii").split(",")
    if NOT_FOUND in types:
        if len(types) != len(wanted):
            return set(wanted)
        return {name for name, kind in zip(wanted, types, strict=True) if kind == NOT_FOUND}
    if types != [str(kind) for kind in wanted.values()]:
        raise ValueError(f"the variables have the types {', '.join(types)}")
    return set()


def _six(value: float | Sequence[float]) -> Six:
    if isinstance(value, int | float):
        raise ValueError("one number where there should be six")  # noqa: TRY004 - data of the controller
    return tuple(value)
