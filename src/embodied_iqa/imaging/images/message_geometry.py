"""Poses and intrinsics of ROS messages, as arrays and back."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.se3 import matrix_to_quaternion, quaternion_to_matrix
from embodied_iqa.imaging.images.frame import Intrinsics, LensCalibration

_UNIT: Final = 0.01
"""Largest distance of a quaternion's squared length from 1; tf2 has the same."""


def matrix_from_pose(pose: Any) -> NDArray[np.float64]:
    """Return a pose as a ``(4, 4)`` float64 transform (m).

    Args:
        pose: geometry_msgs/Pose, live or read from a recording; both give the same numbers bit for bit.

    Raises:
        InputError: A number is not finite, or the quaternion is not of length 1.
    """
    p, q = pose.position, pose.orientation
    place, turn = (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
    if not all(math.isfinite(number) for number in (*place, *turn)):
        raise InputError("not a valid pose", expected="finite numbers", got=[*place, *turn])
    if abs(sum(number * number for number in turn) - 1.0) > _UNIT:
        raise InputError("not a valid pose", expected="a quaternion of length 1", got=list(turn))
    T = np.eye(4)
    T[:3, :3] = quaternion_to_matrix(turn)
    T[:3, 3] = p.x, p.y, p.z
    return T


def is_unknown_pose(pose: Any) -> bool:
    """Return whether a geometry_msgs/Pose says that a pose is not known: all its numbers are NaN."""
    p, q = pose.position, pose.orientation
    return all(math.isnan(number) for number in (p.x, p.y, p.z, q.x, q.y, q.z, q.w))


def as_sent(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ``(4, 4)`` transform as it arrives in a message: the rotation rounded through a quaternion.

    Code that runs without messages gets the same numbers bit for bit this way.
    """
    sent = np.eye(4)
    sent[:3, :3] = quaternion_to_matrix(matrix_to_quaternion(T[:3, :3]))
    sent[:3, 3] = T[:3, 3]
    return sent


def intrinsics_from_info(info: Any) -> Intrinsics:
    """Return the pinhole part of a sensor_msgs/CameraInfo, live or read from a recording.

    Raises:
        InputError: The camera is not calibrated, which drivers say by zeros, or the numbers make no camera.
    """
    k = [float(value) for value in info.k]
    width_px, height_px = int(info.width), int(info.height)
    sound = min(width_px, height_px) > 0 and is_finite(info) and min(k[0], k[4]) > 0.0
    if not sound:
        raise InputError(
            "the camera is not calibrated",
            expected="a size and focal lengths above 0 px in its CameraInfo",
            got={"width": width_px, "height": height_px, "k": k},
        )
    return Intrinsics(width_px, height_px, k[0], k[4], k[2], k[5])


def lens_from_info(info: Any) -> LensCalibration | None:
    """Return the whole calibration of a sensor_msgs/CameraInfo; None where its camera is not calibrated.

    Raises:
        InputError: The numbers make no camera.
    """
    if is_uncalibrated(info):
        return None
    pinhole = intrinsics_from_info(info)
    d, k, r, p = (tuple(float(value) for value in row) for row in (info.d, info.k, info.r, info.p))
    if not all(map(math.isfinite, (*d, *r, *p))):
        raise InputError("not a valid CameraInfo", expected="finite numbers", got={"d": d, "r": r, "p": p})
    return LensCalibration(pinhole.width_px, pinhole.height_px, str(info.distortion_model), d, k, r, p)


def is_uncalibrated(info: Any) -> bool:
    """Return whether a sensor_msgs/CameraInfo says that its camera is not calibrated: k is all zeros."""
    return not any(info.k)


def is_finite(info: Any) -> bool:
    """Return whether all numbers of the intrinsic matrix of a sensor_msgs/CameraInfo are finite."""
    return all(math.isfinite(value) for value in info.k)
