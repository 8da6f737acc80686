"""100,000 hostile requests at the proxy (`make stress`): no crash, and no action without a pass."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import websockets.exceptions
import websockets.sync.client
from openpi_client import msgpack_numpy

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.quality.gate.proxy.gated_policy import GATE
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from gated_policies import (
    KEY,
    WRIST,
    calibrations,
    covered,
    damaged,
    observation,
    openvla_proxying,
    proxying,
    scene_image,
    setting,
)
from manual_clock import PATIENCE_S
from openvla_server import deploy, json_numpy
from wire_servers import reference_server

REQUESTS = 100_000
OF_EACH = REQUESTS // 2
Send = Callable[[bytes], bool]
"""Sends a message; returns whether an action came back."""


class Witness:
    """A policy that keeps the last observation, of which a judge of the test's own says whether it passes."""

    def __init__(self) -> None:
        self.asked = 0
        self._seen: dict[str, Any] = {}
        self._judge = StatisticsJudge(calibrations())

    def saw(self, seen: dict[str, Any]) -> None:
        self.asked += 1
        self._seen = seen

    def passed(self) -> bool:
        views = {KEY: View.TOP, WRIST: View.WRIST}
        return all(
            self._judge.judge(view, self._seen[key]).verdict.name == "PASS" for key, view in views.items()
        )


def flood(pack: Callable[[Any], bytes], send: Send, witness: Witness, count: int) -> None:
    random = np.random.default_rng(39)
    bad = {**observation(), KEY: covered(scene_image(100))}
    whole = [pack(observation()), pack(bad), pack({**observation(), "extra": {"a": scene_image(3)}})]
    released = refused = 0
    for number in range(count):
        before = witness.asked
        if send(damaged(whole[number % 3], random)):
            assert witness.asked == before + 1
            assert witness.passed()
            released += 1
        else:
            assert witness.asked == before
            refused += 1
    assert released > 2 < refused, "both happen"
    assert send(whole[0]), "the next good one is answered"


@contextmanager
def by_websocket(witness: Witness) -> Iterator[Send]:
    def policy(seen: dict[str, Any]) -> dict[str, Any]:
        witness.saw(seen)
        return {"actions": np.zeros((1, 7))}

    with reference_server({}, policy) as behind, proxying(setting(), behind) as port:
        address = f"ws://127.0.0.1:{port}"
        with websockets.sync.client.connect(address, compression=None, max_size=None) as client:
            client.recv(PATIENCE_S)

            def send(message: bytes) -> bool:
                client.send(message)
                answer = client.recv(PATIENCE_S)
                if isinstance(answer, str):
                    return False
                assert msgpack_numpy.unpackb(answer)[GATE]["verdict"] == "PASS"
                return True

            yield send


@contextmanager
def by_http(witness: Witness) -> Iterator[Send]:
    def policy(body: dict[str, Any]) -> object:
        witness.saw(json_arrays.unpack(json_arrays.pack(body), 1 << 24))
        return json_numpy(np.zeros(7))

    with deploy(policy) as (behind, kept), openvla_proxying(setting(), behind) as port:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

        def send(message: bytes) -> bool:
            link.request("POST", "/act", message)
            answer = link.getresponse()
            body = answer.read()
            kept.clear()
            assert answer.status in {200, 400, 409}, body
            return answer.status == 200

        yield send
        link.close()


@pytest.mark.stress
@pytest.mark.parametrize(
    ("connected", "pack"), [(by_websocket, msgpack_numpy.packb), (by_http, json_arrays.pack)]
)
def test_hostile_requests_release_no_action_without_a_pass(connected: Any, pack: Any) -> None:
    witness = Witness()
    with connected(witness) as send:
        flood(pack, send, witness, OF_EACH)


@pytest.mark.parametrize(
    ("connected", "pack"), [(by_websocket, msgpack_numpy.packb), (by_http, json_arrays.pack)]
)
def test_some_hostile_requests_release_no_action_without_a_pass(connected: Any, pack: Any) -> None:
    witness = Witness()
    with connected(witness) as send:
        flood(pack, send, witness, 600)
