"""A gripper behind an action: positions, results and what is not known; the test owns time and action."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from sensor_msgs.msg import JointState

from embodied_iqa.arm.robot.foreign.options import ActionGripperOptions, Ros2ControlOptions
from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.live.ros.action_gripper import ActionGripper, make_action_gripper
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters, GripperKind, RobotKind

MS = 1_000_000
OPTIONS = Ros2ControlOptions(
    gripper=ActionGripperOptions(joint="finger_joint", open=0.1, closed=0.7, max_effort=40.0)
)


class Promise:
    """A future that the test finishes."""

    def __init__(self) -> None:
        self.reacts: list[Any] = []

    def add_done_callback(self, react: Any) -> None:
        self.reacts.append(react)

    def finish(self, value: Any) -> None:
        for react in self.reacts:
            react(SimpleNamespace(result=lambda: value))


class Action:
    """A client of GripperCommand, whose package has no wheel: the fields are those of its definition."""

    def __init__(self) -> None:
        self.goals: list[tuple[Any, Promise]] = []
        self.is_served = True

    def server_is_ready(self) -> bool:
        return self.is_served

    def send_goal_async(self, goal: Any) -> Promise:
        self.goals.append((goal, Promise()))
        return self.goals[-1][1]

    def destroy(self) -> None:
        self.is_served = False


def goal() -> SimpleNamespace:
    return SimpleNamespace(command=SimpleNamespace())


class Bench:
    """The gripper in a node of the test's own."""

    def __init__(self) -> None:
        self.now_ns, self.action = 100 * MS, Action()
        self.gripper = ActionGripper(self, OPTIONS, self.action, goal)  # type: ignore[arg-type]

    def create_subscription(self, _kind: type, _topic: str, take: Any, **_qos: Any) -> None:
        self.take = take

    def get_clock(self) -> SimpleNamespace:
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.now_ns))

    def measure(self, position: float) -> None:
        self.take(JointState(name=["elbow_joint", "finger_joint"], position=[0.0, position]))

    def accept(self, number: int, *, reached: bool = False, stalled: bool = False) -> None:
        result = Promise()
        self.action.goals[number][1].finish(SimpleNamespace(accepted=True, get_result_async=lambda: result))
        result.finish(SimpleNamespace(result=SimpleNamespace(reached_goal=reached, stalled=stalled)))


@pytest.mark.parametrize(
    ("measured", "position"), [(0.1, 0.0), (0.7, 1.0), (0.4, 0.5), (0.0, 0.0), (0.9, 1.0)]
)
def test_the_joint_measures_the_opening(measured: float, position: float) -> None:
    bench = Bench()
    bench.measure(measured)
    assert bench.gripper.read().position == pytest.approx(position)


def test_a_gripper_that_is_not_measured_is_not_read() -> None:
    bench = Bench()
    with pytest.raises(InputError, match="not measured; expected finger_joint in joint states"):
        bench.gripper.read()
    bench.measure(0.4)
    bench.take(JointState(name=["elbow_joint"], position=[0.0]))
    bench.now_ns += 101 * MS
    with pytest.raises(InputError, match="not measured"):
        bench.gripper.read()


@pytest.mark.parametrize(("stalled", "held"), [(True, True), (False, False)])
def test_a_target_is_sent_and_its_result_says_whether_an_object_is_held(stalled: bool, held: bool) -> None:
    bench = Bench()
    bench.measure(0.4)
    bench.gripper.move(0.25)
    command = bench.action.goals[0][0].command
    assert (command.position, command.max_effort) == (pytest.approx(0.25), 40.0)
    assert bench.gripper.read().moving
    bench.accept(0, reached=not stalled, stalled=stalled)
    assert not bench.gripper.read().moving
    assert bench.gripper.read().object_held is held


def test_the_result_of_a_replaced_target_says_nothing() -> None:
    bench = Bench()
    bench.measure(0.4)
    bench.gripper.move(0.2)
    bench.gripper.move(0.8)
    bench.accept(0)
    assert bench.gripper.read().moving
    bench.accept(1, reached=True)
    assert not bench.gripper.read().moving


def test_a_refusal_and_a_failure_are_told_once() -> None:
    bench = Bench()
    bench.measure(0.4)
    bench.gripper.move(0.2)
    bench.action.goals[0][1].finish(SimpleNamespace(accepted=False))
    with pytest.raises(InputError, match="refused to move the gripper"):
        bench.gripper.read()
    assert bench.gripper.read().position == pytest.approx(0.5), "told once: it stops the arm"
    bench.gripper.wait_fresh(0.5)
    bench.gripper.move(0.2)
    bench.accept(1)
    with pytest.raises(InputError, match="did not move the gripper to its goal"):
        bench.gripper.read()
    bench.action.is_served = False
    with pytest.raises(InputError, match="nobody offers the gripper's action /gripper_controller"):
        bench.gripper.wait_fresh(0.5)
    with pytest.raises(UsageError, match="from 0 to 1"):
        bench.gripper.move(1.1)


def test_the_package_of_the_action_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "control_msgs", None)
    monkeypatch.delitem(sys.modules, "control_msgs.action", raising=False)
    with pytest.raises(MissingDependencyError, match=r"control_msgs.* ros-jazzy-control-msgs"):
        make_action_gripper(SimpleNamespace(), OPTIONS)  # type: ignore[arg-type]


def test_a_gripper_behind_an_action_is_described_and_beside_another_driver() -> None:
    def checked(driver: ArmDriver) -> None:
        ArmParameters(
            robot=RobotKind.UR5, model=ArmModel.UR5E, driver=driver, gripper=GripperKind.ACTION
        ).check_model()

    with pytest.raises(UsageError, match=r"expected arm_node\.driver ros2_control; got 'rtde'"):
        checked(ArmDriver.RTDE)
    with pytest.raises(UsageError, match="is not described; expected ros2_control"):
        checked(ArmDriver.ROS2_CONTROL)
