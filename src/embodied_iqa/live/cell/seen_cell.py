"""A real cell, looked at for some seconds: its arm stands, its cameras publish, and nothing is commanded."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from embodied_iqa.arm.robot.foreign.tool_pose import ToolPoseCheck
from embodied_iqa.arm.robot.messages import ArmState, GripperState
from embodied_iqa.arm.robot.ur.robot_state import RobotState, read_robot_state
from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.live.cell.arm_reading import ArmReader, open_arm
from embodied_iqa.live.cell.clean_recording import cell_node
from embodied_iqa.live.cell.looking import look_at_topics, look_through_drivers
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import NEWEST_STATE, adjustable
from embodied_iqa.runs.cell.cell_check import SeenArm, tool_pose
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.parameters import GraphParameters

_ROBOT_S: Final = 2.0
_NOT_READ: Final = "the arm was not read"


@dataclass(frozen=True, slots=True)
class SeenCell:
    """What was seen.

    Attributes:
        cameras: Of each view.
        arm: None in a cell without one.
    """

    cameras: tuple[SeenCamera, ...]
    arm: SeenArm | None


def look_at_cell(graph: GraphParameters, seconds: float, namespace: str = "") -> SeenCell:
    """Read the arm and see the cameras for some seconds; what cannot be opened is said in the result."""
    with ExitStack() as stack:
        node = stack.enter_context(cell_node("cell_check", namespace, graph))
        arm = _ArmLook(graph.arm_node, node) if graph.arm_node.robot.is_real else None
        if arm is not None:
            stack.callback(arm.close)
        cameras = _cameras(graph, node, arm.tool_poses if arm else PoseHistory(), seconds)
        robot = _read_robot(graph.arm_node)
        return SeenCell(tuple(cameras), replace(arm.seen(), robot=robot) if arm else None)


def _read_robot(config: ArmParameters) -> RobotState | None:
    """Return what the controller of a UR arm says of itself; None where another driver has it."""
    if not config.robot.is_real or config.driver is ArmDriver.ROS2_CONTROL:
        return None
    with suppress(InputError):  # the check of the model names it
        deadline_s = min(_ROBOT_S, config.ur.connect_s)
        return read_robot_state(config.ur, deadline_s, has_gripper=config.has_gripper)
    return None


def _cameras(graph: GraphParameters, node: Node, tool_poses: PoseHistory, seconds: float) -> list[SeenCamera]:
    config = graph.camera_node
    if config.source is CameraSource.TOPIC:
        names = config.topic.topics(tuple(str(view) for view in config.views))
        return look_at_topics(node, dict(zip(config.views, names, strict=True)), seconds)
    try:
        return look_through_drivers(node, config, tool_poses, seconds)
    except UserError as error:
        return [SeenCamera(view, str(config.source), problem=str(error)) for view in config.views]


class _ArmLook:
    """The arm while the cameras are looked at."""

    def __init__(self, config: ArmParameters, node: Node) -> None:
        self._config = config
        self._q_rad: tuple[float, ...] | None = None
        self._problem = ""
        self._reader: ArmReader | None = None
        self._pose_check: ToolPoseCheck | None = None
        self.tool_poses = PoseHistory()
        try:
            self._reader = open_arm(config, node, self._take)
        except UserError as error:
            self._problem = str(error)
            return
        if config.driver is ArmDriver.ROS2_CONTROL:
            options = config.ros2_control
            tool = tool_along_z(config.tool_length_m)
            self._pose_check = ToolPoseCheck(config.model, tool, options.joint_prefix)
            if options.pose_topic:
                node.create_subscription(
                    PoseStamped, options.pose_topic, self._take_pose, **adjustable(NEWEST_STATE)
                )

    def seen(self) -> SeenArm:
        if self._reader is None:
            return SeenArm(None, "", self._problem)
        if self._q_rad is None:
            return SeenArm(None, "", self._reader.problem or _NOT_READ)
        if self._pose_check is None:
            return SeenArm(self._q_rad, self._reader.remark, self._reader.problem)
        unknown = "the driver does not report the pose of the tool"
        problem = self._pose_check.problem
        return SeenArm(self._q_rad, self._pose_check.text, unknown if problem is None else problem)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _take(self, stamp_ns: int, q_rad: tuple[float, ...]) -> None:
        self._q_rad = q_rad
        self.tool_poses.add(stamp_ns, tool_pose(q_rad, self._config))
        if self._pose_check is not None:
            measured = ArmState(stamp_ns, np.array(q_rad), np.zeros(6), GripperState(position=0.0))
            self._pose_check.take_state(measured, stamp_ns)

    def _take_pose(self, message: PoseStamped) -> None:
        if self._pose_check is None:
            return
        try:
            T_frame_tool = matrix_from_pose(message.pose)
        except InputError:
            return
        self._pose_check.take_pose(message.header.frame_id, T_frame_tool, ns_of(message.header.stamp))
