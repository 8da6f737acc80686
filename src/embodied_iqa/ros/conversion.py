"""Between our types and ROS messages."""

from __future__ import annotations

import math

import numpy as np
from builtin_interfaces.msg import Time
from embodied_iqa_msgs import msg as ours
from geometry_msgs.msg import Pose
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.distortions.spec import DistortionSpec
from embodied_iqa.gate.verdict import GateLease, GateMode, Verdict
from embodied_iqa.images.frame import Intrinsics, View
from embodied_iqa.images.realsense import RgbdFrame
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus

__all__ = [
    "camera_info_of",
    "depth_to_msg",
    "increments_of",
    "lease_of",
    "lease_to_msg",
    "ns_of",
    "pose_of",
    "spec_of",
    "spec_to_msg",
    "time_of",
]

_SECOND_NS = 1_000_000_000
_MODES = {
    GateMode.ON: ours.GateLease.MODE_ON,
    GateMode.SHADOW: ours.GateLease.MODE_SHADOW,
    GateMode.OFF: ours.GateLease.MODE_OFF,
}
_STATUSES = {
    ChunkStatus.ACT: ours.ActionChunk.STATUS_ACT,
    ChunkStatus.DONE: ours.ActionChunk.STATUS_DONE,
    ChunkStatus.NO_TARGET: ours.ActionChunk.STATUS_NO_TARGET,
}


def ns_of(stamp: Time) -> int:
    """Return a message's time in nanoseconds."""
    return int(stamp.sec) * _SECOND_NS + int(stamp.nanosec)


def time_of(stamp_ns: int) -> Time:
    """Return nanoseconds as a message's time."""
    return Time(sec=stamp_ns // _SECOND_NS, nanosec=stamp_ns % _SECOND_NS)


def pose_of(T: NDArray[np.float64]) -> Pose:
    """Return a ``(4, 4)`` transform as a pose [m, unit quaternion]."""
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = (float(value) for value in T[:3, 3])
    x, y, z, w = (float(value) for value in Rotation.from_matrix(T[:3, :3]).as_quat())
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = x, y, z, w
    return pose


def camera_info_of(intrinsics: Intrinsics) -> CameraInfo:
    """Return intrinsics as a camera info without distortion; the header is left to the caller."""
    k = intrinsics
    info = CameraInfo(width=k.width_px, height=k.height_px, distortion_model="plumb_bob")
    info.d = [0.0] * 5
    info.k = [k.fx_px, 0.0, k.cx_px, 0.0, k.fy_px, k.cy_px, 0.0, 0.0, 1.0]
    info.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    info.p = [k.fx_px, 0.0, k.cx_px, 0.0, 0.0, k.fy_px, k.cy_px, 0.0, 0.0, 0.0, 1.0, 0.0]
    return info


def spec_to_msg(spec: DistortionSpec | None) -> ours.DistortionSpec:
    """Return a distortion as asked for; None as an empty id."""
    if spec is None:
        return ours.DistortionSpec()
    return ours.DistortionSpec(id=spec.id, level=spec.level, seed=spec.seed, frozen=spec.frozen)


def spec_of(message: ours.DistortionSpec | ours.DistortionState) -> DistortionSpec | None:
    """Return what a message asks for; None for an empty id.

    Raises:
        UsageError: The level or seed does not exist.
    """
    if not message.id:
        return None
    return DistortionSpec(message.id, int(message.level), int(message.seed), bool(message.frozen))


def lease_to_msg(lease: GateLease, mode: GateMode) -> ours.GateLease:
    """Return a lease as a message."""
    message = ours.GateLease(
        view=str(lease.view),
        verdict=int(lease.verdict),
        judged=int(lease.judged),
        mode=_MODES[mode],
        expires=time_of(lease.expires_ns),
        reason=lease.reason,
    )
    message.header.stamp = time_of(lease.frame_stamp_ns)
    message.header.frame_id = optical_frame(lease.view)
    return message


def lease_of(message: ours.GateLease) -> GateLease:
    """Return a lease from a message."""
    return GateLease(
        view=View(message.view),
        frame_stamp_ns=ns_of(message.header.stamp),
        verdict=Verdict(message.verdict),
        judged=Verdict(message.judged),
        expires_ns=ns_of(message.expires),
        reason=message.reason,
    )


def optical_frame(view: View) -> str:
    """Return the name of a camera's optical frame."""
    return f"{view}_camera_optical_frame"


def depth_to_msg(both: RgbdFrame) -> Image:
    """Return depth aligned to colour as a picture in mm (16UC1, REP-118); 0 where nothing was measured."""
    depth = both.depth if both.depth is not None else np.zeros((0, 0), np.uint16)
    millimetres = np.round(depth * (both.depth_unit_m * 1e3)).clip(0, 65535).astype("<u2")
    message = Image(height=depth.shape[0], width=depth.shape[1], encoding="16UC1", step=2 * depth.shape[1])
    message.header.stamp = time_of(both.frame.stamp_ns)
    message.header.frame_id = optical_frame(both.frame.view)
    message.data.frombytes(millimetres.tobytes())
    return message


def increments_of(chunk: ours.ActionChunk) -> NDArray[np.float64]:
    """Return a chunk's increments as ``(K, 7)`` float64 [m, rad, 0-1]."""
    rows = [(i.x, i.y, i.z, i.rx, i.ry, i.rz, i.gripper) for i in chunk.increments]
    return np.array(rows, dtype=np.float64).reshape(-1, 7)


def chunk_to_msg(chunk: ActionChunk) -> ours.ActionChunk:
    """Return what a subject decided; header, view, source and the rest are left to the caller."""
    u, v = chunk.target_px if chunk.target_px is not None else (math.nan, math.nan)
    message = ours.ActionChunk(
        status=_STATUSES[chunk.status], reason=chunk.reason, target_u=float(u), target_v=float(v)
    )
    for row in chunk.increments:
        x, y, z, rx, ry, rz, gripper = (float(value) for value in row)
        message.increments.append(ours.ActionIncrement(x=x, y=y, z=z, rx=rx, ry=ry, rz=rz, gripper=gripper))
    return message
