"""RTDE, version 2: clients choose what they read and write, then packages flow at the controller's rate."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from enum import IntEnum

from embodied_iqa.emulator.controller import Controller
from embodied_iqa.emulator.link import Link, Peer
from embodied_iqa.emulator.rtde_outputs import OUTPUTS, Moment, Output
from embodied_iqa.emulator.rtde_types import INPUTS, NOT_FOUND, Packing

__all__ = ["RtdeHub"]

_HEADER = struct.Struct(">HB")
_VERSION = 2
_IN_USE = "IN_USE"


class Kind(IntEnum):
    """Types of packages: the ASCII codes of their letters."""

    REQUEST_VERSION = ord("V")
    CONTROLLER_VERSION = ord("v")
    SETUP_OUTPUTS = ord("O")
    SETUP_INPUTS = ord("I")
    START = ord("S")
    PAUSE = ord("P")
    DATA = ord("U")


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Variables that travel together."""

    names: tuple[str, ...]
    packing: Packing


class RtdeHub:
    """All RTDE clients of one controller.

    Args:
        controller: Whose variables they read and write.
        link: The network.

    Attributes:
        writers: Input to the client that writes it; another cannot.
        written: Set whenever a client has written inputs.
    """

    def __init__(self, controller: Controller, link: Link) -> None:
        self.controller = controller
        self._link = link
        self._clients: set[_RtdeClient] = set()
        self.writers: dict[str, _RtdeClient] = {}
        self.written = asyncio.Event()

    def new_peer(self) -> Peer:
        """Make the handler of a new client."""
        return _RtdeClient(self, self._link)

    def join(self, client: _RtdeClient) -> None:
        """Take a client in."""
        self._clients.add(client)

    def leave(self, client: _RtdeClient) -> None:
        """Forget a client; the inputs that it wrote are free again."""
        self._clients.discard(client)
        self.writers = {name: owner for name, owner in self.writers.items() if owner is not client}

    def publish(self, tick: int) -> None:
        """Send what the controller's newest tick has brought to every client that asked for it."""
        moment = Moment(self.controller)
        for client in tuple(self._clients):
            client.publish(moment, tick)


class _RtdeClient(Peer):
    """One RTDE connection."""

    def __init__(self, hub: RtdeHub, link: Link) -> None:
        super().__init__(link)
        self._hub = hub
        self._buffer = b""
        self._outputs: tuple[Output, ...] = ()
        self._packing: Packing | None = None
        self._every = 1
        self._running = False
        self._inputs: list[_Recipe] = []

    def greet(self) -> None:
        """Join the others."""
        self._hub.join(self)

    def farewell(self) -> None:
        """Leave the others."""
        self._hub.leave(self)

    def take(self, data: bytes) -> None:
        """Handle every whole package; nonsense ends the connection."""
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            size, kind = _HEADER.unpack_from(self._buffer)
            if size < _HEADER.size:
                self.transport.abort()
                return
            if len(self._buffer) < size:
                return
            payload, self._buffer = self._buffer[_HEADER.size : size], self._buffer[size:]
            try:
                self._handle(kind, payload)
            except (struct.error, UnicodeDecodeError, IndexError, ValueError):
                self.transport.abort()
                return

    def publish(self, moment: Moment, tick: int) -> None:
        """Send the values of the recipe, if this tick is one of those asked for."""
        if self._running and self._packing is not None and tick % self._every == 0:
            values = [output.read(moment) for output in self._outputs]
            self._say(Kind.DATA, b"\x01" + self._packing.pack(values))

    def _say(self, kind: Kind, payload: bytes) -> None:
        self.send(_HEADER.pack(len(payload) + _HEADER.size, kind) + payload)

    def _handle(self, kind: int, payload: bytes) -> None:
        match kind:
            case Kind.DATA:
                self._write(payload)
            case Kind.REQUEST_VERSION:
                (version,) = struct.unpack(">H", payload)
                self._say(Kind.REQUEST_VERSION, bytes([version == _VERSION]))
            case Kind.CONTROLLER_VERSION:
                self._say(Kind.CONTROLLER_VERSION, struct.pack(">4I", *self._hub.controller.firmware.version))
            case Kind.SETUP_OUTPUTS:
                self._set_up_outputs(payload)
            case Kind.SETUP_INPUTS:
                self._set_up_inputs(payload)
            case Kind.START:
                self._running = self._packing is not None
                self._say(Kind.START, bytes([self._running]))
            case Kind.PAUSE:
                self._running = False
                self._say(Kind.PAUSE, b"\x01")
            case _:
                self.transport.abort()

    def _set_up_outputs(self, payload: bytes) -> None:
        (rate_hz,) = struct.unpack_from(">d", payload)
        names = _names(payload[8:])
        kinds = [str(OUTPUTS[name].kind) if name in OUTPUTS else NOT_FOUND for name in names]
        if NOT_FOUND not in kinds and rate_hz > 0.0:
            self._outputs = tuple(OUTPUTS[name] for name in names)
            self._packing = Packing.of([output.kind for output in self._outputs])
            self._every = max(1, round(self._hub.controller.firmware.rate_hz / rate_hz))
        self._say(Kind.SETUP_OUTPUTS, b"\x01" + ",".join(kinds).encode())

    def _set_up_inputs(self, payload: bytes) -> None:
        names, writers = _names(payload), self._hub.writers
        kinds = [
            NOT_FOUND
            if name not in INPUTS
            else _IN_USE
            if writers.get(name, self) is not self
            else INPUTS[name]
            for name in names
        ]
        number = 0
        if not {NOT_FOUND, _IN_USE} & set(kinds):
            writers.update(dict.fromkeys(names, self))
            self._inputs.append(_Recipe(names, Packing.of([INPUTS[name] for name in names])))
            number = len(self._inputs)
        self._say(Kind.SETUP_INPUTS, bytes([number]) + ",".join(kinds).encode())

    def _write(self, payload: bytes) -> None:
        recipe = self._inputs[payload[0] - 1]
        values = recipe.packing.unpack(payload[1:])
        self._hub.controller.write(dict(zip(recipe.names, values, strict=True)))
        self._hub.written.set()


def _names(payload: bytes) -> tuple[str, ...]:
    return tuple(name for name in payload.decode("ascii").split(",") if name)
