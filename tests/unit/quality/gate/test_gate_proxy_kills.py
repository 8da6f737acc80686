"""Deaths of proxy or policy at a random byte of an answer: no half action, and the client stops.

80 of them, and 200 in `make stress`.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import websockets.exceptions
import websockets.sync.client
from openpi_client import msgpack_numpy

from embodied_iqa.quality.gate.proxy.gated_policy import GATE
from gated_policies import KEY, covered, observation, proxying, scene_image, setting
from manual_clock import PATIENCE_S, ManualClock
from wire_servers import raw_server, reference_server

KILLS = pytest.mark.parametrize("kills", [40, pytest.param(100, marks=pytest.mark.stress)])
"""Of each victim."""
WATCHDOG_S = 0.2
MOST_BYTES = 4000
"""Bytes of a few answers, the greeting before them included."""
MOST_QUESTIONS = 40
RESET = struct.pack("ii", 1, 0)


@dataclass
class Relay:
    """Bytes that may still pass towards the client before the end; None for all of them."""

    port: int = 0
    left: int | None = None

    def script(self, connection: socket.socket, _stop: threading.Event) -> None:
        if self.left == 0:
            return
        with socket.create_connection(("127.0.0.1", self.port)) as server:
            asking = threading.Thread(target=_pump, args=(connection, server), daemon=True)
            asking.start()
            with suppress(OSError):
                self._answers(server, connection)
            for end in (connection, server):  # as the kernel ends the connections of a process that is killed
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    end.shutdown(socket.SHUT_RDWR)
            asking.join(PATIENCE_S)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        while data := server.recv(1 << 16):
            if self.left is not None:
                data = data[: self.left]
                self.left -= len(data)
            client.sendall(data)
            if self.left == 0:
                return


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)


class Policy:
    """Answers with the number of the question."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _seen: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        return {"actions": np.full((4, 8), float(self.asked))}


class Consumer:
    """Moves by each action for the time of its watchdog."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.executed: list[float] = []
        self._until_ns = 0

    @property
    def moves(self) -> bool:
        return self.clock.now_ns() < self._until_ns

    def take(self, message: bytes | str) -> bool:
        """Execute an answer; return whether the server goes on giving answers."""
        if isinstance(message, str):
            return message.startswith("HeldError")
        answer = msgpack_numpy.unpackb(message)
        assert answer[GATE]["verdict"] == "PASS"
        assert answer["actions"].shape == (4, 8)
        self.executed.append(float(answer["actions"][0, 0]))
        self._until_ns = self.clock.now_ns() + round(WATCHDOG_S * 1e9)
        return True


@contextmanager
def stack() -> Iterator[tuple[Policy, dict[str, Relay]]]:
    """Policy <- relay <- proxy <- relay, whose port the client uses."""
    policy, relays = Policy(), {"policy": Relay(), "proxy": Relay()}
    with ExitStack() as open_ones:
        relays["policy"].port = open_ones.enter_context(reference_server({"name": "pi0"}, policy))
        behind = open_ones.enter_context(raw_server(relays["policy"].script))
        pauses_pass = ManualClock(pauses_pass=True)  # those between attempts to reach a policy that is dead
        relays["proxy"].port = open_ones.enter_context(proxying(setting(), behind, clock=pauses_pass))
        relays["client"] = Relay(open_ones.enter_context(raw_server(relays["proxy"].script)))
        yield policy, relays


def ask_until_the_end(port: int, consumer: Consumer, drawn: random.Random) -> None:
    with suppress(OSError, EOFError, websockets.exceptions.WebSocketException):
        with websockets.sync.client.connect(
            f"ws://127.0.0.1:{port}", compression=None, open_timeout=PATIENCE_S, close_timeout=0.1
        ) as client:
            client.recv(PATIENCE_S)
            for _ in range(MOST_QUESTIONS):
                consumer.clock.advance(0.05)
                seen = observation()
                if drawn.random() < 0.2:
                    seen[KEY] = covered(scene_image(100))
                client.send(msgpack_numpy.packb(seen))
                if not consumer.take(client.recv(PATIENCE_S)):
                    return
        pytest.fail("nobody died")


@KILLS
@pytest.mark.parametrize("victim", ["proxy", "policy"])
def test_the_client_stops_within_its_watchdog_of_each_kill(victim: str, kills: int) -> None:
    drawn, were_moving = random.Random(39), 0
    with stack() as (policy, relays):
        for _ in range(kills):
            policy.asked = 0
            relays["proxy"].left = relays["policy"].left = None
            relays[victim].left = drawn.randrange(1, MOST_BYTES)
            consumer = Consumer()
            ask_until_the_end(relays["client"].port, consumer, drawn)
            assert relays[victim].left == 0
            assert consumer.executed == sorted(set(consumer.executed))
            assert len(consumer.executed) <= policy.asked
            were_moving += consumer.moves
            done = len(consumer.executed)
            ask_until_the_end(relays["client"].port, consumer, drawn)  # it is dead, and stays so
            assert len(consumer.executed) == done
            consumer.clock.advance(WATCHDOG_S)
            assert not consumer.moves
    assert were_moving > kills // 4, "the kills meet a robot that moves"
