"""Poses of real cameras, from the parameters and the poses of the tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import (
    IDENTITY,
    PoseAt,
    PoseHistory,
    checked_pose,
    fixed_pose,
    wrist_pose,
)
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.frames import tool_pose_of
from embodied_iqa.live.ros.qos import STATE
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


def stated_pose(config: CameraParameters, view: View) -> NDArray[np.float64] | None:
    """Return the pose ``(4, 4)`` that the parameters give a fixed camera (m); None where they give none.

    Raises:
        UsageError: It is invalid or implausible.
    """
    hand_eye = config.hand_eye
    fixed = {View.TOP: hand_eye.T_base_camera_top, View.SIDE: hand_eye.T_base_camera_side}
    numbers = fixed.get(view, IDENTITY)
    return None if numbers == IDENTITY else checked_pose(numbers, view)


def pose_functions(config: CameraParameters, tool_poses: PoseHistory) -> dict[View, PoseAt]:
    """Return the pose of each camera as a function of time.

    Args:
        config: Views and calibration.
        tool_poses: `T_base_tool` by ROS time, for the wrist camera.

    Raises:
        UsageError: A pose is invalid or implausible.
    """
    numbers = _numbers(config)
    hand_eye = config.hand_eye
    T_flange_tool = tool_along_z(hand_eye.tool_length_m)

    def pose_of(view: View) -> PoseAt:
        pose = checked_pose(numbers[view], view)
        if view != View.WRIST:
            return fixed_pose(pose)
        return wrist_pose(pose, T_flange_tool, tool_poses, round(hand_eye.longest_gap_s * SECOND_NS))

    return {view: pose_of(view) for view in config.views}


def known_poses(config: CameraParameters, tool_poses: PoseHistory) -> dict[View, PoseAt | None]:
    """Return the pose of each camera as `pose_functions` does; None for a camera that is not calibrated.

    Raises:
        UsageError: A pose is invalid or implausible.
    """
    numbers = _numbers(config)
    calibrated = tuple(view for view in config.views if numbers[view] != IDENTITY)
    known = pose_functions(replace(config, views=calibrated), tool_poses)
    return {view: known.get(view) for view in config.views}


def follow_tool(rig: CameraRig, history: PoseHistory) -> None:
    """Keep the poses of the tool, where a camera is on the wrist."""
    if View.WRIST not in rig.config.views:
        return

    def note(pose: PoseStamped) -> None:
        if (T_base_tool := tool_pose_of(rig.node, pose)) is not None:
            history.add(ns_of(pose.header.stamp), T_base_tool)

    rig.node.create_subscription(PoseStamped, "/arm/tool_pose", note, STATE)


def _numbers(config: CameraParameters) -> dict[View, tuple[float, ...]]:
    hand_eye = config.hand_eye
    return {
        View.TOP: hand_eye.T_base_camera_top,
        View.SIDE: hand_eye.T_base_camera_side,
        View.WRIST: hand_eye.T_flange_camera_wrist,
    }
