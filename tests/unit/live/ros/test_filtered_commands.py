"""Which command stops which kind of commands, and what does not pass because nothing could stop it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.nodes.gate_filter_node import GateFilterNode
from embodied_iqa.live.ros.conversion import header_of, lease_to_msg
from embodied_iqa.live.ros.filtered_commands import Stops
from embodied_iqa.live.ros.node import BaseNode
from embodied_iqa.live.ros.qos import COMMAND
from embodied_iqa.runs.graph.gate_filter_parameters import GateFilterParameters

S = 1_000_000_000
ELBOW_FIRST = JointState(name=["elbow", "other", "base"], position=[2.0, 9.0, 1.0])


def at(time_ns: int, ros_ns: int | None = None) -> Moment:
    return Moment(time_ns if ros_ns is None else ros_ns, time_ns)


def stops(command: str, joints: tuple[str, ...] = ("base", "elbow"), **more: str) -> Stops:
    values = {"views": ["top"], "command": command, "joints": list(joints), **more}
    config = build(GateFilterParameters, values, "test")
    config.check()
    return Stops(config)


def test_a_twist_stops_with_zeros_in_its_frame() -> None:
    made = stops("twist", (), frame_id="base")
    assert made.command(S) == TwistStamped(header=header_of(S, "base"))
    command = TwistStamped(header=header_of(5, "tool0"))
    command.twist.linear.x = 0.2
    assert made.why_unfit(command) == ""
    made.passed(command)
    assert made.command(7 * S) == TwistStamped(header=header_of(7 * S, "tool0"))


def test_velocities_stop_with_zeros() -> None:
    made = stops("velocities")
    assert made.why_unfit(Float64MultiArray(data=[0.1, 0.2])) == ""
    assert made.why_unfit(Float64MultiArray(data=[0.1])) == "a command has 1 numbers for 2 joints"
    assert list(made.command(0).data) == [0.0, 0.0]


def test_positions_stop_at_the_newest_state_in_the_order_of_the_joints() -> None:
    made, command = stops("positions"), Float64MultiArray(data=[0.1, 0.2])
    assert made.why_unfit(command) == ""
    assert made.why_lost(0) == "no state of all joints yet, at which a stop could hold them"
    made.take_joints(JointState(name=["base", "wrist"], position=[7.0, 8.0]), at(2 * S))
    assert made.why_lost(0).endswith("hold them; the newest lacks elbow")
    made.take_joints(ELBOW_FIRST, at(3 * S))
    made.take_joints(JointState(name=["base"], position=[7.0]), at(4 * S))
    made.take_joints(JointState(name=["base", "elbow"], position=[7.0, math.nan]), at(4 * S))
    made.take_joints(JointState(name=["base", "elbow"], position=[7.0]), at(4 * S))
    assert made.why_lost(3 * S + S // 10) == ""
    assert made.why_lost(3 * S + S // 5) == "the newest joint state is 0.20 s old"
    assert list(made.command(0).data) == [1.0, 2.0]


def test_a_trajectory_stops_at_one_point() -> None:
    made = stops("trajectory")
    made.take_joints(ELBOW_FIRST, at(0))
    points = [JointTrajectoryPoint(positions=[0.1, 0.2])]
    assert made.why_unfit(JointTrajectory(joint_names=["elbow", "base"], points=points)) == ""
    said = made.why_unfit(JointTrajectory(joint_names=["base"]))
    assert said == "a command is for the joints base, not for base, elbow"
    found = made.command(0)
    assert found.joint_names == ["base", "elbow"]
    (point,) = found.points
    assert list(point.positions) == [1.0, 2.0]
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, S // 10)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([], "a command has no points"),
        ([{}], "a point of a command has no positions or velocities of 2 joints"),
        ([{"positions": [0.1]}], "a point of a command has no positions or velocities of 2 joints"),
        ([{"accelerations": [0.1, 0.1]}], "a point of a command has no positions or velocities of 2 joints"),
        ([{"positions": [0.1, 0.2]}, {"positions": [0.1, math.nan]}], "not finite"),
        ([{"velocities": [0.1, -math.inf]}], "not finite"),
        ([{"positions": [0.1, 0.2], "effort": [math.nan, 0.0]}], "not finite"),
    ],
)
def test_empty_and_damaged_trajectories_do_not_pass(points: list[dict[str, list[float]]], said: str) -> None:
    made = stops("trajectory")
    made.take_joints(ELBOW_FIRST, at(0))
    made_of = [JointTrajectoryPoint(**point) for point in points]
    assert said in made.why_unfit(JointTrajectory(joint_names=["base", "elbow"], points=made_of))


def test_a_joint_that_is_named_twice_is_another_joint() -> None:
    made = stops("trajectory")
    made.take_joints(ELBOW_FIRST, at(0))
    point = JointTrajectoryPoint(positions=[0.1, 0.2, 0.3])
    twice = JointTrajectory(joint_names=["base", "base", "elbow"], points=[point])
    assert "not for base, elbow" in made.why_unfit(twice)


def test_numbers_that_are_not_finite_do_not_pass() -> None:
    command = TwistStamped()
    command.twist.angular.z = math.nan
    assert "not finite" in stops("twist", ()).why_unfit(command)
    assert "not finite" in stops("velocities").why_unfit(Float64MultiArray(data=[0.1, math.inf]))
    assert "0 numbers" in stops("velocities").why_unfit(Float64MultiArray())


POLICY, CONTROLLER = "/policy/commands", "/arm/commands"
NUMBERS = "std_msgs/msg/Float64MultiArray"


class Arm:
    """The node without a graph: its clocks, its callbacks, and what it sends."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, policy: str = POLICY, command: str = "positions"
    ) -> None:
        self.now_ns, self.sent, self.listeners = 0, list[Float64MultiArray](), 1
        self.said, self.offered = list[str](), COMMAND
        self.publishers: dict[str, list[tuple[str, str, str]]] = {
            "gate/lease": [("gate", "/", "embodied_iqa_msgs/msg/GateLease")],
            POLICY: [("policy", "/", NUMBERS)],
            CONTROLLER: [("gate_filter", "/cell1", NUMBERS)],
        }
        values = {"views": ["top"], "command": command, "joints": ["base"]}
        clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.now_ns))
        quiet = SimpleNamespace(info=lambda line, **_named: self.said.append(line), warning=self.said.append)
        for name, made in {
            "__init__": lambda node, _name, kind: setattr(node, "config", build(kind, values, "test")),
            "create_publisher": lambda _self, *_words: SimpleNamespace(
                publish=self.sent.append,
                get_subscription_count=lambda: self.listeners,
                topic_name=CONTROLLER,
            ),
            "create_subscription": lambda _self, _kind, name, *_words, **_qos: SimpleNamespace(
                topic_name=name.replace("~/in", policy)
            ),
            "resolve_topic_name": lambda _self, name: name,
            "get_subscriptions_info_by_topic": lambda _self, _topic: [
                SimpleNamespace(node_name="gate_filter", node_namespace="/cell1", qos_profile=COMMAND)
            ],
            "get_publishers_info_by_topic": lambda _self, topic: [
                SimpleNamespace(
                    node_name=node, node_namespace=space, topic_type=kind, qos_profile=self.offered
                )
                for node, space, kind in self.publishers[topic]
            ],
            "count_publishers": lambda _self, topic: len(self.publishers[topic]),
            "get_name": lambda _self: "gate_filter",
            "get_namespace": lambda _self: "/cell1",
            "create_timer": lambda _self, *_words, **_named: None,
            "get_clock": lambda _self: clock,
            "get_logger": lambda _self: quiet,
        }.items():
            monkeypatch.setattr(BaseNode, name, made, raising=False)
        monkeypatch.setattr("time.monotonic_ns", lambda: self.now_ns)
        self.node = GateFilterNode()

    def lease(self) -> None:
        made = GateLease(View.TOP, self.now_ns, Verdict.PASS, Verdict.PASS, self.now_ns + S)
        self.node._take_lease(lease_to_msg(made, GateMode.ON))

    def joint(self, position: float, stamp_ns: int = 0) -> None:
        header = header_of(stamp_ns, "")
        self.node._take_joints(JointState(header=header, name=["base"], position=[position]))

    def command(self, *numbers: float) -> None:
        self.node._take_command(Float64MultiArray(data=list(numbers)))

    def released(self) -> None:
        self.lease()
        self.joint(1.0)
        self.node._watch()
        assert self.targets() == [1.0], "a filter begins with a stop"
        self.sent.clear()
        self.node._take_command(Float64MultiArray(data=[5.0]))
        assert self.targets() == [5.0]

    def targets(self) -> list[float]:
        return [message.data[0] for message in self.sent]


