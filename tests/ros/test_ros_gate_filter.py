"""The filter between a policy and its controller: leases, joint states and commands of the test's own."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import GateLease
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from embodied_iqa.arm import verdict as gate
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import lease_to_msg
from embodied_iqa.live.ros.qos import COMMAND, EVENT, STATE
from embodied_iqa.runs.graph.processes import ProcessSpec
from ros_graph import EVERY, Inbox, RosGraph

JOINTS = ["base", "elbow"]
LEASE_NS = 900_000_000
BYPASS = "1 more publisher of /gate_filter/out (/test_node): those commands bypass the filter"


def test_commands_pass_under_a_lease_and_one_stop_holds_the_arm_at_its_end(
    ros_domain: int, tmp_path: Path
) -> None:
    words = ["-p", "views:=[top]", "-p", "command:=trajectory", "-p", "joints:=[base, elbow]"]
    spec = _filter_with([*words, "-p", "state_age_s:=5.0"], tmp_path / "settings.yaml")
    with RosGraph(ros_domain, tmp_path, [], extra=(spec,)) as graph:
        out = graph.subscribe(JointTrajectory, "/gate_filter/out", EVERY)
        reports = graph.subscribe(DiagnosticArray, "/diagnostics", EVENT)
        leases = graph.publisher(GateLease, "/gate/lease", STATE)
        states = graph.publisher(JointState, "/joint_states", EVENT)
        commands = graph.publisher(JointTrajectory, "/gate_filter/in", COMMAND)
        graph.node.create_timer(0.05, lambda: states.publish(JointState(name=[*JOINTS], position=[1.0, 2.0])))

        def command(sequence: float) -> JointTrajectory:
            point = JointTrajectoryPoint(positions=[sequence, sequence], time_from_start=Duration(sec=1))
            return JointTrajectory(joint_names=JOINTS, points=[point])

        def firsts() -> list[float]:
            return [message.points[0].positions[0] for message in out.messages]

        expires_ns = 0

        def now_ns() -> int:
            return int(graph.node.get_clock().now().nanoseconds)

        def lease(verdict: gate.Verdict) -> None:
            nonlocal expires_ns
            stamp_ns = now_ns()
            expires_ns = stamp_ns + LEASE_NS
            made = gate.GateLease(View.TOP, stamp_ns, verdict, verdict, expires_ns, "dark")
            leases.publish(lease_to_msg(made, gate.GateMode.ON))

        def stop_after_the_lease() -> JointTrajectory | None:
            """The last message, once no command can pass any more; one that was late ended a lease before."""
            last = out.messages[-1] if firsts()[-1:] == [1.0] else None
            return last if now_ns() > expires_ns else None

        graph.wait(lambda: firsts() == [1.0], "the stop of a filter that begins")
        controller = graph.subscribe(JointTrajectory, "/gate_filter/out", COMMAND)
        graph.wait(lambda: len(controller) > 0, "its stop once more, for one that listens later")
        graph.wait(lambda: firsts() == [1.0, 1.0], "the same stop")
        commands.publish(command(3.0))  # without a lease
        graph.wait(lambda: _dropped(reports), "the report of a dropped command")
        granting = graph.node.create_timer(0.1, lambda: lease(gate.Verdict.PASS))
        asking = graph.node.create_timer(0.05, lambda: commands.publish(command(4.0)))
        graph.wait(lambda: 4.0 in firsts(), "a command that passes")
        assert firsts()[: firsts().index(4.0)] == [1.0, 1.0], "nothing passed before the lease"
        out.messages.clear()

        granting.cancel()
        stop = graph.wait(stop_after_the_lease, "the stop at the end of the lease")
        asking.cancel()
        assert (stop.joint_names, list(stop.points[0].positions)) == (JOINTS, [1.0, 2.0])

        granting.reset()
        asking.reset()
        graph.wait(lambda: firsts()[-1] == 4.0, "a command after the new lease")
        granting.cancel()
        lease(gate.Verdict.REJECT)
        graph.wait(lambda: firsts()[-1] == 1.0, "the stop of the bad image")
        assert set(firsts()) == {1.0, 4.0}
        assert (1.0, 1.0) not in pairwise(firsts()), "one stop holds the arm"
        _bypassed(graph, reports)
    logs = "".join(log.read_text() for log in tmp_path.rglob("*.log"))
    assert BYPASS in logs
    assert "sets nothing for the node gate_filter by the section gate_node" in logs


def _dropped(reports: Inbox) -> bool:
    values = [value for one in reports.messages for status in one.status for value in status.values]
    return any(value.key == "dropped" and int(value.value) > 0 for value in values)


def _bypassed(graph: RosGraph, reports: Inbox) -> None:
    """Publish to the controller, too, and wait for the report of it."""

    def reported(words: str) -> bool:
        return any(words in status.message for one in reports.messages for status in one.status)

    assert not reported("more publisher")
    graph.publisher(JointTrajectory, "/gate_filter/out", COMMAND)
    graph.wait(lambda: reported(BYPASS), "the report of who else commands the controller")


def _filter_with(words: list[str], settings: Path) -> ProcessSpec:
    """Return the process of a filter, with a parameter file that is for the gate of a trial."""
    settings.write_text("gate_node: {ros__parameters: {use_sim_time: false}}\n")
    module = ["-m", "embodied_iqa.live.nodes.gate_filter_node", "--ros-args"]
    return ProcessSpec("filter", (sys.executable, *module, *words, "--params-file", str(settings)))
