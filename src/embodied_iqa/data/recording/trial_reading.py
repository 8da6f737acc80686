"""Reads the record of a trial from its recording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_record import (
    AnswerRecord,
    ChunkRecord,
    MotionVerdict,
    RunRecord,
    TrialRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.protocols import ChunkStatus

METADATA = "embodied_iqa"
"""Name of our metadata record in a recording."""
_SOURCE, _SIMULATED = "camera_node.source", "simulated"

TOPICS = (
    "/trial/events",
    "/vlm/answer",
    "/vla/actions",
    "/vla/reference_actions",
    "/gate/quality",
    "/gate/lease",
    "/arm/tool_pose",
)
"""Topics that the record of a trial is read from, beside those of the cameras."""
_CAMERA = re.compile(r"/camera/[^/]+/camera_info")

# the constants of the messages, which a recording does not carry
_RUN_START, _RUN_END = 1, 3
_OUTCOMES = {
    1: Outcome.SUCCESS,
    2: Outcome.FAILURE,
    3: Outcome.EMERGENCY_STOP,
    4: Outcome.HELD_BY_GATE,
    5: Outcome.NO_TARGET,
}
_STATUSES = {0: ChunkStatus.ACT, 1: ChunkStatus.DONE, 2: ChunkStatus.NO_TARGET}
_MODES = {0: GateMode.ON, 1: GateMode.SHADOW, 2: GateMode.OFF}


class NoRunError(InputError):
    """A recording ends before the first run of its trial."""


@dataclass(slots=True)
class TrialStreams:
    """Decoded messages of a recording; it may still be written."""

    starts: list[Any] = field(default_factory=list)
    ends: dict[int, Any] = field(default_factory=dict)
    answers: list[AnswerRecord] = field(default_factory=list)
    chunks: list[ChunkRecord] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    modes: dict[int, GateMode] = field(default_factory=dict)
    motions: list[MotionVerdict] = field(default_factory=list)
    poses: list[tuple[int, float, float, float]] = field(default_factory=list)
    images: list[int] = field(default_factory=list)

    def add(self, path: Path, topic: str, message: Any) -> None:
        """Add a message of a topic that `is_trial_topic` names.

        Raises:
            InputError: It is invalid; the error names ``path``.
        """
        try:
            _sort_in(self, topic, message)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: a message on {topic} is invalid: {error}") from None
        except AttributeError:  # a topic of somebody else with the same name
            kind = getattr(message, "__msgtype__", None)
            raise InputError(f"{path}: topic {topic} is of another type or version", got=kind) from None

    def run(self, place: int, until_ns: int = 0) -> RunRecord:
        """Return a run by its place in ``starts``.

        Args:
            place: From 0.
            until_ns: Last stamp of a run that has not ended; 0 for that of the last verdict.
        """
        return _run(self, self.starts[place], until_ns)

    def trial(self, runs: Sequence[RunRecord], metadata: dict[str, str]) -> TrialRecord:
        """Return the record of the trial with these runs, of which there is at least one."""
        first = self.starts[0]
        return TrialRecord(str(first.task), int(first.scene_seed), tuple(runs), metadata)


def read_trial(path: Path) -> TrialRecord:
    """Read a recorded trial.

    Raises:
        InputError: The file is not a recording, is cut short, or is not of a trial.
    """
    with TrialReader(path) as reader:
        topics = [topic for topic in reader.topics if is_trial_topic(topic)]
        streams = TrialStreams()
        for message in reader.messages(topics):
            streams.add(path, message.topic, reader.decode(message))
        metadata = reader.metadata().get(METADATA, {})
    if not streams.starts:
        raise NoRunError(f"{path} holds no run of a trial", expected="a run's start on /trial/events")
    return streams.trial([streams.run(place) for place in range(len(streams.starts))], metadata)


def was_simulated(metadata: Mapping[str, str]) -> bool | None:
    """Return whether the images are those of the simulated cell; None where the recording does not say.

    Args:
        metadata: Record `METADATA` of a recording.
    """
    return metadata[_SOURCE] == _SIMULATED if _SOURCE in metadata else None


def is_trial_topic(topic: str) -> bool:
    """Return whether the record of a trial is read from this topic."""
    return topic in TOPICS or _CAMERA.fullmatch(topic) is not None


def in_order(verdicts: Iterable[VerdictRecord]) -> tuple[VerdictRecord, ...]:
    """Return verdicts by stamp and view: in which order two cameras' images arrive is chance."""
    return tuple(sorted(verdicts, key=lambda verdict: (verdict.stamp_ns, verdict.view)))


def stamp_ns(message: Any) -> int:
    """Return the stamp of a message's header."""
    return _time_ns(message.header.stamp)


def _time_ns(stamp: Any) -> int:
    return int(stamp.sec) * SECOND_NS + int(stamp.nanosec)


def _sort_in(streams: TrialStreams, topic: str, message: Any) -> None:
    match topic:
        case "/trial/events" if message.kind == _RUN_START:
            streams.starts.append(message)
        case "/trial/events" if message.kind == _RUN_END:
            streams.ends[int(message.run_index)] = message
        case "/vlm/answer":
            streams.answers.append(_answer(message))
        case "/vla/actions" | "/vla/reference_actions":
            streams.chunks.append(_chunk(message))
        case "/gate/quality":
            streams.verdicts.append(_verdict(message))
        case "/gate/lease":
            streams.modes[stamp_ns(message)] = _MODES[int(message.mode)]
            if getattr(message, "of_decision", False):  # recordings of earlier versions have no such field
                streams.motions.append(_motion(message))
        case "/arm/tool_pose":
            p = message.pose.position
            streams.poses.append((stamp_ns(message), float(p.x), float(p.y), float(p.z)))
        case _ if topic.endswith("/camera_info"):
            streams.images.append(stamp_ns(message))


