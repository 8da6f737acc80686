"""A UR arm behind the controllers of another driver, such as ur_robot_driver, in a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from embodied_iqa.arm.robot.foreign.commands import BrakingStream, TrajectoryPoint
from embodied_iqa.arm.robot.foreign.joint_states import JointReader, Periods
from embodied_iqa.arm.robot.foreign.options import CommandKind, Ros2ControlOptions
from embodied_iqa.arm.robot.foreign.tool_pose import STILL_RADPS, ToolPoseCheck
from embodied_iqa.arm.robot.messages import ArmState, GripperState, RobotFault, StopCause
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.live.ros.calls import begin_call
from embodied_iqa.live.ros.controller_watch import ControllerWatch
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import EVENT, LATCHED, NEWEST_STATE, adjustable

_SILENCE_S = 0.02
_GRIPPER_S = 0.7


class Gripper(Protocol):
    """What the arm asks of a gripper, see `RobotiqGripper`."""

    def read(self) -> GripperState:
        """Return the newest measured state."""

    def move(self, position: float) -> None:
        """Start moving, 0 open to 1 closed."""

    def wait_fresh(self, deadline_s: float, /) -> None:
        """Wait for a state that is measured after this call."""

    def close(self) -> None:
        """Release the gripper."""


class Ros2ControlArm:
    """An `Arm` that reads joint states and publishes joint targets for a controller of ros2_control.

    It is unavailable, and an armed arm is stopped, while it is not known that joint states are fresh
    and of this arm, that a controller listens, that the robot's program runs, and that the model fits.

    Args:
        node: Node of the topics; its clock is that of the joint states' stamps.
        options: Topics, rates and checks.
        model: Model that the arm has to be.
        T_flange_tool: ``(4, 4)``, the tool centre point in the flange's frame (m).
        braking_radps2: Deceleration of the joint that moves fastest where no target follows.
        on_state: Called with each state that is to be answered.
        on_silence: Called every 20 ms, with the reason where the arm is known to be lost.
        gripper: Gripper whose state is part of the arm's states; it is closed with the arm.
    """

    def __init__(
        self,
        node: Node,
        options: Ros2ControlOptions,
        model: ArmModel,
        T_flange_tool: NDArray[np.float64],
        *,
        braking_radps2: float,
        on_state: Callable[[ArmState], None],
        on_silence: Callable[[str], None],
        gripper: Gripper | None = None,
    ) -> None:
        self._node, self._options, self._gripper = node, options, gripper
        self._on_state, self._on_silence = on_state, on_silence
        self._model = model
        self._reader = JointReader(options.joints, options.state_age_s)
        self._periods = Periods(options.rate_hz)
        self._stream = BrakingStream(1.0 / options.rate_hz, options.lead_s, braking_radps2)
        self._check = ToolPoseCheck(model, T_flange_tool, options.joint_prefix)
        self._state: ArmState | None = None
        self._q_target: NDArray[np.float64] | None = None
        self._gripper_target: float | None = None
        self._is_armed = False
        self._program: bool | None = None
        self._problem = "no joint states yet"
        self._states = 0
        self._controller = ControllerWatch(node, options)
        self._connect()

    def _connect(self) -> None:
        node, options = self._node, self._options
        kind = JointTrajectory if options.command is CommandKind.TRAJECTORY else Float64MultiArray
        self._publisher = node.create_publisher(kind, options.topic, EVENT)
        node.create_subscription(
            JointState, options.joint_states, self._take_joints, **adjustable(NEWEST_STATE)
        )
        if options.pose_topic:
            node.create_subscription(
                PoseStamped, options.pose_topic, self._take_pose, **adjustable(NEWEST_STATE)
            )
        if options.program_topic:
            node.create_subscription(Bool, options.program_topic, self._take_program, **adjustable(LATCHED))
        self._stopper = node.create_client(Trigger, options.stop_service) if options.stop_service else None
        node.create_timer(_SILENCE_S, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def model(self) -> ArmModel:
        """Model that the arm has to be."""
        return self._model

    @property
    def problem(self) -> str:
        """Why the arm is unavailable; empty where it is available."""
        return self._problem

    def counts(self) -> dict[str, object]:
        """Return how many joint states were read, and how far the model deviates."""
        return {"joint states": self._states, "model check": self._check.text} | {
            "controller": self._controller.text
        }

    def read(self) -> ArmState | None:
        """Return the newest state, or None where the arm is unavailable."""
        return None if self._problem else self._state

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Set the joint target of this period."""
        self._q_target = q_rad

    def move(self, position: float) -> None:
        """Set the target of the gripper."""
        self._gripper_target = position

    def answer(self) -> None:
        """Publish the joint target that responds to the newest state, and move the gripper."""
        target, self._q_target = self._q_target, None
        position, self._gripper_target = self._gripper_target, None
        if position is not None and self._gripper is not None:
            self._gripper.move(position)
        if target is None or not self._is_armed:
            return
        if self._options.command is CommandKind.POSITION:
            self._publisher.publish(Float64MultiArray(data=target.tolist()))
        else:
            self._publish(self._stream.to(target, self._now_ns()))

    def stop(self, reason: str) -> None:
        """Brake, disarm and stop the robot's program; a position controller holds the last target."""
        self._q_target = None
        was_armed, self._is_armed = self._is_armed, False
        if self._options.command is CommandKind.TRAJECTORY:
            self._publish(self._stream.brake(self._now_ns()))
        if was_armed and self._stopper is not None:
            self._node.get_logger().info(f"stopping the robot's program: {reason}")
            begin_call(self._stopper, Trigger.Request(), self._note_stop)

    def rearm(self, reason: str) -> None:
        """Arm: accept joint targets.

        Raises:
            InputError: The arm is unavailable or moves, its program could not be stopped, or the gripper is
                silent.
        """
        if self._problem:
            raise InputError(self._problem)
        speed_radps = 0.0 if self._state is None else float(np.abs(self._state.qd_radps).max())
        if speed_radps > STILL_RADPS:
            raise InputError(
                "the arm moves: it still brakes, or somebody else commands it",
                expected=f"at most {STILL_RADPS:g} rad/s",
                got=f"{speed_radps:.2f} rad/s",
            )
        if self._stopper is not None and not self._stopper.service_is_ready():
            raise InputError(
                f"nobody offers {self._options.stop_service}, which stops the robot's program at a fault",
                expected="the dashboard client of ur_robot_driver, or another ros2_control.stop_service",
            )
        if self._gripper is not None:
            self._gripper.wait_fresh(_GRIPPER_S)
        self._node.get_logger().info(f"arming the arm: {reason}")
        self._stream.restart()
        self._is_armed = True

    def retry(self) -> None:
        """Check the model and the order of time again."""
        self._check.restart()
        self._reader.restart()

    def close(self) -> None:
        """Stop the arm and release the gripper."""
        self.stop("closed")
        if self._gripper is not None:
            self._gripper.close()

    def _take_joints(self, message: JointState) -> None:
        now_ns, stamp_ns = self._now_ns(), ns_of(message.header.stamp)
        try:
            measured = self._reader.take(message.name, (message.position, message.velocity), stamp_ns, now_ns)
            if measured is not None and self._gripper is not None:
                measured = replace(measured, gripper=self._gripper.read())
        except InputError as error:
            self._lose(str(error))
            return
        if measured is None:
            return
        self._states += 1
        self._check.take_state(measured, stamp_ns)
        self._answer_to(measured)

    def _answer_to(self, measured: ArmState) -> None:
        if self._is_armed and self._program is False:
            self._program_ended(measured)
            return
        problem = self._why_unavailable()
        if problem:
            self._lose(problem)
            return
        if self._problem:
            self._node.get_logger().info(f"the arm is there; deviation of the model: {self._check.text}")
        self._problem, self._state = "", measured
        if self._periods.is_due(measured.stamp_ns):
            self._on_state(measured)

    def _program_ended(self, measured: ArmState) -> None:
        fault = RobotFault(StopCause.PROGRAM_ENDED, "the robot's program has ended")
        self._on_state(replace(measured, fault=fault))
        self._lose(self._why_unavailable())

    def _why_unavailable(self) -> str:
        options = self._options
        publishers = self._node.count_publishers(options.joint_states)
        if publishers > 1:  # states of two arms, or of an arm and a simulation, would alternate
            return f"{publishers} publishers of {options.joint_states}: expected one, the arm's driver"
        if self._publisher.get_subscription_count() == 0:
            return f"no controller listens to {options.topic}: load it and activate it"
        if self._controller.problem:
            return self._controller.problem
        if options.program_topic and not self._program:
            state = "does not run" if self._program is False else "is not known to run"
            return f"the robot's program {state} ({options.program_topic}): start it at the pendant"
        if self._check.problem is None and options.pose_required:
            return (
                f"the model is not checked: no pose of the tool at rest on {options.pose_topic or 'no topic'}"
                "; where somebody has checked it, set arm_node.ros2_control.pose_required to false"
            )
        return self._check.problem or ""

    def _lose(self, problem: str) -> None:
        if problem != self._problem:
            self._node.get_logger().error(problem, throttle_duration_sec=1.0)
        self._problem = problem
        self._on_silence(problem)
        if self._is_armed:  # the node is not active
            self.stop(problem)

    def _look(self) -> None:
        silent = self._reader.why_silent(self._now_ns())
        if silent:
            self._lose(silent if self._is_armed or not self._problem else self._problem)
        else:
            self._on_silence("")

    def _take_pose(self, message: PoseStamped) -> None:
        header = message.header
        try:
            self._check.take_pose(header.frame_id, matrix_from_pose(message.pose), ns_of(header.stamp))
        except InputError as error:
            self._lose(f"{self._options.pose_topic}: {error}")

    def _take_program(self, message: Bool) -> None:
        self._program = message.data

    def _note_stop(self, future: Future[Trigger.Response]) -> None:
        response = future.result()
        if response is None or not response.success:
            reason = "no response" if response is None else response.message
            self._node.get_logger().error(f"{self._options.stop_service} failed: {reason}")

    def _publish(self, points: tuple[TrajectoryPoint, ...]) -> None:
        if points:
            names = list(self._options.joints)
            self._publisher.publish(JointTrajectory(joint_names=names, points=[*map(_to_msg, points)]))

    def _now_ns(self) -> int:
        return self._node.get_clock().now().nanoseconds


def _to_msg(point: TrajectoryPoint) -> JointTrajectoryPoint:
    message = JointTrajectoryPoint(positions=point.q_rad.tolist(), velocities=point.qd_radps.tolist())
    after_ns = round(point.after_s * SECOND_NS)
    message.time_from_start.sec, message.time_from_start.nanosec = divmod(after_ns, SECOND_NS)
    return message
