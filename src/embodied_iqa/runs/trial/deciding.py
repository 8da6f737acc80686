"""One question to a VLA or a VLM, the same live, headless and in rescoring; a failure is a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import TOOL_2F140_M
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.data.recording.trial_record import AnswerRecord, ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.inference import Outcome, attempt
from embodied_iqa.world.protocols import (
    ActionChunk,
    ChunkStatus,
    SubjectInfo,
    Vla,
    VlaObservation,
    Vlm,
)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionRequest:
    """A decision to make: the VLA's observation without its images.

    Attributes:
        stamp_ns: Of the frames.
        source: Raw or distorted images.
        sequence: Number of the decision; the raw and the distorted one share it.
        step: Chunks executed before in this run.
        task: The instruction.
        T_base_tool: ``(4, 4)`` float64 (m).
        gripper: 0 open to 1 closed.
        q_rad: ``(6,)`` float64, joint angles; None where they are not known.
        native_state: See `VlaObservation`.
        objects: See `VlaObservation`.
    """

    stamp_ns: int
    source: Source
    sequence: int
    step: int
    task: str
    T_base_tool: NDArray[np.float64]
    gripper: float
    q_rad: NDArray[np.float64] | None = None
    native_state: NDArray[np.float64] | None = None
    objects: Mapping[str, NDArray[np.float64]] | None = None


def decide(vla: Vla, request: DecisionRequest, frames: Mapping[View, Frame], turn: int = 0) -> ChunkRecord:
    """Ask a VLA; whatever it raises is a record with status None and the reason.

    Args:
        vla: The VLA.
        request: The question.
        frames: Of the cameras of the policy that decides at this turn.
        turn: See `SubjectInfo.at_turn`.
    """
    outcome = attempt(partial(act, vla, request, frames, turn))
    return chunk_record(vla.info.at_turn(turn), request, outcome, frames)


def act(vla: Vla, request: DecisionRequest, frames: Mapping[View, Frame], turn: int = 0) -> ActionChunk:
    """Ask a VLA and check its chunk; the arguments are those of `decide`.

    Raises:
        InputError: The chunk is malformed, or the VLA commands joints that are not known.
        Exception: Whatever the VLA raises.
    """
    info = vla.info.at_turn(turn)
    observation = VlaObservation(
        frames=frames,
        instruction=request.task,
        T_base_tool=request.T_base_tool,
        gripper=request.gripper,
        step=request.step,
        q_rad=_joints_for(info, request),
        native_state=request.native_state,
        objects=request.objects if info.privileged else None,
    )
    chunk = vla.act(observation)
    increments = np.asarray(chunk.increments, dtype=np.float64)
    if increments.size == 0:
        increments = np.empty((0, 7))
    if increments.ndim != 2 or increments.shape[1] != 7:
        raise InputError("malformed increments", expected="(K, 7) numbers", got=increments.shape)
    target_px = None if chunk.target_px is None else (float(chunk.target_px[0]), float(chunk.target_px[1]))
    status, seen = ChunkStatus(chunk.status), None if chunk.seen is None else float(chunk.seen)
    if seen is not None and not 0.0 <= seen <= 1.0:
        raise InputError("malformed probability that the target is seen", expected="0 to 1", got=seen)
    joints_rad = _joints_of(info, chunk, len(increments))
    return replace(
        chunk, status=status, increments=increments, target_px=target_px, seen=seen, joints_rad=joints_rad
    )


def _joints_for(info: SubjectInfo, request: DecisionRequest) -> NDArray[np.float64] | None:
    """Return the joint angles that a subject is shown; None where it commands none.

    Raises:
        InputError: It commands joints of our arm, which are not known: it would decide on invented ones.
    """
    if not info.joints_of:
        return None
    if info.joints_of == ArmModel.UR5 and request.q_rad is None:
        raise InputError(
            f"{info.name} commands the joints of a UR5, and those in its images are not known",
            expected=f"joint states of a UR5 with a tool of {TOOL_2F140_M:g} m "
            "(arm_node.model, arm_node.tool_length_m)",
        )
    return request.q_rad


def _joints_of(info: SubjectInfo, chunk: ActionChunk, steps: int) -> NDArray[np.float64] | None:
    """Return the joint targets of a chunk, ``(K, 6)``, or None.

    Raises:
        InputError: The subject does not declare that it commands joints of our arm, or they are malformed.
    """
    if chunk.joints_rad is None or steps == 0:
        return None
    if not info.joints_of:
        raise InputError(
            f"{info.name} gives joint angles and does not declare whose",
            expected="SubjectInfo.joints_of, such as ur5",
        )
    if info.joints_of != ArmModel.UR5:
        raise InputError(
            f"{info.name} gives joint angles of another arm", expected=ArmModel.UR5, got=info.joints_of
        )
    joints = np.asarray(chunk.joints_rad, dtype=np.float64)
    if joints.shape != (steps, 6) or not np.isfinite(joints).all():
        raise InputError("malformed joint angles", expected=f"({steps}, 6) finite numbers", got=joints.shape)
    return joints


def chunk_record(
    info: SubjectInfo,
    request: DecisionRequest,
    outcome: Outcome[ActionChunk],
    frames: Mapping[View, Frame],
) -> ChunkRecord:
    """Return the record of a decision on frames; without an answer, with status None and no increments."""
    chunk = outcome.result
    return ChunkRecord(
        stamp_ns=request.stamp_ns,
        view=info.views[0],
        source=request.source,
        sequence=request.sequence,
        step=request.step,
        status=None if chunk is None else chunk.status,
        increments=np.empty((0, 7)) if chunk is None else chunk.increments,
        reason=outcome.reason if chunk is None else chunk.reason,
        target_px=None if chunk is None else chunk.target_px,
        seen=None if chunk is None else chunk.seen,
        T_base_tool=request.T_base_tool,
        gripper=request.gripper,
        subject=info.name,
        subject_version=info.version,
        latency_ms=outcome.latency_ms if chunk is None else outcome.model_ms,
        q_rad=request.q_rad if info.joints_of else None,
        joints_rad=None if chunk is None else chunk.joints_rad,
        other_frames=tuple((view, frames[view].stamp_ns) for view in info.views[1:] if view in frames),
    )


def answer(vlm: Vlm, frame: Frame, source: Source, task: str) -> Outcome[AnswerRecord]:
    """Ask a VLM about a frame; whatever it raises is an outcome without a record."""
    return attempt(partial(describe, vlm, frame, source, task))


def describe(vlm: Vlm, frame: Frame, source: Source, task: str) -> AnswerRecord:
    """Ask a VLM about a frame and check its answer.

    Raises:
        InputError: The answer is not a text.
        Exception: Whatever the VLM raises.
    """
    began_s = perf_counter()
    text = vlm.answer(frame, task)
    latency_ms = 1e3 * (perf_counter() - began_s)
    if not isinstance(text, str):
        raise InputError("malformed answer", expected="a text", got=type(text).__name__)
    return AnswerRecord(frame.stamp_ns, frame.view, source, text, vlm.info.name, vlm.info.version, latency_ms)