def test_a_filter_that_begins_stops_what_a_killed_one_left_in_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also under a fresh lease; before somebody hears the stop, no command passes."""
    arm = Arm(monkeypatch)
    arm.listeners = 0
    arm.lease()
    arm.node._watch()
    arm.joint(3.0)
    arm.node._watch()
    arm.node._take_command(Float64MultiArray(data=[5.0]))
    assert arm.targets() == []
    assert "nobody listens" in arm.node._reason
    arm.listeners = 1
    arm.node._take_command(Float64MultiArray(data=[6.0]))
    assert arm.targets() == [3.0, 6.0]
    arm.node._watch()
    assert arm.targets() == [3.0, 6.0]


def test_a_controller_that_comes_after_a_recorder_has_left_gets_its_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = Arm(monkeypatch)
    arm.joint(3.0)
    arm.lease()
    for listeners in (1, 0):
        arm.listeners = listeners
        arm.node._watch()
    arm.node._take_command(Float64MultiArray(data=[5.0]))
    assert arm.targets() == [3.0]
    assert "nobody listens" in arm.node._reason
    arm.listeners = 1
    arm.node._watch()
    arm.node._watch()
    assert arm.targets() == [3.0, 3.0]


def test_commands_of_another_type_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    (begin,) = arm.said
    route = f"{POLICY} -> {CONTROLLER}, {NUMBERS}"
    assert begin == f"{route}, under leases on gate/lease of top"
    assert "another type" not in arm.node.health().message
    arm.publishers[POLICY].append(("other", "/", "std_msgs/msg/String"))
    wrong = f"another type on {POLICY}: std_msgs/msg/String, expected {NUMBERS}"
    assert arm.node.health().message.startswith(f"{wrong}; commands are held: no lease")
    arm.node.health()
    assert arm.said == [begin, wrong], "once"
    arm.released()
    assert arm.node.health().message == f"{wrong}; commands pass"
    assert arm.node.health().level == DiagnosticStatus.WARN
    del arm.publishers[POLICY][0]
    assert arm.node.health().message == f"commands are held: {wrong}"


def test_a_policy_of_another_quality_of_service_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    arm.offered = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    said = arm.node.health().message
    assert said.startswith(f"commands are held: 1 publisher of {POLICY} (/policy), never heard: ")
    assert "offers reliability best_effort, asked for is reliable" in said


def test_a_second_policy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    arm.publishers[POLICY].append(("old", "/", NUMBERS))
    wrong = f"2 publishers of {POLICY} (/old, /policy): expected one policy, the commands of all pass"
    assert (arm.node.health().level, arm.node.health().message) == (
        DiagnosticStatus.WARN,
        f"{wrong}; commands pass",
    )
    assert arm.said.count(wrong) == 1


def test_a_second_gate_stops_the_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would permit what the first one holds."""
    arm = Arm(monkeypatch)
    arm.released()
    arm.publishers["gate/lease"] *= 2
    arm.node._look()
    arm.node._watch()
    arm.command(6.0)
    assert arm.targets() == [5.0, 1.0]
    assert "2 publishers of gate/lease: expected one gate" in arm.node.health().message
    del arm.publishers["gate/lease"][1:]
    arm.node._look()
    arm.command(7.0)
    assert arm.targets() == [5.0, 1.0, 7.0]


