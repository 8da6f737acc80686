"""The arm: turns decisions into motion, but only under a fresh lease and within every limit."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import replace

from diagnostic_msgs.msg import DiagnosticStatus
from embodied_iqa_msgs.msg import ActionChunk, ArmStatus, GateLease
from embodied_iqa_msgs.srv import RearmArm, StopArm
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import JointState

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.graph.parameters import ArmParameters, RobotKind
from embodied_iqa.images.frame import View, parse_view
from embodied_iqa.kinematics import tool_along_z
from embodied_iqa.robot.controller import make_controller
from embodied_iqa.robot.messages import (
    ArmGoal,
    ArmInputs,
    ArmMode,
    ArmOutput,
    GoalOutcome,
    GoalReport,
    StopCause,
)
from embodied_iqa.robot.protocols import ArmState
from embodied_iqa.robot.robotiq_gripper import RobotiqGripper
from embodied_iqa.robot.state import ControllerState
from embodied_iqa.robot.ur_arm import UrArm
from embodied_iqa.ros.conversion import increments_of, lease_of, ns_of, pose_of, time_of
from embodied_iqa.ros.node import Health, ManagedNode, main_of
from embodied_iqa.ros.qos import EVENT, STATE
from embodied_iqa.ros.ur_robot import UrRobot

_SECOND_NS = 1_000_000_000
_LEASES_KEPT = 32
_JOINTS = ["joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "joint_6", "gripper"]
_STATES = {
    ArmMode.DISARMED: ArmStatus.STATE_DISARMED,
    ArmMode.IDLE: ArmStatus.STATE_IDLE,
    ArmMode.EXECUTING: ArmStatus.STATE_EXECUTING,
    ArmMode.HOLDING: ArmStatus.STATE_HOLDING,
    ArmMode.STOPPED: ArmStatus.STATE_STOPPED,
}


class ArmNode(ManagedNode[ArmParameters]):
    """/vla/actions and /gate/lease in, joint targets out, at the robot's rate."""

    def __init__(self) -> None:
        super().__init__("arm_node", ArmParameters)
        self._controller = make_controller(
            self.config.limits, self.config.controller, self.config.tool_length_m
        )
        self._kinematics = self._controller.planner.kinematics
        self._state = ControllerState()
        self._inputs = ArmInputs()
        self._goal: ArmGoal | None = None
        self._judged: deque[tuple[View, int]] = deque(maxlen=_LEASES_KEPT)
        self._emergency = False
        self._ended: GoalReport | None = None
        self._holds = self._refused = self._goals_lost = 0
        self._gripper_sent: float | None = None
        self._next_report_ns = 0
        self._told = (ArmMode.DISARMED, "", -1)
        self._status_publisher = self.create_publisher(ArmStatus, "/arm/status", EVENT)
        self._joint_publisher = self.create_publisher(JointState, "/arm/joint_states", STATE)
        self._pose_publisher = self.create_publisher(PoseStamped, "/arm/tool_pose", STATE)
        group = MutuallyExclusiveCallbackGroup()
        self._arm = self._make_arm()
        self.create_subscription(GateLease, "/gate/lease", self._take_lease, STATE, callback_group=group)
        self.create_subscription(ActionChunk, "/vla/actions", self._take_chunk, EVENT, callback_group=group)
        self.create_service(RearmArm, "/arm/rearm", self._rearm, callback_group=group)
        self.create_service(StopArm, "/arm/stop", self._stop, callback_group=group)

    def _make_arm(self) -> UrRobot:
        config, rate_hz = self.config, 1.0 / self.config.controller.dt_s
        if config.robot is RobotKind.NONE:
            raise UsageError("arm_node needs an arm", got="none", available=("sim", "ur5"))
        config.ur.check()
        log = self.get_logger().info
        gripper = RobotiqGripper(config.ur.ip, config.ur.gripper, log) if config.ur.gripper.port else None
        arm = UrArm(
            config.ur,
            tool_along_z(config.tool_length_m),
            rate_hz=rate_hz,
            simulated_time=config.robot.is_simulated,
            gripper=gripper,
            log=log,
        )
        return UrRobot(self, arm, self._tick, self._watch)

    def destroy_node(self) -> None:
        """Give the arm back before the node goes."""
        self._arm.close()
        super().destroy_node()

    def load(self) -> None:
        """Compile the kinematics now rather than at the first goal."""
        self._controller.warm_up()

    def health(self) -> Health:
        """Say what the arm does and why."""
        mode = self._state.mode
        values: dict[str, object] = {"holds": self._holds, "refused": self._refused}
        if self._arm.problem:
            return Health(level=DiagnosticStatus.ERROR, message=self._arm.problem, values=values)
        return Health(
            level=DiagnosticStatus.WARN if mode is ArmMode.STOPPED else DiagnosticStatus.OK,
            message=f"{mode}: {self._state.reason}" if self._state.reason else str(mode),
            values=values | {"goals lost": self._goals_lost},
        )

    def _tick(self, measured: ArmState) -> None:
        """Answer one state of the arm; while its time stands still only requests are handled."""
        stands = self._state.measured is not None and measured.stamp_ns <= self._state.measured.stamp_ns
        if self.active and (not stands or self._inputs.arm or self._inputs.stop):
            self._step(measured)
        self._arm.answer()

    def _watch(self, lost: str) -> None:
        """No state comes: an armed arm is stopped after a while, one that is known to be lost at once."""
        measured = self._state.measured
        if not self.active or measured is None or not self._state.is_armed:
            return
        now_ns = self.get_clock().now().nanoseconds
        if not lost and now_ns - self._state.seen_ns <= self.config.controller.state_timeout_ns:
            return
        self._state, output = self._controller.step(self._state, ArmInputs(lost=lost), now_ns)
        self._note(output)
        if output.stop is not None:
            self._arm.stop(output.stop.reason)
        self._publish(measured, output)

    def _step(self, measured: ArmState) -> None:
        goal = self._goal_at(measured.stamp_ns)
        inputs, self._inputs = replace(self._inputs, measured=measured, goal=goal), ArmInputs()
        self._state, output = self._controller.step(self._state, inputs, measured.stamp_ns)
        self._note(output)
        if output.stop is not None and output.stop.stop_driver:
            self._arm.stop(output.stop.reason)
        elif output.q_target_rad is not None:
            self._arm.stream(output.q_target_rad)
        if output.gripper_target is not None and output.gripper_target != self._gripper_sent:
            self._gripper_sent = output.gripper_target
            self._arm.move(output.gripper_target)
        self._publish(measured, output)

    def _goal_at(self, now_ns: int) -> ArmGoal | None:
        """Return the waiting goal once its frame is judged, or has not been for too long."""
        goal = self._goal
        if goal is None:
            return None
        judged = (goal.view, goal.frame_stamp_ns) in self._judged
        waited_ns = now_ns - goal.frame_stamp_ns
        if not judged and waited_ns < self.config.lease_wait_s * _SECOND_NS:
            return None
        self._goal = None
        return goal

    def _note(self, output: ArmOutput) -> None:
        for report in output.reports:
            self._refused += report.outcome is GoalOutcome.REFUSED
            if report.outcome is not GoalOutcome.ACCEPTED:
                self._ended = report
            if report.reason:
                self.get_logger().info(f"goal {report.sequence} {report.outcome}: {report.reason}")
        if output.stop is not None:
            self._emergency |= output.stop.cause is not StopCause.REQUESTED
            self.get_logger().warning(f"stopped ({output.stop.cause}): {output.stop.reason}")
        self._holds += output.status.mode is ArmMode.HOLDING and self._told[0] is not ArmMode.HOLDING

    def _publish(self, measured: ArmState, output: ArmOutput) -> None:
        status = output.status
        now = (status.mode, status.reason, -1 if self._ended is None else self._ended.sequence)
        due = (
            measured.stamp_ns >= self._next_report_ns or measured.stamp_ns < self._next_report_ns - _SECOND_NS
        )
        if not due and now == self._told:
            return
        self._told = now
        self._status_publisher.publish(self._status(measured, output))
        if not due:
            return
        self._next_report_ns = measured.stamp_ns + round(_SECOND_NS / self.config.report_rate_hz)
        joints = JointState(name=_JOINTS)
        joints.header.stamp, joints.header.frame_id = time_of(measured.stamp_ns), "base"
        joints.position = [*measured.q_rad.tolist(), measured.gripper.position]
        joints.velocity = [*measured.qd_radps.tolist(), 0.0]
        self._joint_publisher.publish(joints)
        pose = PoseStamped(pose=pose_of(self._kinematics.forward(measured.q_rad)))
        pose.header = joints.header
        self._pose_publisher.publish(pose)

    def _status(self, measured: ArmState, output: ArmOutput) -> ArmStatus:
        status, run = output.status, self._state.run
        message = ArmStatus(
            state=_STATES[status.mode],
            reason=status.reason,
            emergency_stop=self._emergency,
            has_goal=run is not None,
            goal_sequence=run.goal.sequence if run is not None else 0,
            step_index=status.step,
            step_count=status.steps,
            holds=self._holds,
            refused=self._refused,
            tool_speed=status.tool_speed_mps,
        )
        if self._ended is not None:
            message.has_completed, message.completed_sequence = True, self._ended.sequence
            message.completed_whole = self._ended.outcome is GoalOutcome.COMPLETED
        message.header.stamp = time_of(measured.stamp_ns)
        message.header.frame_id = "base"
        return message

    def _take_lease(self, message: GateLease) -> None:
        try:
            lease = lease_of(message)
        except ValueError as error:  # a lease that cannot be understood allows nothing
            self.get_logger().error(f"lease left out: {error}", throttle_duration_sec=1.0)
            return
        self._judged.append((lease.view, lease.frame_stamp_ns))
        self._inputs = replace(self._inputs, leases=(*self._inputs.leases, lease)[-_LEASES_KEPT:])

    def _take_chunk(self, message: ActionChunk) -> None:
        """Keep the newest goal; one that was never looked at is counted."""
        if message.status != ActionChunk.STATUS_ACT:
            return
        try:
            view = parse_view(message.view)
        except UsageError as error:
            self._refused += 1
            self.get_logger().error(f"goal {message.sequence} refused: {error}", throttle_duration_sec=1.0)
            return
        self._goals_lost += self._goal is not None
        stamp_ns = ns_of(message.header.stamp)
        self._goal = ArmGoal(increments_of(message), view, stamp_ns, message.sequence)

    def _rearm(self, request: RearmArm.Request, response: RearmArm.Response) -> RearmArm.Response:
        measured = self._arm.read()
        if not self.active or measured is None:
            response.message = "arm_node is not active" if not self.active else "the arm was never seen"
            return response
        from_ns = ns_of(request.from_stamp)
        if measured.stamp_ns < from_ns:
            response.message = (
                f"the arm was last seen {(from_ns - measured.stamp_ns) / 1e9:.3f} s before that"
            )
            return response
        self.get_logger().info(f"arming: {request.reason}")
        try:
            self._arm.rearm(request.reason)
        except InputError as error:
            response.message = str(error)
            return response
        measured = self._arm.read() or measured
        self._goal, self._inputs = None, ArmInputs(arm=True)  # goals and leases from before count no more
        self._next_report_ns = 0  # whoever decides next knows the arm and the gripper as they are now
        self._step(measured)
        response.success = self._state.is_armed
        response.message = self._state.reason
        if response.success:
            self._emergency, self._ended = False, None
            self._holds = self._refused = 0
            self._gripper_sent = self._state.gripper_target
        return response

    def _stop(self, request: StopArm.Request, response: StopArm.Response) -> StopArm.Response:
        measured = self._arm.read()
        self._goal, self._inputs = None, ArmInputs(stop=request.reason or "asked to stop")
        if self.active and measured is not None:
            self._step(measured)
        response.success = not self._state.is_armed
        response.message = self._state.reason
        return response


def main() -> int:
    """Run the node."""
    return main_of(ArmNode)


if __name__ == "__main__":
    sys.exit(main())
