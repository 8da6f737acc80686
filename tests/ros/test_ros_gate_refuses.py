"""gate_node without its calibration or a network of it does not become active, and reports why."""

from __future__ import annotations

from pathlib import Path

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState

from gate_files import write_gate, write_metric_gate
from ros_graph import RosGraph


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("statistics", "gate.yaml"),
        ("learned", "gate/loss/network.onnx"),
        ("metric:trained:M", "gate/model/network.onnx"),
    ],
)
def test_a_gate_without_thresholds_stays_unconfigured_and_reports_why(
    ros_domain: int, tmp_path: Path, kind: str, missing: str
) -> None:
    file = (write_metric_gate if kind.startswith("metric:") else write_gate)(tmp_path)
    (tmp_path / missing).unlink()
    overrides = {"gate_node.calibration": str(file), "gate_node.judge.kind": kind}
    with RosGraph(ros_domain, tmp_path / "graph", ["gate_node"], overrides) as graph:
        configure = Transition(id=Transition.TRANSITION_CONFIGURE)
        assert not graph.call(ChangeState, "/gate_node/change_state", transition=configure).success
        state = graph.call(GetState, "/gate_node/get_state").current_state
        assert state.id == State.PRIMARY_STATE_UNCONFIGURED
        log = graph.processes.log("gate_node")
        graph.wait(lambda: "cannot read" in log.read_text(), "the reason in the log")
        assert "configure failed" in log.read_text()
