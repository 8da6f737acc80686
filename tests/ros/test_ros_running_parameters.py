"""Parameters of a running node: what may change does, all of a request or none; the rest is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node as RosNode
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.live.ros.node import BaseNode
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.live.ros.trial_client import TrialClient
from embodied_iqa.runs.graph.node_table import nodes_of, resolve
from embodied_iqa.runs.graph.parameters import GateParameters
from live_process import COMPLETION_S
from real_arm import REAL_ARM


class Node(BaseNode[GateParameters]):
    """A node with two parameters that can change, one of them not to off."""

    changeable = frozenset({"judge.mode", "judge.trip_frames"})

    def __init__(self) -> None:
        super().__init__("gate_node", GateParameters)
        self.declare_parameter("of_a_topic", 1)  # as overrides of topics are: before the node is complete
        self.asked = 0
        self.changes: list[tuple[GateMode, int]] = []

    def why_not(self, wanted: GateParameters) -> str:
        self.asked += 1
        return "it would be off" if wanted.judge.mode is GateMode.OFF else ""

    def changed(self) -> None:
        self.changes.append((self.config.judge.mode, self.config.judge.trip_frames))


@pytest.fixture
def node(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr("sys.argv", ["node"])
    rclpy.init(args=["node"], domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        made = Node()
        yield made
        made.destroy_node()
    finally:
        rclpy.try_shutdown()


def values(node: Node) -> tuple[object, object]:
    return tuple(node.get_parameter(name).value for name in ("judge.mode", "judge.trip_frames"))  # type: ignore[return-value]


def test_a_change_is_taken_over_and_events_are_published(node: Node) -> None:
    before = node.config
    assert node.set_parameters_atomically(
        [Parameter("judge.mode", value="shadow"), Parameter("judge.trip_frames", value=4)]
    ).successful
    assert node.changes == [(GateMode.SHADOW, 4)], "one change for the whole request"
    assert values(node) == ("shadow", 4)
    assert (node.config.views, node.config.calibration) == (before.views, before.calibration)
    assert node.set_parameters_atomically([Parameter("judge.trip_frames", value=4)]).successful
    assert len(node.changes) == 1, "nothing has changed"


def test_words_that_ros_reads_as_bools_are_words(node: Node) -> None:
    node.set_parameters_atomically([Parameter("judge.mode", value="shadow")])
    assert node.set_parameters_atomically([Parameter("judge.mode", value=True)]).successful
    assert node.changes[-1][0] is GateMode.ON


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("judge.trip_frames", 0, "judge.trip_frames"),
        ("judge.trip_frames", "many", "Wrong parameter type"),
        ("judge.mode", "sharp", "available: on, shadow, off"),
        ("judge.mode", "off", "it would be off"),
        (
            "newest_only",
            True,
            "newest_only: it holds from the start of the node; to set: judge.mode, judge.trip",
        ),
    ],
)
def test_with_a_wrong_value_none_of_a_request_holds(
    node: Node, name: str, value: object, reason: str
) -> None:
    before, other = values(node), {"judge.mode": ("judge.trip_frames", 4)}.get(name, ("judge.mode", "shadow"))
    request = [Parameter(other[0], value=other[1]), Parameter(name, value=value)]
    result = node.set_parameters_atomically(request)
    assert not result.successful
    assert reason in result.reason
    assert values(node) == before
    assert node.changes == []


def test_the_parameters_of_a_running_graph_are_read_and_not_those_of_here(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    real = resolve(overrides=REAL_ARM)
    values = real.values()
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
    graph = [RosNode(entry.name, namespace="/cell1", context=context) for entry in nodes_of(real)]
    for node in graph:
        for name, value in values[node.get_name()].items():
            node.declare_parameter(name, value)
    spins = [SpinThread(node) for node in graph]
    try:
        with TrialClient(lambda: None, namespace="/cell1") as client:
            running = client.running_parameters(COMPLETION_S)
    finally:
        for spin, node in zip(spins, graph, strict=True):
            spin.close()
            node.destroy_node()
        context.try_shutdown()
    assert running.keys() == {entry.name for entry in nodes_of(real)}, "a real arm has no sim_node"
    for name, found in running.items():
        assert found.items() >= values[name].items()
