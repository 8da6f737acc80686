"""Poses of real cameras, from the parameters and the poses of the tool."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import (
    PoseAt,
    PoseHistory,
    checked_pose,
    fixed_pose,
    wrist_pose,
)
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.ros.conversion import ns_of, optical_frame
from embodied_iqa.live.ros.frames import tool_pose_of
from embodied_iqa.live.ros.qos import STATE, adjustable
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraKind


def stated_pose(config: CameraParameters, view: View) -> NDArray[np.float64] | None:
    """Return the pose ``(4, 4)`` that the parameters give a fixed camera (m); None where they give none.

    Raises:
        UsageError: It is invalid or implausible.
    """
    numbers = config.hand_eye.T_base_camera.get(view)
    return None if numbers is None else checked_pose(numbers, view, on_flange=False)


def pose_functions(config: CameraParameters, tool_poses: PoseHistory) -> dict[View, PoseAt]:
    """Return the pose of each camera as a function of time.

    Args:
        config: Views and calibration.
        tool_poses: `T_base_tool` by ROS time, for cameras on the flange.

    Raises:
        UsageError: A camera has no pose, or it is invalid or implausible.
    """
    found: dict[View, PoseAt] = {}
    for view, pose in known_poses(config, tool_poses).items():
        if pose is None:
            either = f"hand_eye.T_base_camera_{view} or hand_eye.T_flange_camera_{view}"
            raise UsageError(f"the {view} camera is not calibrated", expected=either)
        found[view] = pose
    return found


def known_poses(config: CameraParameters, tool_poses: PoseHistory) -> dict[View, PoseAt | None]:
    """Return the pose of each camera as `pose_functions` does; None for a camera that is not calibrated.

    Raises:
        UsageError: A pose is invalid or implausible.
    """
    hand_eye = config.hand_eye
    T_flange_tool = tool_along_z(hand_eye.tool_length_m)

    def pose_of(view: View) -> PoseAt | None:
        if (fixed := stated_pose(config, view)) is not None:
            return fixed_pose(fixed)
        if view not in hand_eye.T_flange_camera:
            return None
        pose = checked_pose(hand_eye.T_flange_camera[view], view, on_flange=True)
        return wrist_pose(pose, T_flange_tool, tool_poses, round(hand_eye.longest_gap_s * SECOND_NS))

    return {view: pose_of(view) for view in config.views}


def fix_cameras(
    config: CameraParameters, fix: Callable[[str, str, NDArray[np.float64]], None]
) -> frozenset[View]:
    """Make the frames of the cameras that the parameters place: in that of the base or of the flange.

    The parameters place no camera of the simulated world, and of stored images none on the flange.

    Args:
        config: Views, source and calibration.
        fix: Takes names of the parent and of the camera's optical frame, and the pose ``(4, 4)`` (m).

    Returns:
        The views of these cameras.

    Raises:
        UsageError: A pose is invalid or implausible.
    """
    kind, frames = config.source.kind, config.frames
    on_base = {} if kind is CameraKind.WORLD else config.hand_eye.T_base_camera
    on_flange = config.hand_eye.T_flange_camera if kind in {CameraKind.LIVE, CameraKind.OWN} else {}
    for view, numbers in on_base.items():
        fix(frames.base, optical_frame(view), checked_pose(numbers, view, on_flange=False))
    for view, numbers in on_flange.items():
        fix(frames.tool, optical_frame(view), checked_pose(numbers, view, on_flange=True))
    return frozenset({*on_base, *on_flange})


def followed_tool(rig: CameraRig) -> PoseHistory:
    """Return the poses of the tool, which are kept up where a camera is on the flange."""
    if rig.tool_poses is not None:
        return rig.tool_poses
    history = PoseHistory()
    if not rig.config.hand_eye.T_flange_camera:
        return history

    def note(pose: PoseStamped) -> None:
        if (T_base_tool := tool_pose_of(rig.node, pose)) is not None:
            history.add(ns_of(pose.header.stamp), T_base_tool)

    rig.node.create_subscription(PoseStamped, "arm/tool_pose", note, **adjustable(STATE))
    return history
