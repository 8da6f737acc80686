"""A decision as a goal of the arm: its steps, its joints, and the images that the gate has to pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from embodied_iqa_msgs.msg import ActionChunk
from numpy.typing import NDArray

from embodied_iqa.arm.robot.messages import ArmGoal
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.live.ros.conversion import header_of, increments_of, ns_of, optical_frame, time_of


def goal_of(message: ActionChunk) -> ArmGoal:
    """Return the goal of a chunk.

    Raises:
        UsageError: The name of the view is wrong.
        ValueError: There are not six joints for each step, or not a stamp for each camera.
    """
    joints = joint_goal_of(message)
    goal = ArmGoal(
        increments_of(message),
        parse_view(message.view),
        ns_of(message.header.stamp),
        message.sequence,
        whole=message.whole,
        other_frames=other_frames_of(message),
    )
    return goal if joints is None else replace(goal, q_seen_rad=joints[0], joints_rad=joints[1])


def name_frames(message: ActionChunk, frames: Sequence[tuple[View, int]]) -> None:
    """Write cameras and stamps [ns] of the images that a decision is based on, at least one."""
    (view, stamp_ns), *others = frames
    message.header, message.view = header_of(stamp_ns, optical_frame(view)), str(view)
    message.other_views = [str(other) for other, _ in others]
    message.other_stamps = [time_of(other_ns) for _, other_ns in others]


def other_frames_of(chunk: ActionChunk) -> tuple[tuple[View, int], ...]:
    """Return cameras and stamps [ns] of the other images of a decision.

    Raises:
        UsageError: The name of a view is wrong.
        ValueError: There is not one stamp for each.
    """
    pairs = zip(chunk.other_views, chunk.other_stamps, strict=True)
    return tuple((parse_view(view), ns_of(stamp)) for view, stamp in pairs)


def joint_goal_of(
    chunk: ActionChunk,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return joint angles ``(6,)`` seen and ``(K, 6)`` targets [rad]; None of a chunk that moves the tool.

    Raises:
        ValueError: There are not six for each step.
    """
    if not chunk.joint_targets:
        return None
    targets = np.array(chunk.joint_targets, dtype=np.float64)
    if len(chunk.joints) != 6 or targets.size != 6 * len(chunk.increments):
        raise ValueError(
            f"{targets.size} joint targets from {len(chunk.joints)} joints for {len(chunk.increments)} steps"
        )
    return np.array(chunk.joints, dtype=np.float64), targets.reshape(-1, 6)
