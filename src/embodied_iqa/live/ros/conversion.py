"""Conversion between our types and ROS messages."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from builtin_interfaces.msg import Time
from embodied_iqa_msgs import msg as ours
from embodied_iqa_msgs.action import RunTrial
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header

from embodied_iqa.arm.robot.foreign.options import JOINTS
from embodied_iqa.arm.robot.homing import StartPose
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.kinematics.se3 import matrix_to_quaternion
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import ChunkRecord, failure_in_words
from embodied_iqa.imaging.distortions import DistortionSpec, entry
from embodied_iqa.imaging.images.frame import (
    Frame,
    Intrinsics,
    LensCalibration,
    View,
    parse_view,
    pinhole_lens,
)
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.imaging.images.live_camera import RgbdFrame
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus

if TYPE_CHECKING:  # only one node makes trials
    from embodied_iqa.runs.trial.protocol import TrialPlan

BASE_FRAME: Final = "base"
JOINT_NAMES: Final = (*(f"{name}_joint" for name in JOINTS), "gripper")
"""Of a UR, as its URDF names them, and of its gripper."""
LATEST_NS: Final = 2**31 * SECOND_NS - 1
"""The latest time that a message can hold."""

_MODES = {
    GateMode.ON: ours.GateLease.MODE_ON,
    GateMode.SHADOW: ours.GateLease.MODE_SHADOW,
    GateMode.OFF: ours.GateLease.MODE_OFF,
}
_STATUSES: dict[ChunkStatus | None, int] = {
    None: ours.ActionChunk.STATUS_FAILED,
    ChunkStatus.ACT: ours.ActionChunk.STATUS_ACT,
    ChunkStatus.DONE: ours.ActionChunk.STATUS_DONE,
    ChunkStatus.NO_TARGET: ours.ActionChunk.STATUS_NO_TARGET,
}

_STATUS_OF_NUMBER = {number: status for status, number in _STATUSES.items()}


def chunk_status(message: ours.ActionChunk) -> ChunkStatus | None:
    """Return the status of a chunk; None where the policy failed."""
    return _STATUS_OF_NUMBER.get(message.status)


def chunk_failure(message: ours.ActionChunk) -> str:
    """Return which node's subject failed and how, in a line; empty where a decision came."""
    if message.status != ours.ActionChunk.STATUS_FAILED:
        return ""
    return f"vla_node: {failure_in_words(message.subject, message.reason)}"


def ns_of(stamp: Time) -> int:
    """Return the time of a message in nanoseconds."""
    return stamp.sec * SECOND_NS + stamp.nanosec


