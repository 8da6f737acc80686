"""gate_node without thresholds does not become active, and reports why."""

from __future__ import annotations

from pathlib import Path

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState

from ros_graph import RosGraph


def test_a_gate_without_thresholds_stays_unconfigured_and_reports_why(
    ros_domain: int, tmp_path: Path
) -> None:
    overrides = {"gate_node.calibration": str(tmp_path / "nothing.yaml")}
    with RosGraph(ros_domain, tmp_path / "graph", ["gate_node"], overrides) as graph:
        configure = Transition(id=Transition.TRANSITION_CONFIGURE)
        assert not graph.call(ChangeState, "/gate_node/change_state", transition=configure).success
        state = graph.call(GetState, "/gate_node/get_state").current_state
        assert state.id == State.PRIMARY_STATE_UNCONFIGURED
        log = graph.processes.log("gate_node")
        graph.wait(lambda: "nothing.yaml" in log.read_text(), "the reason in the log")
        assert "configure failed" in log.read_text()
