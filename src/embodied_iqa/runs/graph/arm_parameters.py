"""Parameters of the arm, and which arm it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import ClassVar

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.foreign.options import JOINTS, Ros2ControlOptions
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import LONGEST_TOOL_M, TOOL_2F140_M
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
from embodied_iqa.runs.graph.frame_parameters import FrameParameters, FramePublishing
from embodied_iqa.world.scenes.dimensions import check_cell_arm


class RobotKind(StrEnum):
    """Kind of arm."""

    SIM = "sim"
    """The simulated arm, through the real robot's driver and protocols."""
    UR5 = "ur5"
    """A UR arm with a Robotiq gripper."""
    NONE = "none"

    @property
    def is_simulated(self) -> bool:
        """Whether the arm lives in the simulated world."""
        return self is RobotKind.SIM

    @property
    def is_real(self) -> bool:
        """Whether it can hurt somebody: every arm that is not the simulated one, also one to come."""
        return self not in {RobotKind.SIM, RobotKind.NONE}


class ArmDriver(StrEnum):
    """Driver of a real arm."""

    RTDE = "rtde"
    """The own one, on the protocols of the robot's controller."""
    ROS2_CONTROL = "ros2_control"
    """Another one, such as ur_robot_driver: its controllers take the joint targets."""


class GripperKind(StrEnum):
    """Gripper of a real arm."""

    ROBOTIQ = "robotiq"
    """A Robotiq gripper, through the socket of its URCap."""
    ACTION = "action"
    """One behind an action of another driver, GripperCommand of control_msgs."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ArmParameters:
    """The arm.

    Attributes:
        robot: Which arm moves.
        model: Model of the UR arm, whose geometry kinematics, limits and collisions follow; unset, a real arm
            is refused, and the simulated one is a ur5.
        report_rate_hz: Status, joint states and tool pose per second [Hz].
        tool_length_m: From the flange to the tool centre point [m].
        limits: Limits of the arm.
        controller: Times and tolerances of the controller.
        ur: The UR arm, or its emulator in the simulated world.
        driver: Driver of a real arm: rtde, or ros2_control for one that another driver owns.
        ros2_control: The arm behind the controllers of another driver.
        gripper: Gripper of the arm; robotiq is the one of ur.gripper, at ur.ip; action, with the driver
            ros2_control, the one of ros2_control.gripper.
        joints: Names of the six joints from base to flange, behind frames.prefix, in what the node publishes.
        gripper_joint: Name of the gripper's joint there.
        frames: The frames base_link, base and tool0 on /tf_static and /tf.
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"lease_wait_s": "controller.lease.wait_s"}

    robot: RobotKind = RobotKind.SIM
    model: ArmModel = ArmModel.UNSET
    report_rate_hz: float = ranged(25.0, 1.0, 500.0)
    tool_length_m: float = ranged(TOOL_2F140_M, 0.0, LONGEST_TOOL_M)
    limits: ArmLimits = field(default_factory=ArmLimits)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    ur: UrOptions = field(default_factory=UrOptions)
    driver: ArmDriver = ArmDriver.RTDE
    ros2_control: Ros2ControlOptions = field(default_factory=Ros2ControlOptions)
    gripper: GripperKind = GripperKind.ROBOTIQ
    joints: tuple[str, ...] = tuple(f"{name}_joint" for name in JOINTS)
    gripper_joint: str = "gripper"
    frames: FrameParameters = field(default_factory=FrameParameters)

    def __post_init__(self) -> None:
        """Refuse names of joints that are not those of six joints and a gripper."""
        names = (*self.joints, self.gripper_joint)
        if len(self.joints) != len(JOINTS) or "" in names or len({*names}) != len(names):
            raise UsageError(
                "arm_node.joints does not name the joints",
                expected="six names, from base to flange, and another one in gripper_joint",
                got=", ".join(names),
            )

    @property
    def all_joints(self) -> tuple[str, ...]:
        """Names of the joints from base to flange and of the gripper's, as published."""
        return tuple(f"{self.frames.prefix}{name}" for name in (*self.joints, self.gripper_joint))

    @property
    def arm_frames(self) -> FramePublishing:
        """Whether the node publishes frames: another driver has its own, unless they are asked for."""
        wanted = self.frames.publish
        is_driven = self.robot.is_real and self.driver is ArmDriver.ROS2_CONTROL
        return FramePublishing.OFF if is_driven and wanted is FramePublishing.AUTO else wanted

    @property
    def has_gripper(self) -> bool:
        """Whether a gripper is connected."""
        return self.gripper is GripperKind.ACTION or (
            self.gripper is GripperKind.ROBOTIQ and self.ur.gripper.port != 0
        )

    @property
    def in_cell(self) -> ArmModel:
        """Model of the arm in the simulated cell; a UR5 where another arm moves, or none."""
        is_named = self.robot.is_simulated and self.model is not ArmModel.UNSET
        return self.model if is_named else ArmModel.UR5

    @property
    def has_own_workspace(self) -> bool:
        """Whether both corners of the workspace are others than those of the simulated cell, the default."""
        return not self.usual_corners

    @property
    def usual_corners(self) -> tuple[str, ...]:
        """Names of the corners of the workspace that are those of the simulated cell."""
        corners, usual = ("workspace_min_m", "workspace_max_m"), ArmLimits()
        return tuple(name for name in corners if getattr(self.limits, name) == getattr(usual, name))

    def check_model(self, *, only_reads: bool = False) -> ArmModel:
        """Return the model of the arm that moves, or with `only_reads` of one that is only looked at.

        Raises:
            UsageError: That of a real arm is unset, or its workspace is still that of the simulated cell; the
                simulated arm does not reach the table of the cell or has an address at which a real one could
                answer; or the limits do not go with the model.
        """
        if self.robot.is_real and self.model is ArmModel.UNSET:
            raise UsageError(
                "arm_node.model is not set, and a real arm is not moved by guess",
                expected="the model on its nameplate",
                available=NAMED_MODELS,
            )
        model = ArmModel.UR5 if self.model is ArmModel.UNSET else self.model
        if self.robot.is_simulated:
            check_cell_arm(model)
        if self.robot.is_simulated and self.ur.ip and not _is_loopback(self.ur.ip):
            raise UsageError(
                "the simulated arm is on this machine, and a real one is not moved as if it were simulated",
                expected="a loopback address in arm_node.ur.ip, or arm_node.robot ur5 with its model",
                got=self.ur.ip,
            )
        self.limits.check_model(model)
        self._check_driver()
        if self.robot.is_real and not only_reads:
            self._check_measured()
        return model

    def _check_measured(self) -> None:
        """Refuse to move a real arm in the workspace of the simulated cell, or in one that its wall cuts."""
        if not self.has_own_workspace:
            raise UsageError(
                "arm_node.limits has the workspace of the simulated cell, and a real arm is in another one",
                expected="workspace_min_m and workspace_max_m as measured in the frame Base of the pendant",
                got=f"the default of {' and '.join(self.usual_corners)}",
            )
        self.limits.check_wall()
        self.limits.check_workspace(self.model, self.tool_length_m)

    def _check_driver(self) -> None:
        """Refuse another driver or gripper for the simulated arm, which speaks the robot's protocols."""
        if self.robot.is_simulated and (self.driver, self.gripper) != (ArmDriver.RTDE, GripperKind.ROBOTIQ):
            raise UsageError(
                "the simulated arm has its own driver and gripper",
                expected="arm_node.driver rtde with arm_node.gripper robotiq, or arm_node.robot ur5",
                got=f"{self.driver} with {self.gripper}",
            )
        if self.gripper is GripperKind.ACTION:
            if self.driver is ArmDriver.RTDE:
                raise UsageError(
                    "a gripper behind an action needs another driver",
                    expected="arm_node.driver ros2_control",
                    got=str(self.driver),
                )
            self.ros2_control.gripper.check()

    def timed_controller(self, model: ArmModel) -> ControllerOptions:
        """Return the controller's options with the period of the arm: a real arm has that of its controller.

        Raises:
            UsageError: The period is set for a real arm, or that of another driver is too short.
        """
        if not self.robot.is_real:
            return self.controller
        if self.controller.dt_s != ControllerOptions().dt_s:
            raise UsageError(
                "arm_node.controller.dt_s of a real arm follows from its model",
                expected="no value",
                got=self.controller.dt_s,
            )
        if self.driver is ArmDriver.RTDE:
            return replace(self.controller, dt_s=1.0 / model.rate_hz)
        rate_hz, delay_s, lease = self.ros2_control.rate_hz, self.ros2_control.delay_s, self.controller.lease
        if rate_hz > model.rate_hz or delay_s > lease.overrun_s:
            raise UsageError(
                "arm_node.ros2_control does not go with the arm or with its leases",
                expected=f"rate_hz to {model.rate_hz:g}, lead_s to {lease.overrun_s:g} (lease.overrun_s)",
                got=f"{rate_hz:g} and {delay_s:g}",
            )
        lease = replace(lease, overrun_s=lease.overrun_s - delay_s)  # it comes to rest that much later
        return replace(self.controller, dt_s=1.0 / rate_hz, lease=lease)


def _is_loopback(address: str) -> bool:
    """Whether it is a loopback address; another name than localhost may lead to another machine."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False
