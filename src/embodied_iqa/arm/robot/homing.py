"""Return of a real arm to the start pose between two runs: up, over, down."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.base.kinematics import increments_between, rotation_to_rotvec, rotvec_to_rotation

Array = NDArray[np.float64]

_CLEAR_M: Final = 0.05
_NEAR_M: Final = 0.003
_NEAR_RAD: Final = 0.01
_NEAR_GRIPPER: Final = 0.05
_STILL: Final = 1e-10
_MARGIN: Final = 1.05
"""Factor by which steps are shorter than allowed."""
LEGS: Final = ("up", "over", "down")
"""Parts of a way back."""


@dataclass(frozen=True, slots=True, eq=False)
class StartPose:
    """Pose in which every run of a trial begins.

    Attributes:
        T_base_tool: ``(4, 4)`` float64, the tool centre point (m).
        gripper: Gripper in [0, 1]: 0 open, 1 closed.
    """

    T_base_tool: Array
    gripper: float


def distance_to_start(start: StartPose, T_base_tool: Array, gripper: float) -> str:
    """Describe the distance from the start; empty within 3 mm, 0.6 degrees and 5 % of the gripper."""
    apart_m = float(np.linalg.norm(T_base_tool[:3, 3] - start.T_base_tool[:3, 3]))
    turn = rotation_to_rotvec(start.T_base_tool[:3, :3].T @ T_base_tool[:3, :3])
    apart_rad = float(np.linalg.norm(turn))
    if apart_m > _NEAR_M or apart_rad > _NEAR_RAD:
        return f"the tool is {1e3 * apart_m:.0f} mm and {np.degrees(apart_rad):.1f} degrees from the start"
    if abs(gripper - start.gripper) > _NEAR_GRIPPER:
        return f"the gripper is at {gripper:.2f}, not at {start.gripper:.2f} as at the start"
    return ""


def start_in_words(start: StartPose | None, T_base_tool: Array, gripper: float) -> str:
    """Describe the place in which the runs of a trial begin and end.

    Args:
        start: The start of an earlier trial of the same command; None for the first one.
        T_base_tool: ``(4, 4)``, present pose of the tool (m).
        gripper: Gripper in [0, 1].
    """
    if start is None:
        here = _place_in_words(StartPose(T_base_tool, gripper))
        return f"Every run begins and ends where the arm stands when you answer; now {here}."
    words = f"Every run begins and ends where the first one of this command did: {_place_in_words(start)}."
    apart = distance_to_start(start, T_base_tool, gripper)
    return f"{words}\nNow {apart}: before it moves there, another question comes." if apart else words


def way_in_words(start: StartPose, over_m: float) -> str:
    """Describe the way back: how high the tool goes, and where it ends."""
    return f"The way back: up to z {over_m:.3f} m, over, and down to {_place_in_words(start)}."


def _place_in_words(place: StartPose) -> str:
    x_m, y_m, z_m = place.T_base_tool[:3, 3]
    return f"the tool at x {x_m:.3f}, y {y_m:.3f}, z {z_m:.3f} m in base, the gripper at {place.gripper:.2f}"


def transfer_height(start: StartPose, T_base_tool: Array, limits: ArmLimits) -> float:
    """Return the height over which a way back from a pose goes (m): above both of its ends."""
    highest_m = float(max(T_base_tool[2, 3], start.T_base_tool[2, 3]))
    return min(highest_m + _CLEAR_M, limits.workspace_max_m[2])


@dataclass(frozen=True, slots=True, eq=False)
class WayBack:
    """A way to the start: the gripper first, then up, over and turned, down.

    Attributes:
        increments: ``(K, 7)`` as in `ActionChunk`; the first moves the gripper alone.
        ends: Number of increments to the end of each of `LEGS`.
    """

    increments: Array
    ends: tuple[int, ...]

    def leg(self, done: int) -> str:
        """Return on which of `LEGS` the tool is after some increments; empty where it does not move yet."""
        index = next((index for index, end in enumerate(self.ends) if done < end), len(LEGS) - 1)
        return LEGS[index] if done else ""


def way_back(start: StartPose, T_base_tool: Array, limits: ArmLimits, over_m: float) -> WayBack:
    """Return the way to the start.

    Args:
        start: The start pose.
        T_base_tool: ``(4, 4)``, present pose of the tool.
        limits: Limits of the increments.
        over_m: Of `transfer_height`, from where the way began: each attempt goes over the same height. A tool
            that is higher stays as high.
    """
    here, there = T_base_tool, start.T_base_tool
    over_m = max(over_m, here[2, 3])
    corners = (here, _raised(here, over_m), _raised(there, over_m), there)
    legs = [_straight(one, other, limits) for one, other in pairwise(corners)]
    twists = np.concatenate([np.zeros((1, 6)), *legs])
    ends = 1 + np.cumsum([len(leg) for leg in legs])
    return WayBack(np.column_stack([twists, np.full(len(twists), start.gripper)]), tuple(ends.tolist()))


def _raised(T_base_tool: Array, z_m: float) -> Array:
    pose = T_base_tool.copy()
    pose[2, 3] = max(z_m, pose[2, 3])
    return pose


def _straight(start: Array, end: Array, limits: ArmLimits) -> Array:
    """Return equal increments ``(K, 6)`` within the limits from pose to pose; none for equal poses."""
    distance_m = float(np.linalg.norm(end[:3, 3] - start[:3, 3]))
    turn_rad = rotation_to_rotvec(start[:3, :3].T @ end[:3, :3])
    angle_rad = float(np.linalg.norm(turn_rad))
    longest = max(distance_m / limits.increment_m, angle_rad / limits.increment_rad)
    if distance_m < _STILL and angle_rad < _STILL:
        return np.empty((0, 6))
    parts = np.linspace(0.0, 1.0, int(np.ceil(_MARGIN * longest)) + 1)
    poses = np.tile(np.eye(4), (len(parts), 1, 1))
    poses[:, :3, 3] = start[:3, 3] + parts[:, None] * (end[:3, 3] - start[:3, 3])
    poses[:, :3, :3] = [start[:3, :3] @ rotvec_to_rotation(part * turn_rad) for part in parts]
    return increments_between(poses)
