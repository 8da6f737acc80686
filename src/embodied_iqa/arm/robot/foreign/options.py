"""Options of an arm that another driver owns, whose controllers take the joint targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError

JOINTS: Final = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
"""The joints of a UR, from base to flange, as the URDF of Universal Robots names them, without `_joint`."""


class CommandKind(StrEnum):
    """The controller that takes the joint targets."""

    TRAJECTORY = "trajectory"
    """`scaled_joint_trajectory_controller`, or another one that takes JointTrajectory."""
    POSITION = "position"
    """`forward_position_controller`, which takes Float64MultiArray."""


_TOPICS: Final = {
    CommandKind.TRAJECTORY: "/scaled_joint_trajectory_controller/joint_trajectory",
    CommandKind.POSITION: "/forward_position_controller/commands",
}


@dataclass(frozen=True, slots=True)
class ActionGripperOptions:
    """A gripper behind the action GripperCommand of control_msgs.

    Attributes:
        action: Name of the action.
        joint: Joint in the joint states that measures it.
        open: Position of the open gripper, in the unit of joint and action.
        closed: Position of the closed gripper.
        max_effort: Largest effort of a command; 0 for that of the controller.
    """

    action: str = "/gripper_controller/gripper_cmd"
    joint: str = ""
    open: float = 0.0
    closed: float = 0.0
    max_effort: float = ranged(0.0, 0.0, 1000.0)

    def check(self) -> None:
        """Check that the joint and its two positions are known.

        Raises:
            UsageError: They are not.
        """
        if not self.joint or self.open == self.closed:
            raise UsageError(
                "the gripper behind an action is not described",
                expected="ros2_control.gripper.joint, and .open and .closed that differ",
                got=f"joint {self.joint!r}, open {self.open:g}, closed {self.closed:g}",
            )


@dataclass(frozen=True, slots=True)
class Ros2ControlOptions:
    """A UR arm behind the controllers of ros2_control, such as those of ur_robot_driver.

    Attributes:
        joint_states: Topic of the measured joints.
        joint_prefix: Before the names of the joints, such as left_ (tf_prefix of ur_robot_driver).
        command: Kind of the controller that takes the joint targets.
        command_topic: Its topic; empty for that of ur_robot_driver's controller of this kind.
        controller_manager: Node that is asked whether the controller is active, where
            controller_manager_msgs is installed; empty for none.
        rate_hz: Joint targets per second [Hz].
        lead_s: From a trajectory's start to its joint target; after it, the trajectory brakes to rest [s].
        state_age_s: Largest age of a joint state, by its stamp and this machine's clock [s].
        program_topic: Bool, whether the robot's program takes commands; empty for a driver without one.
        stop_service: Trigger that stops the robot's program at a fault; empty for a driver without one.
        pose_topic: Pose of the tool in the frame base or base_link, to check the model by; empty for none.
        pose_required: Refuse an arm without that pose; false where somebody has checked the model. A pose
            that does not fit the model is refused anyway.
        gripper: The gripper behind an action, where arm_node.gripper is action.
    """

    joint_states: str = "/joint_states"
    joint_prefix: str = ""
    command: CommandKind = CommandKind.TRAJECTORY
    command_topic: str = ""
    controller_manager: str = "/controller_manager"
    rate_hz: float = ranged(100.0, 20.0, 500.0)
    lead_s: float = ranged(0.03, 0.004, 0.06)
    state_age_s: float = ranged(0.1, 0.01, 0.5)
    program_topic: str = "/io_and_status_controller/robot_program_running"
    stop_service: str = "/dashboard_client/stop"
    pose_topic: str = "/tcp_pose_broadcaster/pose"
    pose_required: bool = True
    gripper: ActionGripperOptions = field(default_factory=ActionGripperOptions)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.lead_s < 1.0 / self.rate_hz:
            raise UsageError(
                "ros2_control.lead_s is too short: the arm would brake between two joint targets",
                expected=f"at least a period of ros2_control.rate_hz, {1.0 / self.rate_hz:g} s",
                got=self.lead_s,
            )

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the six joints, from base to flange."""
        return tuple(f"{self.joint_prefix}{name}_joint" for name in JOINTS)

    @property
    def topic(self) -> str:
        """Topic of the joint targets."""
        return self.command_topic or _TOPICS[self.command]

    @property
    def controller(self) -> str:
        """Name of the controller: its topics are below it."""
        return self.topic.rpartition("/")[0].rpartition("/")[2]

    @property
    def delay_s(self) -> float:
        """How long after a joint target is sent the arm has to be there."""
        return self.lead_s if self.command is CommandKind.TRAJECTORY else 0.0
