"""vla_node with a policy server that is slow, lying, gone or never there: a reason, and never any motion."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros.conversion import increments_of, ns_of
from embodied_iqa.live.ros.domain import own_domain
from manual_clock import PATIENCE_S
from policy_bench import Bench
from ros_graph import RosGraph
from wire_servers import raw_server, reference_server

DEADLINE_S = 20.0
"""No well policy misses it on a busy machine; a slow one is given up by it."""
SHORT_S = 0.4
"""For a server that never answers."""


class Policy:
    """A policy whose behaviour the test sets; it moves 1 cm forward."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.row = [0.01, 0, 0, 0, 0, 0, 1.0]
        self.asked = 0

    def __call__(self, _message: dict) -> dict:
        self.asked += 1
        assert self.free.wait(PATIENCE_S)
        return {"actions": np.array([self.row])}


@dataclass(frozen=True)
class Server:
    """The server of the shared policy.

    Attributes:
        port: Where it listens.
        running: Closing it ends the server.
    """

    port: int
    running: ExitStack


def overrides(port: int, deadline_s: float = DEADLINE_S) -> dict[str, object]:
    return {
        "vla_node.subject": f"openpi://127.0.0.1:{port}",
        "vla_node.policy.convention": "openvla-bridge",
        "vla_node.policy.views": "top",
        "vla_node.server.connect_s": deadline_s,
        "vla_node.server.deadline_s": 0.1 + deadline_s,
        "vla_node.server.retries": 0,
        "vla_node.answer_deadline_s": deadline_s,
    }


@pytest.fixture(scope="module")
def shared_policy() -> Policy:
    return Policy()


@pytest.fixture
def policy(shared_policy: Policy) -> Iterator[Policy]:
    """The policy, well again after each test."""
    yield shared_policy
    shared_policy.free.set()
    shared_policy.row = [0.01, 0, 0, 0, 0, 0, 1.0]


@pytest.fixture(scope="module")
def server(shared_policy: Policy) -> Iterator[Server]:
    with ExitStack() as running:
        yield Server(running.enter_context(reference_server({}, shared_policy)), running)


@pytest.fixture(scope="module")
def bench(server: Server, ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("graph")
    with RosGraph(ros_domain, folder, ["vla_node"], overrides(server.port)) as graph:
        graph.activate("vla_node")
        yield Bench(graph)


def test_a_good_policy_acts(bench: Bench):
    for chunk in bench.decision(bench.begin()):
        assert chunk.status == ActionChunk.STATUS_ACT, chunk.reason
        assert np.allclose(increments_of(chunk)[0, :3], [0, -0.01, 0])
        assert chunk.subject.startswith("openpi://127.0.0.1:")
        assert chunk.latency_ms > 0


def test_a_slow_policy_is_given_up_and_its_late_answer_is_dropped(bench: Bench, policy: Policy):
    policy.free.clear()
    late_before, asked_before = bench.counts().get("late", 0), policy.asked
    start_ns = bench.begin()
    bench.graph.wait(lambda: (bench.show(), policy.asked > asked_before)[1], "the question")
    assert bench.set_task(start_ns + 1), "the node answers while its subject thinks"
    distorted, raw = bench.decision(start_ns, asked=True)
    for chunk in (distorted, raw):
        assert chunk.status == ActionChunk.STATUS_FAILED
        assert not chunk.increments
        assert "no answer" in chunk.reason
    policy.free.set()
    bench.until_counted(lambda counts: counts.get("late", 0) > late_before)
    chunk, _ = bench.decision(bench.begin())
    assert chunk.status == ActionChunk.STATUS_ACT, chunk.reason


def test_what_was_asked_in_a_run_that_is_over_is_dropped(bench: Bench, policy: Policy):
    policy.free.clear()
    dropped_before, asked_before = bench.counts().get("dropped", 0), policy.asked
    start_ns = bench.begin()
    bench.graph.wait(lambda: (bench.show(), policy.asked > asked_before)[1], "the question")
    assert bench.set_task(0, task="")
    policy.free.set()
    bench.until_counted(lambda counts: counts.get("dropped", 0) > dropped_before)
    assert all(ns_of(chunk.header.stamp) <= start_ns for chunk in bench.actions.messages)


@pytest.mark.parametrize(
    ("row", "words"),
    [([0.0] * 3, "not openvla-bridge"), ([float("nan")] * 7, "not finite"), ([1e6] * 7, "does not fit")],
)
def test_a_lying_policy_never_moves_the_arm(bench: Bench, policy: Policy, row: list[float], words: str):
    policy.row = row
    for chunk in bench.decision(bench.begin()):
        assert chunk.status == ActionChunk.STATUS_FAILED
        assert not chunk.increments
        assert words in chunk.reason


def test_a_policy_that_is_not_there_is_told_when_the_node_is_configured(tmp_path: Path):
    def silent(_connection: object, stop: threading.Event) -> None:
        stop.wait()

    with (
        own_domain() as domain,
        raw_server(silent) as port,
        RosGraph(domain, tmp_path, ["vla_node"], overrides(port, SHORT_S)) as graph,
        pytest.raises(UserError, match="no policy server answers"),
    ):
        graph.activate("vla_node")


def test_a_policy_that_goes_is_told_and_the_node_lives_on(bench: Bench, server: Server):
    """The last test of this node, whose server is gone afterwards."""
    assert bench.decision(bench.begin())[0].status == ActionChunk.STATUS_ACT
    server.running.close()
    chunk, _ = bench.decision(bench.begin())
    assert chunk.status == ActionChunk.STATUS_FAILED
    assert "refused" in chunk.reason
    assert bench.set_task(0, task="")
