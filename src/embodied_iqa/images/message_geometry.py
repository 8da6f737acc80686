"""Poses and intrinsics of ROS messages, as arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Intrinsics
from embodied_iqa.kinematics.se3 import matrix_to_quaternion, quaternion_to_matrix


def matrix_from_pose(pose: Any) -> NDArray[np.float64]:
    """Return a pose as a ``(4, 4)`` float64 transform (m).

    Args:
        pose: geometry_msgs/Pose, live or read from a recording; both give the same numbers bit for bit.
    """
    p, q = pose.position, pose.orientation
    T = np.eye(4)
    T[:3, :3] = quaternion_to_matrix(q.x, q.y, q.z, q.w)
    T[:3, 3] = p.x, p.y, p.z
    return T


def as_sent(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ``(4, 4)`` transform as it arrives in a message: the rotation rounded through a quaternion.

    Code that runs without messages gets the same numbers bit for bit this way.
    """
    sent = np.eye(4)
    sent[:3, :3] = quaternion_to_matrix(*matrix_to_quaternion(T[:3, :3]))
    sent[:3, 3] = T[:3, 3]
    return sent


def intrinsics_from_info(info: Any) -> Intrinsics:
    """Return the pinhole part of a sensor_msgs/CameraInfo, live or read from a recording."""
    k = [float(value) for value in info.k]
    return Intrinsics(int(info.width), int(info.height), k[0], k[4], k[2], k[5])