@pytest.mark.parametrize("unfit", [(math.nan,), (), (1.0, 2.0)])
def test_an_unfit_command_stops_what_the_commands_before_it_set_in_motion(
    monkeypatch: pytest.MonkeyPatch, unfit: tuple[float, ...]
) -> None:
    arm = Arm(monkeypatch, command="velocities")
    arm.lease()
    arm.node._watch()
    for numbers in ((0.3,), unfit, unfit):
        arm.command(*numbers)
    assert arm.targets() == [0.0, 0.3, 0.0], "begins, moves, stops once"
    arm.command(0.2)
    assert arm.targets()[-1] == 0.2


@pytest.mark.parametrize(("command", "stopped"), [("velocities", [0.0]), ("positions", [])])
def test_a_policy_that_falls_silent_is_stopped_where_its_last_command_would_go_on(
    monkeypatch: pytest.MonkeyPatch, command: str, stopped: list[float]
) -> None:
    arm = Arm(monkeypatch, command=command)
    arm.joint(1.0)
    arm.lease()
    arm.command(0.3)
    arm.sent.clear()
    for _look in range(12):
        arm.now_ns += S // 20
        arm.joint(1.0)
        arm.lease()
        arm.node._watch()
        assert arm.targets() == (stopped if arm.now_ns > S // 2 else [])
    assert arm.said[-1].startswith("stop: no command for 0.55 s") == bool(stopped)


@pytest.mark.parametrize(("old_ns", "words"), [(5 * S, "5.00 s ago"), (-S, "1.00 s ahead")])
def test_states_of_another_time_by_their_stamp_hold_no_arm(
    monkeypatch: pytest.MonkeyPatch, old_ns: int, words: str
) -> None:
    """The stop goes to the last state of now, also where those that come are old from one on."""
    arm = Arm(monkeypatch)
    arm.now_ns = 20 * S
    arm.released()
    for _state in range(3):
        arm.now_ns += S // 20
        arm.joint(9.0, arm.now_ns - old_ns)
        arm.node._watch()
    arm.command(6.0)
    assert arm.targets() == [5.0, 1.0]
    assert f"joint state is 0.15 s old; those that come are stamped {words}" in arm.node.health().message
    arm.joint(3.0, arm.now_ns - S // 20)
    arm.command(7.0)
    assert arm.targets()[-1] == 7.0


def test_an_arm_that_stops_and_goes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch, command="velocities")
    arm.lease()
    arm.node._watch()
    for _time in range(2):
        arm.lease()
        arm.command(0.1)
        arm.now_ns += 2 * S
        arm.node._watch()
    message = arm.node.health().message
    assert message.startswith(
        "3 stops in the last 10 s, the newest because the lease of the top view ran out"
    )
    arm.now_ns += 10 * S
    assert "stops in" not in arm.node.health().message


def test_a_hold_is_logged_once_though_its_age_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    for _command in range(5):
        arm.now_ns += 2 * S
        arm.joint(1.0)
        arm.command(6.0)
    assert len([line for line in arm.said if "ran out" in line]) == 1


def test_one_topic_on_both_sides_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter would hear itself, and the controller every command of the policy, also during a hold."""
    with pytest.raises(UsageError, match=rf"~/in and ~/out are one topic; expected .*; got '{CONTROLLER}'"):
        Arm(monkeypatch, policy=CONTROLLER)


def test_commands_that_bypass_the_filter_are_named_also_while_others_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    assert (arm.node.health().level, arm.node.health().message) == (DiagnosticStatus.OK, "commands pass")
    arm.publishers[CONTROLLER] += [("policy", "/", NUMBERS), ("gate_filter", "/cell1", NUMBERS)]
    wrong = (
        f"2 more publishers of {CONTROLLER} (/cell1/gate_filter, /policy): "
        "those commands bypass the filter, and no lease holds them"
    )
    for _look in range(2):
        health = arm.node.health()
        assert (health.level, health.message) == (DiagnosticStatus.WARN, f"{wrong}; commands pass")
    assert arm.said.count(wrong) == 1
    del arm.publishers[CONTROLLER][1:]
    assert arm.node.health().message == "commands pass"


def test_a_topic_without_a_policy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.publishers[POLICY].clear()
    wrong = f"nobody publishes {POLICY}, where commands are expected"
    assert arm.node.health().message.startswith(f"{wrong}; commands are held: no lease of the top view")
    assert arm.node.health().level == DiagnosticStatus.WARN
    assert arm.said.count(wrong) == 1


def test_what_was_wrong_at_a_stop_is_not_reported_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy is silent: what would become of its next command counts."""
    arm = Arm(monkeypatch)
    arm.lease()
    arm.joint(1.0)
    arm.node._watch()
    assert arm.node.health().message == "the next command passes; none has yet"
    arm.node._take_command(Float64MultiArray(data=[5.0]))
    arm.now_ns += 2 * S
    arm.joint(1.0)
    arm.node._watch()
    assert "ran out" in arm.node.health().message
    arm.lease()
    assert arm.node.health().message == "the next command passes; none has since the stop"
    arm.node._take_command(Float64MultiArray(data=[math.nan]))
    held = "commands are held: a command holds a number that is not finite"
    assert arm.node.health().message == held
    arm.now_ns += S // 5
    assert "joint state is 0.20 s old" in arm.node.health().message
    arm.node._take_command(Float64MultiArray(data=[5.0]))
    arm.joint(1.0)
    assert arm.node.health().message == "the next command passes; none has since the stop"
    assert arm.node.health().level == DiagnosticStatus.OK


def test_an_arm_whose_states_cease_stops_at_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    arm.now_ns = S // 10
    arm.node._watch()
    assert arm.targets() == [5.0]
    arm.now_ns += S // 100  # under the lease, and later no stop could hold the arm where it is
    arm.node._watch()
    arm.now_ns = 2 * S
    arm.node._watch()
    arm.node.end()
    assert arm.targets() == [5.0, 1.0]


def test_a_filter_that_stood_still_sends_no_arm_back_to_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm(monkeypatch)
    arm.released()
    arm.now_ns = 3 * S
    arm.node._watch()
    arm.node._take_command(Float64MultiArray(data=[6.0]))
    assert arm.targets() == [5.0]
    arm.joint(4.0)
    arm.node._watch()
    arm.node._watch()
    assert arm.targets() == [5.0, 4.0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "no camera whose leases count; expected views"),
        ({"views": ["top"], "command": "positions"}, "command positions without joints"),
        ({"views": ["top", "wrist", "top"]}, "views names one twice; expected each once; got 'top'"),
        ({"views": ["top"], "joints": ["base", "base"]}, "joints names one twice"),
    ],
)
def test_missing_parameters_are_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build(GateFilterParameters, values, "test").check()
