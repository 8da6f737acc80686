"""Poses as messages carry them (point and unit quaternion) and as transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

__all__ = ["as_sent", "matrix_from_pose"]


def matrix_from_pose(pose: Any) -> NDArray[np.float64]:
    """Return a pose as a ``(4, 4)`` float64 transform (m).

    Args:
        pose: Anything with ``position.x`` and so on and ``orientation.w`` and so on: a geometry_msgs/Pose,
            live or read from a recording. Both give the same numbers bit for bit.
    """
    p, q = pose.position, pose.orientation
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
    T[:3, 3] = p.x, p.y, p.z
    return T


def as_sent(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ``(4, 4)`` transform as it arrives in a message: the rotation rounded through a quaternion.

    What runs without messages gets the same numbers bit for bit this way.
    """
    sent = np.eye(4)
    sent[:3, :3] = Rotation.from_quat(Rotation.from_matrix(T[:3, :3]).as_quat()).as_matrix()
    sent[:3, 3] = T[:3, 3]
    return sent
