"""What the live page of a gate node shows, the process that asks it, and the layout for Foxglove."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, cast

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs import msg as ours

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.gate_watching import GateWatch
from embodied_iqa.pages.studio.watch.gate_page import gate_of
from embodied_iqa.runs.graph import gate_watching_process
from embodied_iqa.runs.graph.gate_watching_process import GateWatchingProcess
from manual_clock import PATIENCE_S, ManualClock

OVERLAY = "/gate/overlay/top/image_raw"
RED = np.full((20, 30, 3), (200, 0, 0), np.uint8)


class Graph:
    """A node whose graph the test makes."""

    def __init__(self) -> None:
        self.publishers = 0
        self.takers: dict[str, Any] = {}

    def create_subscription(self, _kind: Any, topic: str, take: Any, _qos: Any, **_: Any) -> None:
        self.takers[topic] = take

    def create_timer(self, *_: Any) -> None: ...

    def count_publishers(self, _topic: str) -> int:
        return self.publishers

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        return [(OVERLAY, ["sensor_msgs/msg/Image"]), ("/other/overlay/x", ["sensor_msgs/msg/Image"])]


def quality(view: str, verdict: int, reason: str = "", predicted: float = math.nan) -> ours.ImageQuality:
    return ours.ImageQuality(view=view, verdict=verdict, reason=reason, predicted=predicted, threshold=0.3)


def test_two_cameras_are_shown_with_the_worst_verdict_and_the_predicted_loss() -> None:
    graph, clock = Graph(), ManualClock()
    watch = GateWatch(cast("Any", graph), "/gate", clock)
    assert "nobody publishes /gate/quality" in watch.state()["silent"]
    graph.publishers = 1
    assert watch.state()["gate"] is None
    watch.look()
    assert sorted(graph.takers) == ["/diagnostics", "/gate/lease", OVERLAY, "/gate/quality"]
    other = DiagnosticStatus(name="cell1/gate", message="mode on, judge metric:brisque")
    mine = DiagnosticStatus(name="gate", message="mode on, judge learned: drifted")
    watch.take_diagnostics(DiagnosticArray(status=[mine, other]))
    watch.take_lease(ours.GateLease(mode=ours.GateLease.MODE_SHADOW))
    watch.take_quality(quality("top", 0, predicted=0.25))
    clock.advance(2.0)
    watch.take_quality(quality("wrist", 2, "too dark"))
    watch.take_quality(quality("no view!", 0))
    watch.take_quality(quality("top", 9))
    graph.takers[OVERLAY](image_to_cdr(RED, 1, "lens"))
    graph.takers[OVERLAY](b"damaged")
    found = json.loads(json.dumps(watch.state(), allow_nan=False))
    gate = found["gate"]
    assert (gate["verdict"], gate["reason"], gate["mode"]) == ("REJECT", "too dark", "shadow")
    assert (gate["expected_loss"], found["answered"]) == (0.25, 2)
    cameras = found["cameras"]
    assert cameras["top"]["points"] == [[2.0, "PASS", 0.25]]
    assert cameras["wrist"] == {"image": None, "age_s": 0.0, "points": [[0.0, "REJECT", None]]}
    assert cameras["top"]["image"].startswith("data:image/png;base64,")
    clock.advance(0.1)
    watch.take_quality(quality("wrist", 0))
    top = watch.state()["cameras"]["top"]
    assert (top["age_s"], top["image"]) == (pytest.approx(2.1), None), "PASS stands in the overlay"


def test_the_process_answers_and_says_why_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_watching_process, "_ANSWER_S", PATIENCE_S)  # a busy machine starts it late
    echo = "import sys\nfor line in sys.stdin: print('{\"silent\": \"' + sys.argv[1] + '\"}', flush=True)"
    asked = GateWatchingProcess("/cell1/gate", (sys.executable, "-c", echo))
    try:
        assert asked.snapshot() == {"silent": "/cell1/gate"}
    finally:
        asked.close()
    gone = GateWatchingProcess("/gate", ("/nonexistent/python",))
    with pytest.raises(InputError, match="cannot start the connection to ROS"):
        gone.snapshot()


@pytest.mark.parametrize("text", ["/", "/a b", "/1"])
def test_a_wrong_name_and_a_token_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="name of a gate node"):
        gate_of(text)
    with pytest.raises(UsageError, match="--gate-token-env"):
        gate_of("/gate", "secret")


def test_the_layout_names_fields_of_the_messages_of_a_gate() -> None:
    layout = json.loads(shared_file("config/foxglove/gate.json").read_text(encoding="utf-8"))
    fields = {"/gate/quality": ours.ImageQuality, "/gate/lease": ours.GateLease}
    paths = [path["value"] for panel in layout["configById"].values() for path in panel.get("paths", [])]
    assert len(paths) == 6
    for topic, field in (path.split(".") for path in paths):
        assert field in fields[topic].get_fields_and_field_types()
    assert layout["configById"]["Image!overlay"]["imageMode"]["imageTopic"] == "/gate/overlay/image_raw"
    assert layout["configById"]["RawMessages!lease"]["topicPath"] in fields