def _run(streams: TrialStreams, start: Any, until_ns: int) -> RunRecord:
    index, start_ns = int(start.run_index), stamp_ns(start)
    end = streams.ends.get(index)
    if end is not None:
        end_ns = stamp_ns(end)
    else:
        end_ns = max(start_ns, until_ns or max((v.stamp_ns for v in streams.verdicts), default=0))
    verdicts = in_order(v for v in streams.verdicts if start_ns <= v.stamp_ns <= end_ns)
    path = [
        ((stamp - start_ns) / SECOND_NS, x, y, z)
        for stamp, x, y, z in streams.poses
        if start_ns <= stamp <= end_ns
    ]
    # the end of a run is published when the world stands still; its last images may still be rendered
    counted = 0 if end is None else int(end.frames_published)
    modes = [mode for stamp, mode in streams.modes.items() if start_ns <= stamp <= end_ns]
    return RunRecord(
        index=index,
        distortion=_distortion(start.distortion),
        start_ns=start_ns,
        end_ns=end_ns,
        outcome=None if end is None else _OUTCOMES.get(int(end.outcome)),
        reason="" if end is None else str(end.reason),
        T_base_tool=np.eye(4) if end is None else matrix_from_pose(end.tool_pose),
        frames_published=max(counted, sum(start_ns <= stamp <= end_ns for stamp in streams.images)),
        frames_received=len(verdicts),
        gate_mode=modes[0] if modes else GateMode.OFF,
        answers=tuple(a for a in streams.answers if start_ns <= a.stamp_ns <= end_ns),
        chunks=tuple(c for c in streams.chunks if start_ns <= c.stamp_ns <= end_ns),
        verdicts=verdicts,
        tool_path=np.array(path, dtype=np.float64).reshape(-1, 4),
        motions=tuple(m for m in streams.motions if start_ns <= m.stamp_ns <= end_ns),
    )


def _distortion(message: Any) -> DistortionSpec | None:
    if not message.id:
        return None
    schedule = str(getattr(message, "schedule", ""))  # recordings of earlier versions have none
    return DistortionSpec(
        str(message.id), int(message.level), int(message.seed), bool(message.frozen), schedule
    )


def _answer(message: Any) -> AnswerRecord:
    return AnswerRecord(
        stamp_ns=stamp_ns(message),
        view=View(message.view),
        source=Source(int(message.source)),
        answer=str(message.answer),
        subject=str(message.subject),
        subject_version=str(message.subject_version),
        latency_ms=float(message.latency_ms),
    )


def _chunk(message: Any) -> ChunkRecord:
    rows = [(i.x, i.y, i.z, i.rx, i.ry, i.rz, i.gripper) for i in message.increments]
    u, v = float(message.target_u), float(message.target_v)
    return ChunkRecord(
        stamp_ns=stamp_ns(message),
        view=View(message.view),
        source=Source(int(message.source)),
        sequence=int(message.sequence),
        step=int(message.step),
        status=_STATUSES.get(int(message.status)),
        increments=np.array(rows, dtype=np.float64).reshape(-1, 7),
        reason=str(message.reason),
        target_px=(u, v) if math.isfinite(u) and math.isfinite(v) else None,
        seen=_number(message, "seen"),
        T_base_tool=matrix_from_pose(message.tool_pose),
        gripper=float(message.gripper),
        subject=str(message.subject),
        subject_version=str(message.subject_version),
        latency_ms=float(message.latency_ms),
        q_rad=_joints(message, "joints", (6,)),
        joints_rad=_joints(message, "joint_targets", (len(rows), 6)),
        other_frames=_other_frames(message),
    )


def _joints(message: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return joint angles of a decision; None where it has none, as in recordings of earlier versions."""
    values = np.array(getattr(message, name, ()), dtype=np.float64)
    return values.reshape(shape) if values.size and values.size == math.prod(shape) else None


def _other_frames(message: Any) -> tuple[tuple[View, int], ...]:
    """Return cameras and stamps of a decision's other images; none in recordings of earlier versions."""
    views, stamps = getattr(message, "other_views", ()), getattr(message, "other_stamps", ())
    return tuple((View(view), _time_ns(stamp)) for view, stamp in zip(views, stamps, strict=True))


def _motion(message: Any) -> MotionVerdict:
    return MotionVerdict(
        stamp_ns=stamp_ns(message),
        view=View(message.view),
        sequence=int(message.sequence),
        verdict=Verdict(int(message.judged)),
        reason=str(message.reason),
    )


def _verdict(message: Any) -> VerdictRecord:
    return VerdictRecord(
        stamp_ns=stamp_ns(message),
        view=View(message.view),
        verdict=Verdict(int(message.verdict)),
        reason=str(message.reason),
        latency_ms=float(message.latency_ms),
        predicted=_number(message, "predicted"),
        threshold=_number(message, "threshold"),
    )


def _number(message: Any, name: str) -> float | None:
    """Return a number that may be missing: NaN, or in a recording of an earlier version no such field."""
    value = float(getattr(message, name, math.nan))
    return None if math.isnan(value) else value
