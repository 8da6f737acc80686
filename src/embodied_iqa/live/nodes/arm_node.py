"""The arm: turns decisions into motion, but only under a fresh lease and within every limit."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticStatus
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm, StopArm
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty

from embodied_iqa.arm.robot.arm import Arm
from embodied_iqa.arm.robot.arm_runner import ArmReport, ArmRunner, ArmTick, why_not_yet
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.goal_execution import late_words, slider_words
from embodied_iqa.arm.robot.messages import ArmMode, ArmState, RobotFault
from embodied_iqa.arm.robot.supervision import Supervision
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.robotiq_gripper import RobotiqGripper
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import T_BASELINK_BASE, ArmModel
from embodied_iqa.base.kinematics.se3 import invert
from embodied_iqa.live.ros.action_gripper import make_action_gripper
from embodied_iqa.live.ros.conversion import (
    header_of,
    joints_to_msg,
    lease_of,
    ns_of,
    pose_of,
)
from embodied_iqa.live.ros.gate_report import several_gates
from embodied_iqa.live.ros.goals import goal_of
from embodied_iqa.live.ros.names import SLOWED_BY, STOP_CAUSE, SUPERVISION
from embodied_iqa.live.ros.node import Health, ManagedNode, leave, main_of
from embodied_iqa.live.ros.qos import EVENT, STATE, adjustable
from embodied_iqa.live.ros.ros2_control_arm import Ros2ControlArm
from embodied_iqa.live.ros.transforms import FrameBroadcaster
from embodied_iqa.live.ros.ur_robot import UrRobot
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters, GripperKind, RobotKind

_STATES = {
    ArmMode.DISARMED: ArmStatus.STATE_DISARMED,
    ArmMode.IDLE: ArmStatus.STATE_IDLE,
    ArmMode.EXECUTING: ArmStatus.STATE_EXECUTING,
    ArmMode.HOLDING: ArmStatus.STATE_HOLDING,
    ArmMode.STOPPED: ArmStatus.STATE_STOPPED,
}
_LEASES = "gate/lease"
_LOOK_S = 0.1
"""The arm counts the gates so often."""
_DEACTIVATED = "arm_node was deactivated"
_SHUT_DOWN = "arm_node was shut down"


class ArmNode(ManagedNode[ArmParameters]):
    """/vla/actions and /gate/lease in, joint targets out, at the robot's rate."""

    changeable = frozenset({"frames.publish"})

    def __init__(self) -> None:
        super().__init__("arm_node", ArmParameters)
        config = self.config
        model = config.check_model()
        options = config.timed_controller(model)
        self._arm = self._make_arm(model, options.dt_s)
        self._controller = make_controller(config.limits, options, config.tool_length_m, self._arm.model)
        self._fault: RobotFault | None = None
        """The stop of the robot that somebody has to release there."""
        self._runner = ArmRunner(self._controller, report_rate_hz=config.report_rate_hz)
        self._look_s, self._doubled = 0.0, ""
        self._supervision = Supervision("the trial", "arm_node")
        self._status_publisher = self.create_publisher(ArmStatus, "arm/status", EVENT)
        self._joint_publisher = self.create_publisher(JointState, "arm/joint_states", **adjustable(STATE))
        self._pose_publisher = self.create_publisher(PoseStamped, "arm/tool_pose", **adjustable(STATE))
        self._frames = FrameBroadcaster(self, config.arm_frames)
        self._frames.fix(config.frames.base_link, config.frames.base, T_BASELINK_BASE)
        self._T_tool_flange = invert(tool_along_z(config.tool_length_m))
        group = MutuallyExclusiveCallbackGroup()
        self.create_subscription(GateLease, _LEASES, self._take_lease, STATE, callback_group=group)
        self.create_subscription(ActionChunk, "vla/actions", self._take_chunk, EVENT, callback_group=group)
        self.create_subscription(Empty, SUPERVISION, self._supervised, EVENT, callback_group=group)
        self.create_service(RearmArm, "arm/rearm", self._rearm, callback_group=group)
        self.create_service(StopArm, "arm/stop", self._stop, callback_group=group)

    def _make_arm(self, model: ArmModel, dt_s: float) -> Arm:
        config = self.config
        if config.robot is RobotKind.NONE:
            raise UsageError("arm_node needs an arm", got="none", available=("sim", "ur5"))
        T_flange_tool = tool_along_z(config.tool_length_m)
        if config.driver is ArmDriver.ROS2_CONTROL:
            return Ros2ControlArm(
                self,
                config.ros2_control,
                model,
                T_flange_tool,
                braking_radps2=config.limits.joint_acceleration_radps2,
                on_state=self._tick,
                on_silence=self._watch,
                gripper=make_action_gripper(self, config.ros2_control)
                if config.gripper is GripperKind.ACTION
                else self._make_gripper(model),
            )
        config.ur.check(model)
        arm = UrArm(
            config.ur,
            T_flange_tool,
            model=model,
            rate_hz=1.0 / dt_s,
            simulated_time=config.robot.is_simulated,
            gripper=self._make_gripper(model),
            log=self.get_logger().info,
        )
        return UrRobot(self, arm, self._tick, self._watch)

    def _make_gripper(self, model: ArmModel) -> RobotiqGripper | None:
        if not self.config.has_gripper:
            return None
        ur = self.config.ur
        ur.check(model)
        return RobotiqGripper(ur.ip, ur.gripper, self.get_logger().info)

    def why_not(self, wanted: ArmParameters) -> str:
        """Return why frames cannot be published; empty where they can."""
        return self._frames.why_not(wanted.arm_frames)

    def changed(self) -> None:
        """Publish the frames, or no more."""
        self._frames.set(self.config.arm_frames)

    def destroy_node(self) -> None:
        """Release the arm before the node goes."""
        self._arm.close()
        super().destroy_node()

    def load(self) -> None:
        """Compile the kinematics now rather than at the first goal; try a refused arm again."""
        self._controller.warm_up()
        self._arm.retry()

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the arm: what it has begun is not continued when the node is activated again."""
        self._stop_for(_DEACTIVATED)
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the arm."""
        self._stop_for(_SHUT_DOWN)
        return super().on_shutdown(state)

    def health(self) -> Health:
        """Return what the arm does and why."""
        runner, state = self._runner, self._runner.state
        values: dict[str, object] = {"holds": runner.holds, "refused": runner.refused} | self._arm.counts()
        values["frames"] = self._frames.state
        if slider := slider_words(state):
            values[SLOWED_BY] = slider
        if self._arm.problem:
            return Health(level=DiagnosticStatus.ERROR, message=self._arm.problem, values=values)
        if self._fault:
            values[STOP_CAUSE] = self._fault.cause
            return Health(level=DiagnosticStatus.ERROR, message=self._fault.reason, values=values)
        said = f"{state.mode}: {state.reason}" if state.reason else str(state.mode)
        late = late_words(state)
        return Health(
            level=DiagnosticStatus.WARN if late or state.mode is ArmMode.STOPPED else DiagnosticStatus.OK,
            message="; ".join(filter(None, (said, late))),
            values=values | {"goals lost": runner.goals_lost},
        )

    def _tick(self, measured: ArmState) -> None:
        fault = measured.fault
        lasting = fault if fault is not None and fault.cause.lasts else None
        if lasting != self._fault:  # without waiting: a trial must not arm the arm meanwhile
            self._fault = lasting
            self._report()
        if self.active:
            now_ns = self.get_clock().now().nanoseconds  # states keep coming after a clock was set back
            self._carry_out(self._runner.tick(measured) or self._runner.watch(now_ns))
            lost = self._supervision.lost(time.monotonic()) or self._several_gates()
            if lost and self._runner.state.is_armed:
                self._carry_out(self._runner.stop(lost, measured))
        self._arm.answer()

    def _several_gates(self) -> str:
        """Return that more than one gate grants leases, as of a moment ago; else empty."""
        now_s = time.monotonic()
        if now_s >= self._look_s:
            self._look_s, self._doubled = now_s + _LOOK_S, several_gates(self, _LEASES)
        return self._doubled

    def _watch(self, lost: str) -> None:
        if self.active:
            self._carry_out(self._runner.watch(self.get_clock().now().nanoseconds, lost))

    def _stop_for(self, reason: str) -> None:
        self._watch(reason)
        if self._runner.state.run is not None:  # it brakes for a stop that came before
            self._arm.stop(reason)

    def _carry_out(self, tick: ArmTick | None) -> None:
        if tick is None:
            return
        for goal in tick.goals:
            if goal.reason:
                self.get_logger().info(f"goal {goal.sequence} {goal.outcome}: {goal.reason}")
        if tick.stop is not None:
            self.get_logger().warning(f"stopped ({tick.stop.cause}): {tick.stop.reason}")
            if tick.stop.stop_driver:
                self._arm.stop(tick.stop.reason)
        if tick.q_target_rad is not None:
            self._arm.stream(tick.q_target_rad)
        if tick.gripper_target is not None and self.config.has_gripper:
            self._arm.move(tick.gripper_target)
        elif tick.gripper_target is not None:
            self.get_logger().warning("the arm has no gripper to move", throttle_duration_sec=10.0)
        if tick.report is not None:
            self._publish(tick.report)

    def _publish(self, report: ArmReport) -> None:
        self._status_publisher.publish(_status_to_msg(report))
        if report.T_base_tool is None:
            return
        measured = report.measured
        positions = [*measured.q_rad.tolist(), measured.gripper.position]
        names, frames = self.config.all_joints, self.config.frames
        speeds = [*measured.qd_radps.tolist(), 0.0]
        joints = joints_to_msg(measured.stamp_ns, positions, speeds, names, frames.base)
        self._joint_publisher.publish(joints)
        self._pose_publisher.publish(PoseStamped(header=joints.header, pose=pose_of(report.T_base_tool)))
        T_base_flange = report.T_base_tool @ self._T_tool_flange
        self._frames.send(frames.base, frames.tool, T_base_flange, measured.stamp_ns)

    def _take_lease(self, message: GateLease) -> None:
        try:
            self._runner.take_lease(lease_of(message))
        except ValueError as error:  # a malformed lease allows nothing
            self.get_logger().error(f"lease ignored: {error}", throttle_duration_sec=1.0)

    def _supervised(self, _message: Empty) -> None:
        self._supervision.hear(time.monotonic())

    def _take_chunk(self, message: ActionChunk) -> None:
        if message.status != ActionChunk.STATUS_ACT:
            return
        try:
            goal = goal_of(message)
        except (UsageError, ValueError) as error:
            self._runner.refused += 1
            self.get_logger().error(f"goal {message.sequence} refused: {error}", throttle_duration_sec=1.0)
            return
        self._runner.take_goal(goal)

    def _rearm(self, request: RearmArm.Request, response: RearmArm.Response) -> RearmArm.Response:
        measured = self._arm.read()
        problem = (
            self._arm.problem
            or several_gates(self, _LEASES)
            or why_not_yet(measured, ns_of(request.from_stamp))
        )
        if not self.active or measured is None or problem:
            response.message = problem if self.active else "arm_node is not active"
            return response
        self.get_logger().info(f"arming: {request.reason}")
        try:
            self._arm.rearm(request.reason)
        except InputError as error:
            response.message = str(error)
            return response
        self._supervision.begin(request.heartbeat_limit_s, time.monotonic())
        self._carry_out(self._runner.arm(self._arm.read() or measured))
        response.success, response.message = self._runner.state.is_armed, self._runner.state.reason
        return response

    def _stop(self, request: StopArm.Request, response: StopArm.Response) -> StopArm.Response:
        measured = self._arm.read() if self.active else None
        self._carry_out(self._runner.stop(request.reason or "stop requested", measured))
        response.success, response.message = not self._runner.state.is_armed, self._runner.state.reason
        return response


def _status_to_msg(report: ArmReport) -> ArmStatus:
    status, ended = report.status, report.ended
    return ArmStatus(
        header=header_of(report.measured.stamp_ns),
        state=_STATES[status.mode],
        reason=status.reason,
        stop_cause=status.cause or "",
        held_by_gate=status.held_by_gate,
        emergency_stop=report.emergency_stop,
        has_goal=report.goal_sequence is not None,
        goal_sequence=report.goal_sequence or 0,
        has_completed=ended is not None,
        completed_sequence=0 if ended is None else ended.sequence,
        completed_whole=report.is_completed,
        step_index=status.step,
        step_count=status.steps,
        holds=report.holds,
        refused=report.refused,
        tool_speed=status.tool_speed_mps,
    )


def main() -> int:
    """Run the node."""
    return main_of(ArmNode, sockets_only=True)


if __name__ == "__main__":
    leave(main())
