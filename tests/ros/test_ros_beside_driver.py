"""arm_node beside another driver over real DDS: chunks to their end, a hold, a driver that falls silent."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from embodied_iqa.arm.robot.foreign.options import Ros2ControlOptions
from embodied_iqa.arm.verdict import GateLease as Lease
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import chunk_to_msg, header_of, lease_to_msg, ns_of, pose_of
from embodied_iqa.live.ros.qos import EVENT, LATCHED, SENSOR, STATE
from embodied_iqa.world.protocols import ActionChunk as Chunk
from embodied_iqa.world.protocols import ChunkStatus
from real_arm import WORKSPACE
from ros_graph import RosGraph

MS = 1_000_000
HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
TOOL = tool_along_z(0.2)
OPTIONS = Ros2ControlOptions(joint_prefix="ur_")
NAMES = ["finger_joint", *reversed(OPTIONS.joints)]
_ATTEMPTS = 10
TO_AND_FRO_M = [0.1, -0.1] * 4
"""Steps of a chunk that goes on for 16 s: no busy machine sees its end first."""
_NO_VELOCITY = 1e-9
"""Below it (rad/s) a joint stands still."""
PARAMETERS = {
    "arm_node.robot": "ur5",
    "arm_node.model": "ur5e",
    **WORKSPACE,
    "arm_node.driver": "ros2_control",
    "arm_node.gripper": "none",
    "arm_node.ros2_control.joint_prefix": "ur_",
    # a machine that runs other tests at the same time is slower
    "arm_node.ros2_control.state_age_s": 0.5,
    "arm_node.controller.state_timeout_ns": 5_000_000_000,
    "arm_node.controller.lease.wait_s": 1.5,
    "arm_node.limits.tool_speed_mps": 0.05,
    "camera_node.source": "topic",
    "camera_node.views": ["top"],
    "vla_node.subject": "classical-vla",
}


class Controller:
    """A driver as ur_robot_driver is: joint states at 100 Hz, and a controller that follows trajectories."""

    def __init__(self, graph: RosGraph) -> None:
        self._clock = graph.node.get_clock()
        self._lock = threading.Lock()
        self.q, self.start = HOME.copy(), (0, HOME.copy(), np.zeros(6))
        self.points: list[Any] = []
        self.qd = np.zeros(6)
        self.silent, self.stops, self.ends_at_rest = False, 0, list[bool]()
        node = graph.node
        self._joints = node.create_publisher(JointState, OPTIONS.joint_states, SENSOR)
        self._pose = node.create_publisher(PoseStamped, OPTIONS.pose_topic, SENSOR)
        node.create_publisher(Bool, OPTIONS.program_topic, LATCHED).publish(Bool(data=True))
        node.create_subscription(JointTrajectory, OPTIONS.topic, self._take, STATE)
        node.create_service(Trigger, OPTIONS.stop_service, self._stop)
        node.create_timer(0.01, self._tick)

    def now_ns(self) -> int:
        return int(self._clock.now().nanoseconds)

    def _take(self, message: JointTrajectory) -> None:
        assert list(message.joint_names) == list(OPTIONS.joints)
        with self._lock:
            self.start, self.points = (self.now_ns(), self.q.copy(), self.qd.copy()), list(message.points)
            self.ends_at_rest.append(not any(message.points[-1].velocities))

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.stops += 1
        response.success = True
        return response

    def _tick(self) -> None:
        now_ns = self.now_ns()
        with self._lock:
            self._follow(now_ns)
            # Each command to stand still, 30 ms ahead, finds a third less of it: no motor has so little.
            self.qd[np.abs(self.qd) < _NO_VELOCITY] = 0.0
        if self.silent:
            return
        stamp = header_of(now_ns, "ur_base")
        positions, velocities = [0.4, *self.q[::-1].tolist()], [0.0, *self.qd[::-1].tolist()]
        self._joints.publish(JointState(header=stamp, name=NAMES, position=positions, velocity=velocities))
        T = flange_pose(ArmModel.UR5E.geometry, self.q) @ TOOL
        self._pose.publish(PoseStamped(header=stamp, pose=pose_of(T)))

    def _follow(self, now_ns: int) -> None:
        """Go along the cubic spline through the points, as joint_trajectory_controller does."""
        started_ns, q0, v0 = self.start
        after_s, from_s = (now_ns - started_ns) / 1e9, 0.0
        for point in self.points:
            to_s = point.time_from_start.sec + point.time_from_start.nanosec / 1e9
            q1, v1, span_s = np.array(point.positions), np.array(point.velocities), to_s - from_s
            if after_s < to_s:
                u = (after_s - from_s) / span_s
                self.q = (
                    (1 + 2 * u) * (1 - u) ** 2 * q0
                    + u * (1 - u) ** 2 * span_s * v0
                    + u * u * (3 - 2 * u) * q1
                    + u * u * (u - 1) * span_s * v1
                )
                self.qd = v0 + (v1 - v0) * u
                return
            q0, v0, from_s = q1, v1, to_s
        self.q, self.qd = q0, v0


class Gate:
    """Grants a lease for a frame of its own every 50 ms while it is open: 32 are kept, for 1.6 s."""

    def __init__(self, graph: RosGraph) -> None:
        self._clock = graph.node.get_clock()
        self.is_open, self.last, self.granted = True, GateLease(), 0
        self._publisher = graph.publisher(GateLease, "/gate/lease", STATE)
        graph.node.create_timer(0.05, self._grant)

    def _grant(self) -> None:
        now_ns = int(self._clock.now().nanoseconds)
        verdict = Verdict.PASS if self.is_open else Verdict.HOLD
        lease = Lease(View("top"), now_ns, verdict, verdict, now_ns + 900 * MS, "")
        self.last = lease_to_msg(lease, GateMode.ON)
        self._publisher.publish(self.last)
        self.granted += 1


class Cell:
    """arm_node beside the driver, and what commands it."""

    def __init__(self, graph: RosGraph) -> None:
        self._graph = graph
        self.statuses = graph.subscribe(ArmStatus, "/arm/status", EVENT)
        graph.activate("arm_node")
        self.controller, self.gate = Controller(graph), Gate(graph)
        self._chunks = graph.publisher(ActionChunk, "/vla/actions", EVENT)
        self._sequence = 0

    def arm(self) -> None:
        graph = self._graph
        graph.wait(lambda: graph.call(RearmArm, "/arm/rearm", reason="test").success, "an armed arm")
        armed_ns, statuses = self.controller.now_ns(), self.statuses
        graph.wait(
            lambda: statuses.last is not None and ns_of(statuses.last.header.stamp) >= armed_ns,
            "a status of the armed arm: one before would show it stopped",
        )

    def rearm_refusal(self) -> str:
        """Rearm; return why that is refused, or nothing."""
        answer = self._graph.call(RearmArm, "/arm/rearm", reason="test")
        return "" if answer.success else answer.message

    def send(self, *steps_m: float) -> None:
        """Send a chunk of steps down, decided on a frame of now, since the last one has ended."""
        self._sequence += 1
        granted = self.gate.granted
        self._graph.wait(lambda: self.gate.granted > granted, "a frame that shows the arm at rest")
        increments = np.zeros((len(steps_m), 7))
        increments[:, 2] = steps_m  # along the tool, which points down
        message = chunk_to_msg(Chunk(ChunkStatus.ACT, increments, ""))
        message.header, message.view, message.sequence = self.gate.last.header, "top", self._sequence
        self._chunks.publish(message)

    def has(self, **wanted: Any) -> bool:
        last = self.statuses.last
        return last is not None and all(getattr(last, name) == value for name, value in wanted.items())

    def height_m(self) -> float:
        return float(flange_pose(ArmModel.UR5E.geometry, self.controller.q)[2, 3])

    def reach(self, height_m: float) -> None:
        """Move the flange to a height by a chunk of four equal steps.

        A busy machine may hold the driver up for more than `state_age_s`, of which no more than 0.5 s is
        allowed: the arm stops, and what is left is a chunk after it is armed again.
        """
        for _ in range(_ATTEMPTS):
            self._graph.wait(lambda: not self.controller.qd.any(), "an arm at rest")  # ends where it stands
            self.send(*[(self.height_m() - height_m) / 4] * 4)
            done = partial(self.has, has_completed=True, completed_sequence=self._sequence)
            self._graph.wait(done, "the end of a chunk")
            if self.statuses.last.completed_whole:
                break
            assert "no joint state for" in self.statuses.last.reason, self.statuses.last.reason
            self.arm()
        self._graph.wait(lambda: abs(self.height_m() - height_m) < 0.001, f"the flange at {height_m} m")

    def move(self) -> None:
        """Move to and fro, and return while the arm moves; once more after what `reach` tells."""
        wait, stopped = self._graph.wait, partial(self.has, state=ArmStatus.STATE_STOPPED)
        for _ in range(_ATTEMPTS):
            wait(lambda: not self.controller.qd.any(), "an arm at rest")
            self.send(*TO_AND_FRO_M)
            wait(lambda: self.has(state=ArmStatus.STATE_EXECUTING) or stopped(), "a moving arm")
            if not stopped():
                break
            assert "no joint state for" in self.statuses.last.reason, self.statuses.last.reason
            self.arm()

    def hold_on_the_way(self) -> None:
        """Close the gate while the arm moves to and fro; once more after what `reach` tells."""
        wait, stopped = self._graph.wait, partial(self.has, state=ArmStatus.STATE_STOPPED)
        for _ in range(_ATTEMPTS):
            self.gate.is_open = True
            self.move()
            self.gate.is_open = False
            held = partial(self.has, state=ArmStatus.STATE_HOLDING, held_by_gate=True)
            wait(lambda held=held: held() or stopped(), "a held arm")
            if held():
                break
            assert "no joint state for" in self.statuses.last.reason, self.statuses.last.reason
            self.arm()
        wait(lambda: not self.controller.qd.any(), "an arm at rest")
        assert not self.has(completed_sequence=self._sequence, completed_whole=True), "not at the end"


def test_chunks_a_hold_and_a_silent_driver(ros_domain: int, tmp_path: Path) -> None:
    with RosGraph(ros_domain, tmp_path, ["arm_node"], PARAMETERS) as graph:
        cell = Cell(graph)
        controller, gate, statuses, has = cell.controller, cell.gate, cell.statuses, cell.has

        cell.arm()
        height_m = cell.height_m()
        for below_m in (0.04, 0.08, 0.04):
            cell.reach(height_m - below_m)
        assert all(controller.ends_at_rest)

        cell.hold_on_the_way()

        stops = controller.stops
        controller.silent = True
        graph.wait(lambda: has(state=ArmStatus.STATE_STOPPED), "a stopped arm")
        assert "no joint state for" in statuses.last.reason
        graph.wait(lambda: controller.stops > stops, "a stopped program")
        graph.wait(lambda: "no joint state for" in cell.rearm_refusal(), "a refusal")
        assert cell.rearm_refusal(), "a driver that is silent since then"
        controller.silent = False
        gate.is_open = True
        cell.arm()


def test_a_second_gate_stops_the_arm_and_keeps_it_from_being_armed(ros_domain: int, tmp_path: Path) -> None:
    """Such as one left over in another mode, which would permit what the first one holds."""
    with RosGraph(ros_domain, tmp_path, ["arm_node"], PARAMETERS) as graph:
        cell = Cell(graph)
        cell.arm()
        cell.move()
        second = graph.publisher(GateLease, "/gate/lease", STATE)
        graph.wait(lambda: cell.has(state=ArmStatus.STATE_STOPPED), "a stopped arm")
        assert cell.statuses.last is not None
        assert cell.statuses.last.reason.startswith("2 publishers of /gate/lease: expected one gate")
        assert cell.rearm_refusal().startswith("2 publishers of /gate/lease: expected one gate")
        graph.close_publisher(second)
        cell.arm()


def test_an_arm_whose_node_is_deactivated_or_shut_down_stops_and_does_not_go_on(
    ros_domain: int, tmp_path: Path
) -> None:
    with RosGraph(ros_domain, tmp_path, ["arm_node"], PARAMETERS) as graph:
        cell = Cell(graph)
        cell.arm()
        cell.move()
        stops = cell.controller.stops
        deactivate = Transition(id=Transition.TRANSITION_DEACTIVATE)
        assert graph.call(ChangeState, "/arm_node/change_state", transition=deactivate).success
        stopped = {"state": ArmStatus.STATE_STOPPED, "reason": "arm_node was deactivated"}
        graph.wait(lambda: cell.has(**stopped), "a stopped arm")
        graph.wait(lambda: cell.controller.stops == stops + 1, "a stopped program")
        graph.activate("arm_node")
        sent, told = len(cell.controller.ends_at_rest), len(cell.statuses)
        graph.wait(lambda: len(cell.statuses) >= told + 5, "an arm that is active again")
        assert cell.has(**stopped), "its leases are fresh, and it does not go on"
        assert len(cell.controller.ends_at_rest) == sent
        cell.arm()
        cell.move()
        stops = cell.controller.stops
        shutdown = Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN)
        assert graph.call(ChangeState, "/arm_node/change_state", transition=shutdown).success
        graph.wait(lambda: cell.has(**stopped | {"reason": "arm_node was shut down"}), "a stopped arm")
        graph.wait(lambda: cell.controller.stops == stops + 1, "a stopped program")