def time_of(stamp_ns: int) -> Time:
    """Return nanoseconds as the time of a message."""
    return Time(sec=stamp_ns // SECOND_NS, nanosec=stamp_ns % SECOND_NS)


def header_of(stamp_ns: int, frame_id: str = BASE_FRAME) -> Header:
    """Return the header of a message."""
    return Header(stamp=time_of(stamp_ns), frame_id=frame_id)


def joints_to_msg(
    stamp_ns: int,
    positions: Sequence[float],
    velocities: Sequence[float] = (),
    names: Sequence[str] = JOINT_NAMES,
    frame_id: str = BASE_FRAME,
) -> JointState:
    """Return the six joints [rad, rad/s], followed by the gripper where there is a seventh value."""
    return JointState(
        header=header_of(stamp_ns, frame_id),
        name=list(names[: len(positions)]),
        position=positions,
        velocity=velocities,
    )


def pose_of(T: NDArray[np.float64]) -> Pose:
    """Return a ``(4, 4)`` transform as a pose [m, unit quaternion]."""
    x, y, z = T[:3, 3].tolist()
    qx, qy, qz, qw = matrix_to_quaternion(T[:3, :3])
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def start_of(message: RunTrial.Goal | RunTrial.Result) -> StartPose | None:
    """Return where the runs of a trial begin; None where the message has no such place.

    Raises:
        InputError: The pose is invalid.
    """
    poses = list(message.start_pose)
    return StartPose(matrix_from_pose(poses[0]), message.start_gripper) if poses else None


def unknown_pose() -> Pose:
    """Return the pose that says that a pose is not known: all its numbers are NaN."""
    place, turn = dict.fromkeys("xyz", math.nan), dict.fromkeys("xyzw", math.nan)
    return Pose(position=Point(**place), orientation=Quaternion(**turn))


def uncalibrated_info(width_px: int, height_px: int) -> CameraInfo:
    """Return the info of a camera that is not calibrated: its matrices are zeros, as CameraInfo has it."""
    return CameraInfo(width=width_px, height=height_px)


def camera_info_of(intrinsics: Intrinsics) -> CameraInfo:
    """Return intrinsics as a camera info without lens distortion; the caller sets the header."""
    return _lens_info(pinhole_lens(intrinsics))


def info_of(frame: Frame) -> CameraInfo:
    """Return the camera info of a frame, as far as it is known; the caller sets the header."""
    lens = frame.lens
    if lens is None:
        known = frame.intrinsics
        return uncalibrated_info(*frame.size_px) if known is None else camera_info_of(known)
    return _lens_info(lens)


def _lens_info(lens: LensCalibration) -> CameraInfo:
    return CameraInfo(
        width=lens.width_px,
        height=lens.height_px,
        distortion_model=lens.model,
        d=lens.d,
        k=lens.k,
        r=lens.r,
        p=lens.p,
    )


def frame_to_msgs(frame: Frame, base_frame: str = BASE_FRAME) -> tuple[CameraInfo, PoseStamped, bytes]:
    """Return camera info, pose in the base frame and image of a frame; the image serialised."""
    stamp_ns, frame_id = frame.stamp_ns, optical_frame(frame.view)
    info, T_base_camera = info_of(frame), frame.T_base_camera
    info.header = header_of(stamp_ns, frame_id)
    pose = unknown_pose() if T_base_camera is None else pose_of(T_base_camera)
    image = image_to_cdr(frame.rgb, stamp_ns, frame_id)
    return info, PoseStamped(header=header_of(stamp_ns, base_frame), pose=pose), image


def spec_to_msg(spec: DistortionSpec | None) -> ours.DistortionSpec:
    """Return a requested distortion; None as an empty id."""
    if spec is None:
        return ours.DistortionSpec()
    return ours.DistortionSpec(
        id=spec.id, level=spec.level, seed=spec.seed, frozen=spec.frozen, schedule=spec.schedule
    )


def state_to_msg(spec: DistortionSpec | None, origin_ns: int, stamp_ns: int) -> ours.DistortionState:
    """Return an applied distortion, None as an empty id, with its level at a stamp.

    Args:
        spec: The distortion.
        origin_ns: Where its schedule begins, ROS time.
        stamp_ns: The state's, ROS time.

    Raises:
        UsageError: The distortion does not exist.
    """
    header = Header(stamp=time_of(stamp_ns))
    if spec is None:
        return ours.DistortionState(header=header)
    return ours.DistortionState(
        header=header,
        id=spec.id,
        name=entry(spec.id).name,
        level=spec.level,
        seed=spec.seed,
        frozen=spec.frozen,
        schedule=spec.schedule,
        origin=time_of(origin_ns),
        level_now=spec.level_at(stamp_ns - origin_ns),
    )


def spec_of(message: ours.DistortionSpec | ours.DistortionState) -> DistortionSpec | None:
    """Return the requested distortion; None for an empty id.

    Raises:
        UsageError: The level, the seed or the schedule is wrong.
    """
    if not message.id:
        return None
    return DistortionSpec(message.id, message.level, message.seed, message.frozen, message.schedule)


def lease_to_msg(lease: GateLease, mode: GateMode, frame_id: str = "") -> ours.GateLease:
    """Return a lease as a message; the frame of the image is that of our own cameras unless it is given."""
    return ours.GateLease(
        header=header_of(lease.frame_stamp_ns, frame_id or optical_frame(lease.view)),
        view=str(lease.view),
        verdict=int(lease.verdict),
        judged=int(lease.judged),
        mode=_MODES[mode],
        expires=time_of(lease.expires_ns),
        reason=lease.reason,
        needs_decision=lease.needs_decision,
        of_decision=lease.decision is not None,
        sequence=lease.decision or 0,
    )


def quality_to_msg(quality: ImageQuality, latency_ms: float, frame_id: str = "") -> ours.ImageQuality:
    """Return the quality of an image as a message; for the frame see `lease_to_msg`.

    Args:
        quality: Of the image.
        latency_ms: How long judging took.
        frame_id: Of the image.
    """
    predicted, measured = quality.prediction, quality.statistics
    return ours.ImageQuality(
        header=header_of(quality.stamp_ns, frame_id or optical_frame(quality.view)),
        view=str(quality.view),
        statistics=[]
        if measured is None
        else [ours.NamedValue(name=str(name), value=float(measured.value(name))) for name in Statistic],
        frame_verdict=int(quality.frame_verdict),
        verdict=int(quality.verdict),
        reason=quality.reason,
        latency_ms=latency_ms,
        predicted=math.nan if predicted is None else predicted.value,
        threshold=math.nan if predicted is None else predicted.threshold,
        wrong_motion=math.nan
        if predicted is None or predicted.wrong_motion is None
        else predicted.wrong_motion,
    )


def lease_of(message: ours.GateLease) -> GateLease:
    """Return a lease from a message.

    Raises:
        ValueError: A wrong name of a view, or the verdict does not exist.
    """
    return GateLease(
        view=View(message.view),
        frame_stamp_ns=ns_of(message.header.stamp),
        verdict=Verdict(message.verdict),
        judged=Verdict(message.judged),
        expires_ns=ns_of(message.expires),
        reason=message.reason,
        needs_decision=message.needs_decision,
        decision=message.sequence if message.of_decision else None,
    )


def decision_of(message: ours.ActionChunk, views: Collection[View]) -> GateDecision:
    """Return what the gate needs of a decision.

    Args:
        message: The decision.
        views: The gate's cameras.

    Raises:
        UsageError: The view is none of them.
    """
    seen = None if math.isnan(message.seen) else message.seen
    return GateDecision(parse_view(message.view, views), ns_of(message.header.stamp), message.sequence, seen)


def optical_frame(view: View) -> str:
    """Return the name of the optical frame of a camera."""
    return f"{view}_camera_optical_frame"


def depth_to_msg(both: RgbdFrame) -> Image:
    """Return depth aligned to colour as an image in mm (16UC1, REP-118); 0 where depth is unknown."""
    depth = both.depth if both.depth is not None else np.zeros((0, 0), np.uint16)
    millimetres = np.round(depth * (both.depth_unit_m * 1e3)).clip(0, 65535).astype("<u2")
    return Image(
        header=header_of(both.frame.stamp_ns, optical_frame(both.frame.view)),
        height=depth.shape[0],
        width=depth.shape[1],
        encoding="16UC1",
        step=2 * depth.shape[1],
        data=millimetres.tobytes(),
    )


def increments_of(chunk: ours.ActionChunk) -> NDArray[np.float64]:
    """Return the increments of a chunk as ``(K, 7)`` float64 [m, rad, 0-1]."""
    rows = [(i.x, i.y, i.z, i.rx, i.ry, i.rz, i.gripper) for i in chunk.increments]
    return np.array(rows, dtype=np.float64).reshape(-1, 7)


def chunk_to_msg(chunk: ActionChunk | ChunkRecord) -> ours.ActionChunk:
    """Return status, increments, reason, target, `seen` of a decision; the caller sets the other fields."""
    u, v = chunk.target_px if chunk.target_px is not None else (math.nan, math.nan)
    return ours.ActionChunk(
        status=_STATUSES[chunk.status],
        reason=chunk.reason,
        target_u=float(u),
        target_v=float(v),
        seen=math.nan if chunk.seen is None else float(chunk.seen),
        joint_targets=[] if chunk.joints_rad is None else chunk.joints_rad.ravel().tolist(),
        increments=[
            ours.ActionIncrement(x=x, y=y, z=z, rx=rx, ry=ry, rz=rz, gripper=gripper)
            for x, y, z, rx, ry, rz, gripper in chunk.increments.tolist()
        ],
    )


def trial_event(plan: TrialPlan, kind: int, stamp_ns: int, run_index: int, start_ns: int) -> ours.TrialEvent:
    """Return an event of a trial; the schedule of a run's distortion begins at ``start_ns``."""
    return ours.TrialEvent(
        header=header_of(stamp_ns),
        kind=kind,
        run_index=run_index,
        run_count=plan.run_count,
        task=plan.task,
        scene_seed=plan.scene_seed,
        distortion=state_to_msg(plan.distortion(run_index), start_ns, stamp_ns),
    )
