"""gate_node judges only while it is active; its mode determines the lease."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import GateLease, ImageQuality
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import EVENT, IMAGE, STATE
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, step
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from ros_graph import Inbox, RosGraph

MODES = {
    GateMode.ON: GateLease.MODE_ON,
    GateMode.SHADOW: GateLease.MODE_SHADOW,
    GateMode.OFF: GateLease.MODE_OFF,
}


class Gate:
    """Publishes images to the gate and collects its leases."""

    def __init__(self, graph: RosGraph) -> None:
        self.graph = graph
        self.leases: Inbox = graph.subscribe(GateLease, "/gate/lease", STATE)
        self.qualities: Inbox = graph.subscribe(ImageQuality, "/gate/quality", STATE)
        self.reports: Inbox = graph.subscribe(DiagnosticArray, "/diagnostics", EVENT)
        self.publisher = graph.publisher(Image, "/distorted/top/image_raw", IMAGE)
        self.stamp_ns = 5_000_000_000

    @staticmethod
    def noise(stamp_ns: int) -> np.ndarray:
        return np.random.default_rng(stamp_ns).integers(0, 256, (480, 640, 3), dtype=np.uint8)

    def log(self) -> str:
        return self.graph.processes.log("gate_node").read_text(encoding="utf-8")

    def show(self, after_ns: int = 66_666_667) -> int:
        self.stamp_ns += after_ns
        self.publisher.publish(image_to_cdr(self.noise(self.stamp_ns), self.stamp_ns, "top"))
        return self.stamp_ns

    def judged(self, after_ns: int = 66_666_667) -> tuple[GateLease, ImageQuality]:
        """Publish images until one is judged, then another one; return its lease and quality."""
        self.graph.wait(lambda: bool(self.leases) or (self.show() and None), "a first lease")
        stamp_ns = self.show(after_ns)
        inboxes = (self.leases, self.qualities)
        return self.graph.wait(lambda: _of(inboxes, stamp_ns), f"the lease of {stamp_ns}")

    def change(self, transition: int) -> bool:
        kind = Transition(id=transition)
        return bool(self.graph.call(ChangeState, "/gate_node/change_state", transition=kind).success)

    def state(self) -> int:
        return int(self.graph.call(GetState, "/gate_node/get_state").current_state.id)


def _of(inboxes: tuple[Inbox, ...], stamp_ns: int) -> tuple[Any, ...] | None:
    found = [
        message for inbox in inboxes for message in inbox.messages if ns_of(message.header.stamp) == stamp_ns
    ]
    return tuple(found) if len(found) == len(inboxes) else None


@pytest.fixture(scope="module", params=list(GateMode))
def gate(
    request: pytest.FixtureRequest, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[GateMode, Gate]]:
    overrides = {"gate_node.judge.mode": str(request.param)}
    with RosGraph(ros_domain, tmp_path_factory.mktemp("graph"), ["gate_node"], overrides) as graph:
        graph.activate("gate_node")
        yield request.param, Gate(graph)


def test_the_mode_determines_the_verdict_of_a_bad_image(gate: tuple[GateMode, Gate]) -> None:
    mode, node = gate
    lease, quality = node.judged()
    judged = Verdict.PASS if mode is GateMode.OFF else Verdict.REJECT
    obeyed = Verdict.REJECT if mode is GateMode.ON else Verdict.PASS
    assert (lease.mode, lease.judged, lease.verdict) == (MODES[mode], judged, obeyed)
    assert (quality.verdict, bool(quality.reason)) == (judged, judged is not Verdict.PASS)
    assert lease.view == quality.view == "top"


def test_a_lease_ends_soon_after_its_image(gate: tuple[GateMode, Gate]) -> None:
    lease, _ = gate[1].judged()
    assert ns_of(lease.expires) - ns_of(lease.header.stamp) <= GateOptions().lease.ttl_ns


def test_the_numbers_are_those_of_the_pure_step(gate: tuple[GateMode, Gate]) -> None:
    mode, node = gate
    _, quality = node.judged()
    if mode is GateMode.OFF:
        assert not quality.statistics
        return
    stamp_ns = ns_of(quality.header.stamp)
    judgement = StatisticsJudge(()).judge(View.TOP, node.noise(stamp_ns))
    _, expected, _ = step(GateState(), GateFrame(View.TOP, stamp_ns, stamp_ns, judgement), GateOptions())
    assert expected.statistics is not None
    values = {item.name: item.value for item in quality.statistics}
    assert values == {str(name): expected.statistics.value(name) for name in Statistic}


def test_the_log_names_a_hold_that_begins(gate: tuple[GateMode, Gate]) -> None:
    mode, node = gate
    node.judged()
    if mode is GateMode.OFF:
        assert "a hold" not in node.log()
        return
    begins = "a hold begins" if mode is GateMode.ON else "a hold would begin (mode shadow)"
    node.graph.wait(lambda: f"top: {begins}, REJECT: " in node.log(), "the line of a hold")


def test_a_camera_that_is_slower_than_its_leases_is_named_with_a_value_to_set(
    gate: tuple[GateMode, Gate],
) -> None:
    node = gate[1]
    words = "top arrives at {} Hz and its leases last 0.12 s: set gate_node.judge.lease.ttl_s to {}"

    def is_named() -> bool:
        now = words.format("5.0", "0.6")
        return any(now in one.message for report in node.reports.messages for one in report.status)

    for _image in range(16):  # one after another: all of them are judged, and only they count at the end
        node.judged(200_000_000)
    node.graph.wait(is_named, "a warning of the slow camera")
    # the first line is of a pace between that of before and this one
    line = re.compile(re.escape(words).replace(r"\{\}", r"[\d.]+"))
    node.graph.wait(lambda: line.search(node.log()), "its line")


def test_a_broken_image_gets_no_lease_and_the_next_one_does(gate: tuple[GateMode, Gate]) -> None:
    node = gate[1]
    node.publisher.publish(image_to_cdr(node.noise(1), node.stamp_ns + 1, "top")[:300])
    lease, _ = node.judged()
    assert ns_of(lease.header.stamp) == node.stamp_ns


def test_an_inactive_gate_gives_no_lease(gate: tuple[GateMode, Gate]) -> None:
    node = gate[1]
    assert node.change(Transition.TRANSITION_DEACTIVATE)
    before = len(node.leases)
    for _ in range(3):
        node.show()
    assert node.state() == State.PRIMARY_STATE_INACTIVE
    assert node.change(Transition.TRANSITION_ACTIVATE)
    stamp_ns = node.judged()[0].header.stamp
    new = node.leases.messages[before:]
    assert ns_of(new[-1].header.stamp) == ns_of(stamp_ns)
    assert all(ns_of(lease.header.stamp) > ns_of(stamp_ns) - 4 * 66_666_667 for lease in new)
