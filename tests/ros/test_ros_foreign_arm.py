"""An arm behind another driver: what makes it unavailable, and what it publishes; the test owns the time."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from embodied_iqa.arm.robot.foreign.options import ActionGripperOptions, CommandKind, Ros2ControlOptions
from embodied_iqa.arm.robot.messages import ArmState, StopCause
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.live.ros.action_gripper import ActionGripper
from embodied_iqa.live.ros.controller_watch import ControllerWatch
from embodied_iqa.live.ros.conversion import header_of, pose_of
from embodied_iqa.live.ros.ros2_control_arm import Ros2ControlArm

MS = 1_000_000
HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
TOOL = tool_along_z(0.2)
STOP = "/dashboard_client/stop"


class Endpoint:
    """A publisher or a client, as the arm sees it."""

    def __init__(self, name: str) -> None:
        self.name, self.sent = name, list[Any]()
        self.listeners, self.answers = 1, Trigger.Response(success=True)

    def publish(self, message: Any) -> None:
        self.sent.append(message)

    def get_subscription_count(self) -> int:
        return self.listeners

    def service_is_ready(self) -> bool:
        return self.listeners > 0

    def call_async(self, request: Any) -> SimpleNamespace:
        self.sent.append(request)
        done = SimpleNamespace(result=lambda: self.answers)
        return SimpleNamespace(add_done_callback=lambda react: react(done))


class Cell:
    """The node of the arm and the driver that it hears, 10 ms a step."""

    def __init__(self, gripper: Any = None, **options: Any) -> None:
        self.now_ns, self.qd_radps = 100_000 * MS, 0.0
        self.lines: list[str] = []
        self.publishers = 1
        self.states: list[ArmState] = []
        self.lost: list[str] = []
        self._takers: dict[str, Callable[[Any], None]] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self.options = Ros2ControlOptions(**options)
        self.model = ArmModel.UR5E
        self.arm = Ros2ControlArm(
            self,  # type: ignore[arg-type]
            self.options,
            ArmModel.UR5E,
            TOOL,
            braking_radps2=4.0,
            on_state=self.states.append,
            on_silence=self._note_silence,
            gripper=gripper,
        )
        self.targets, self.stopper = self._endpoints[self.options.topic], self._endpoints.get(STOP)

    def _note_silence(self, lost: str) -> None:
        if lost:
            self.lost.append(lost)

    # --- the node -------------------------------------------------------------------------------------------

    def create_publisher(self, _kind: type, topic: str, _qos: Any) -> Endpoint:
        return self._endpoints.setdefault(topic, Endpoint(topic))

    def count_publishers(self, topic: str) -> int:
        assert topic == self.options.joint_states
        return self.publishers

    def create_client(self, _kind: type, name: str) -> Endpoint:
        return self._endpoints.setdefault(name, Endpoint(name))

    def create_subscription(self, _kind: type, topic: str, take: Callable[[Any], None], **_qos: Any) -> None:
        self._takers[topic] = take

    def create_timer(self, _seconds: float, look: Callable[[], None], **_clock: Any) -> None:
        self.look = look

    def get_clock(self) -> SimpleNamespace:
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.now_ns))

    def get_logger(self) -> SimpleNamespace:
        def note(line: str, **_how: Any) -> None:
            self.lines.append(line)

        return SimpleNamespace(error=note, info=note, warning=note)

    # --- the other driver -----------------------------------------------------------------------------------

    def send(self, topic: str, message: Any) -> None:
        self._takers[topic](message)

    def run_program(self, *, runs: bool = True) -> None:
        self.send(self.options.program_topic, Bool(data=runs))

    def send_pose(self) -> None:
        T = flange_pose(self.model.geometry, HOME) @ TOOL
        message = PoseStamped(
            header=header_of(self.now_ns, f"{self.options.joint_prefix}base"), pose=pose_of(T)
        )
        self.send(self.options.pose_topic, message)

    def step(self, *, names: list[str] | None = None, age_ms: int = 1) -> None:
        self.now_ns += 10 * MS
        names = list(self.options.joints) if names is None else names
        message = JointState(
            header=header_of(self.now_ns - age_ms * MS), name=names, velocity=[self.qd_radps] * len(names)
        )
        message.position = HOME[: len(names)].tolist()
        self.send(self.options.joint_states, message)

    def ready(self) -> Cell:
        if self.options.program_topic:
            self.run_program()
        self.send_pose()
        self.step()
        assert self.arm.problem == ""
        return self

    def armed(self) -> Cell:
        self.ready()
        self.arm.rearm("test")
        return self

    def move(self, *targets: np.ndarray) -> None:
        for target in targets:
            self.step()
            self.arm.stream(target)
            self.arm.answer()


def test_an_arm_is_available_once_all_is_known() -> None:
    cell = Cell()
    assert cell.arm.problem == "no joint states yet"
    cell.step()
    assert "program is not known to run (/io_and_status_controller" in cell.arm.problem
    cell.run_program(runs=False)
    cell.step()
    assert "program does not run" in cell.arm.problem
    cell.run_program()
    cell.step()
    assert "the model is not checked: no pose of the tool at rest on /tcp_pose" in cell.arm.problem
    assert "pose_required" in cell.arm.problem
    assert cell.arm.read() is None
    with pytest.raises(InputError, match="the model is not checked"):
        cell.arm.rearm("too early")
    assert not cell.states
    cell.send_pose()
    cell.step()
    assert cell.arm.problem == ""
    assert cell.arm.read() is cell.states[-1]


def test_another_model_is_refused_although_a_pose_is_not_required() -> None:
    cell = Cell(pose_required=False)
    cell.run_program()
    cell.step()
    assert cell.arm.problem == "", "somebody has checked the model"
    cell.model = ArmModel.UR5
    cell.send_pose()
    cell.step()
    assert "not where the kinematics of a UR5e" in cell.arm.problem


def test_no_controller_and_no_stop_service_are_one_line_each() -> None:
    cell = Cell().ready()
    cell.stopper.listeners = 0
    with pytest.raises(InputError, match="nobody offers /dashboard_client/stop"):
        cell.arm.rearm("test")
    cell.targets.listeners = 0
    cell.step()
    topic = "/scaled_joint_trajectory_controller/joint_trajectory"
    assert cell.arm.problem == f"no controller listens to {topic}: load it and activate it"


def test_a_driver_without_program_and_services_is_commanded_too() -> None:
    cell = Cell(program_topic="", stop_service="").armed()
    cell.move(HOME)
    cell.arm.stop("test")
    assert len(cell.targets.sent) == 2


@pytest.mark.parametrize("fault", ["silence", "old", "names", "controller", "inactive", "clock", "second"])
def test_what_is_lost_stops_an_armed_arm(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell().armed()
    cell.move(HOME, HOME + 0.001)
    states = len(cell.states)
    if fault == "silence":
        cell.now_ns += 110 * MS
        cell.look()
    elif fault == "clock":  # as far back as the run is long: states and leases would seem to be of the future
        cell.now_ns -= 10_000 * MS
        cell.step()
        cell.look()
    elif fault == "old":
        cell.step(age_ms=101)
    elif fault == "second":
        cell.publishers = 2
        cell.step()
        assert "2 publishers of /joint_states: expected one" in cell.arm.problem
    elif fault == "inactive":
        monkeypatch.setattr(ControllerWatch, "problem", "the controller is inactive")
        cell.step()
        assert cell.arm.problem == "the controller is inactive"
    elif fault == "names":
        cell.step(names=["elbow_joint"])
    else:
        cell.targets.listeners = 0
        cell.step()
    assert len(cell.states) == states, "no target answers it"
    assert cell.lost[-1] == cell.arm.problem != ""
    assert len(cell.stopper.sent) == 1, "the node does not react here, so the arm stops itself"
    assert not any(cell.targets.sent[-1].points[-1].velocities)
    sent = len(cell.targets.sent)
    cell.move(HOME)
    assert len(cell.targets.sent) == sent, "disarmed"


def test_an_arm_that_moves_is_not_armed() -> None:
    cell = Cell().ready()
    cell.qd_radps = -0.06
    cell.step()
    with pytest.raises(InputError, match=r"the arm moves: .*at most 0.05 rad/s; got '0.06 rad/s'"):
        cell.arm.rearm("while a planner moves it")
    cell.move(HOME)
    assert not cell.targets.sent
    cell.qd_radps = 0.04
    cell.step()
    cell.arm.rearm("test")
    cell.move(HOME)
    assert cell.targets.sent


def test_a_gripper_that_failed_stops_the_arm_until_it_is_armed_again() -> None:
    goals: list[Any] = []

    def send(_goal: Any) -> SimpleNamespace:
        refused = SimpleNamespace(result=lambda: SimpleNamespace(accepted=False))
        return SimpleNamespace(add_done_callback=lambda react: goals.append(lambda: react(refused)))

    client = SimpleNamespace(send_goal_async=send, server_is_ready=lambda: True)
    options = Ros2ControlOptions(gripper=ActionGripperOptions(joint="wrist_3_joint", closed=0.7))
    node = SimpleNamespace(create_subscription=lambda _kind, _topic, take, **_qos: takers.append(take))
    takers: list[Callable[[JointState], None]] = []
    gripper = ActionGripper(node, options, client, lambda: SimpleNamespace(command=SimpleNamespace()))  # type: ignore[arg-type]
    cell = Cell(gripper=gripper)
    node.get_clock = cell.get_clock

    def step() -> None:
        takers[0](JointState(name=["wrist_3_joint"], position=[0.0]))
        cell.step()

    takers[0](JointState(name=["wrist_3_joint"], position=[0.0]))
    cell.armed()
    gripper.move(0.5)
    goals[-1]()
    step()
    assert "refused to move the gripper" in cell.arm.problem
    assert len(cell.stopper.sent) == 1
    step()
    assert cell.arm.problem == "", "a failure that stays would keep the arm from being armed ever again"
    cell.arm.rearm("test")
    step()
    assert cell.arm.problem == ""


def test_an_ended_program_is_a_fault_of_its_own() -> None:
    cell = Cell().armed()
    cell.run_program(runs=False)
    cell.step()
    fault = cell.states[-1].fault
    assert fault is not None
    assert fault.cause is StopCause.PROGRAM_ENDED
    assert "program does not run" in cell.arm.problem


def test_trajectories_name_their_joints_and_brake() -> None:
    cell = Cell(joint_prefix="left_").armed()
    cell.move(HOME, HOME + 0.01)
    message = cell.targets.sent[-1]
    assert isinstance(message, JointTrajectory)
    assert list(message.joint_names) == list(cell.options.joints)
    target, end = message.points
    assert np.allclose(target.positions, HOME + 0.01)
    assert np.allclose(target.velocities, 1.0)
    assert (target.time_from_start.sec, target.time_from_start.nanosec) == (0, 30 * MS)
    assert end.time_from_start.nanosec == 280 * MS
    assert not any(end.velocities)


def test_a_stop_replaces_the_trajectory_by_its_braking_end() -> None:
    cell = Cell().armed()
    cell.move(HOME, HOME + 0.01)
    end = cell.targets.sent[-1].points[-1]
    cell.now_ns += 40 * MS
    cell.arm.stop("a fault")
    (point,) = cell.targets.sent[-1].points
    assert np.allclose(point.positions, end.positions)
    assert point.time_from_start.nanosec == 240 * MS
    assert len(cell.stopper.sent) == 1
    assert any("a fault" in line for line in cell.lines)


def test_a_position_controller_gets_targets_and_holds_the_last() -> None:
    cell = Cell(command=CommandKind.POSITION).armed()
    cell.move(HOME, HOME + 0.01)
    assert cell.options.topic == "/forward_position_controller/commands"
    assert [type(message) for message in cell.targets.sent] == [Float64MultiArray] * 2
    assert np.allclose(cell.targets.sent[-1].data, HOME + 0.01)
    cell.arm.stop("a fault")
    assert len(cell.targets.sent) == 2
    assert len(cell.stopper.sent) == 1


def test_a_program_that_cannot_be_stopped_is_reported() -> None:
    cell = Cell().armed()
    cell.stopper.answers = Trigger.Response(success=False, message="not in remote control")
    cell.arm.stop("a fault")
    assert cell.lines[-1] == "/dashboard_client/stop failed: not in remote control"
