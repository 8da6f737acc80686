"""RTDE server, version 2: clients select variables, which are then exchanged at the controller's rate."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.link import Link, Peer
from embodied_iqa.arm.emulator.rtde_outputs import OUTPUTS, OutputValues
from embodied_iqa.arm.emulator.rtde_types import HEADER, INPUTS, NOT_FOUND, RTDE_VERSION, Kind, Packing

_IN_USE = "IN_USE"


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Variables that are sent together."""

    names: tuple[str, ...]
    packing: Packing


class RtdeHub:
    """All RTDE clients of one controller.

    Args:
        controller: The controller whose variables they read and write.
        link: Their network.

    Attributes:
        writers: The only client that may write an input, by name of the input.
        written: Set whenever a client has written inputs.
    """

    def __init__(self, controller: Controller, link: Link) -> None:
        self.controller = controller
        self._link = link
        self._clients: set[_RtdeClient] = set()
        self.writers: dict[str, _RtdeClient] = {}
        self.written = asyncio.Event()

    def new_peer(self) -> Peer:
        """Return the handler of a new client."""
        return _RtdeClient(self, self._link)

    def join(self, client: _RtdeClient) -> None:
        """Add a client."""
        self._clients.add(client)

    def leave(self, client: _RtdeClient) -> None:
        """Remove a client and release the inputs that it wrote."""
        self._clients.discard(client)
        self.writers = {name: owner for name, owner in self.writers.items() if owner is not client}

    def publish(self, tick: int) -> None:
        """Send the variables after tick number ``tick`` to the clients; number 0 goes to all of them."""
        values = OutputValues(self.controller)
        for client in tuple(self._clients):
            client.publish(values, tick)


class _RtdeClient(Peer):
    """One RTDE connection."""

    def __init__(self, hub: RtdeHub, link: Link) -> None:
        super().__init__(link)
        self._hub = hub
        self._buffer = b""
        self._outputs: _Recipe | None = None
        self._every = 1
        self._running = False
        self._inputs: list[_Recipe] = []

    def greet(self) -> None:
        """Join the hub."""
        self._hub.join(self)

    def farewell(self) -> None:
        """Leave the hub."""
        self._hub.leave(self)

    def take(self, data: bytes) -> None:
        """Handle every complete package; an invalid one ends the connection."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            size, kind = HEADER.unpack_from(self._buffer)
            if size < HEADER.size:
                self.transport.abort()
                return
            if len(self._buffer) < size:
                return
            payload, self._buffer = self._buffer[HEADER.size : size], self._buffer[size:]
            try:
                self._handle(kind, payload)
            except (struct.error, UnicodeDecodeError, IndexError, ValueError):
                self.transport.abort()
                return

    def publish(self, values: OutputValues, tick: int) -> None:
        """Send the values of the recipe if they are due at this tick."""
        recipe = self._outputs
        if self._running and recipe is not None and tick % self._every == 0:
            self._reply(Kind.DATA, b"\x01" + recipe.packing.pack([values[name] for name in recipe.names]))

    def _reply(self, kind: Kind, payload: bytes) -> None:
        self.send(HEADER.pack(len(payload) + HEADER.size, kind) + payload)

    def _handle(self, kind: int, payload: bytes) -> None:
        match kind:
            case Kind.DATA:
                self._write(payload)
            case Kind.REQUEST_VERSION:
                (version,) = struct.unpack(">H", payload)
                self._reply(Kind.REQUEST_VERSION, bytes([version == RTDE_VERSION]))
            case Kind.CONTROLLER_VERSION:
                self._reply(
                    Kind.CONTROLLER_VERSION, struct.pack(">4I", *self._hub.controller.firmware.version)
                )
            case Kind.SETUP_OUTPUTS:
                self._set_up_outputs(payload)
            case Kind.SETUP_INPUTS:
                self._set_up_inputs(payload)
            case Kind.START:
                self._running = self._outputs is not None
                self._reply(Kind.START, bytes([self._running]))
            case Kind.PAUSE:
                self._running = False
                self._reply(Kind.PAUSE, b"\x01")
            case _:
                self.transport.abort()

    def _set_up_outputs(self, payload: bytes) -> None:
        (rate_hz,) = struct.unpack_from(">d", payload)
        names = _names(payload[8:])
        kinds = [str(OUTPUTS[name].kind) if name in OUTPUTS else NOT_FOUND for name in names]
        if NOT_FOUND not in kinds and rate_hz > 0.0:
            self._outputs = _Recipe(names, Packing.of([OUTPUTS[name].kind for name in names]))
            self._every = max(1, round(self._hub.controller.firmware.rate_hz / rate_hz))
        self._reply(Kind.SETUP_OUTPUTS, b"\x01" + ",".join(kinds).encode())

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
        self._reply(Kind.SETUP_INPUTS, bytes([number]) + ",".join(kinds).encode())

    def _write(self, payload: bytes) -> None:
        recipe = self._inputs[payload[0] - 1]
        values = recipe.packing.unpack(payload[1:])
        self._hub.controller.write(dict(zip(recipe.names, values, strict=True)))
        self._hub.written.set()


def _names(payload: bytes) -> tuple[str, ...]:
    return tuple(name for name in payload.decode("ascii").split(",") if name)
