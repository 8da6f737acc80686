"""The record of a trial, from which scores and report are computed."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.protocols import ChunkStatus

NOT_EXECUTED: Final = "rescored from recorded images; nothing was executed"
ANSWERED: Final = "answered and decided"
DECIDED: Final = "decided"
"""Why a run has no outcome whose images were only rescored."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """Answer of a VLM about one frame.

    Attributes:
        stamp_ns: The frame's.
        view: The camera.
        source: Raw or distorted image.
        answer: The text; may be empty.
        subject: Name of the VLM.
        subject_version: Its version.
        latency_ms: Time the answer took.
    """

    stamp_ns: int
    view: View
    source: Source
    answer: str
    subject: str
    subject_version: str
    latency_ms: float


@dataclass(frozen=True, slots=True, eq=False)
class ChunkRecord:
    """Decision of a VLA on one frame.

    Attributes:
        stamp_ns: The frame's.
        view: The subject's first camera.
        source: Raw or distorted images.
        sequence: Counts decisions; the raw and the distorted one share it.
        step: Chunks executed before in this run.
        status: None where the subject failed.
        increments: ``(K, 7)`` float64, see `world.protocols.ActionChunk`.
        reason: In words; where the subject failed, why.
        target_px: Pixel that the subject aimed at, or None.
        seen: Probability in [0, 1] that the images show what the task names, by the subject; or None.
        T_base_tool: ``(4, 4)`` float64, tool pose in the observation (m).
        gripper: Gripper state in the observation, 0 open to 1 closed.
        subject: Name of the VLA.
        subject_version: Its version.
        latency_ms: Time the decision took.
        q_rad: ``(6,)`` float64, joint angles in the observation; None where it had none.
        joints_rad: ``(K, 6)`` float64, see `world.protocols.ActionChunk`; None where it commands the tool.
        other_frames: Cameras and stamps of the other images that it decided on.
    """

    stamp_ns: int
    view: View
    source: Source
    sequence: int
    step: int
    status: ChunkStatus | None
    increments: NDArray[np.float64]
    reason: str
    target_px: tuple[float, float] | None
    seen: float | None
    T_base_tool: NDArray[np.float64]
    gripper: float
    subject: str
    subject_version: str
    latency_ms: float
    q_rad: NDArray[np.float64] | None = None
    joints_rad: NDArray[np.float64] | None = None
    other_frames: tuple[tuple[View, int], ...] = ()

    def stamp_of(self, view: View) -> int:
        """Return the stamp of a camera's image; recordings of earlier versions have one for all."""
        return dict(self.other_frames).get(view, self.stamp_ns)

    @property
    def is_decision(self) -> bool:
        """Whether the subject decided: it did not fail, and its increments are finite."""
        return self.status is not None and bool(np.isfinite(self.increments).all())

    @property
    def failure(self) -> str:
        """Who failed and how, in a line; empty where a decision came."""
        return failure_in_words(self.subject, self.reason) if self.status is None else ""


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """Verdict of the gate on one frame.

    Attributes:
        stamp_ns: The frame's.
        view: The camera.
        verdict: After debouncing, whatever the mode.
        reason: In words.
        latency_ms: Time to judge it.
        predicted: By a fitted judge, higher is worse; None where nothing is predicted.
        threshold: Frames with a higher prediction are held; None where nothing is predicted.
    """

    stamp_ns: int
    view: View
    verdict: Verdict
    reason: str
    latency_ms: float
    predicted: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class MotionVerdict:
    """Verdict of the second stage of the gate on a decision to move.

    Attributes:
        stamp_ns: Of the frame that it was decided on.
        view: The camera.
        sequence: Of the decision.
        verdict: Whatever the mode.
        reason: In words.
    """

    stamp_ns: int
    view: View
    sequence: int
    verdict: Verdict
    reason: str

    @classmethod
    def of(cls, lease: GateLease) -> MotionVerdict:
        """Return the verdict that a lease of a decision holds."""
        return cls(lease.frame_stamp_ns, lease.view, lease.decision or 0, lease.judged, lease.reason)


def failure_in_words(subject: str, reason: str) -> str:
    """Return that a subject failed, and the first line of what it raised."""
    return f"{subject} failed: {next(iter(reason.splitlines()), '')}"


@dataclass(frozen=True, slots=True, eq=False)
class RunRecord:
    """One run: the reference run (index 0) or a distorted one.

    Attributes:
        index: 0 is the reference run.
        distortion: None for the reference run.
        start_ns: First stamp of the run, ROS time; the schedule of the distortion begins there.
        end_ns: Last stamp of the run, ROS time; on a real arm that of its last image.
        outcome: How it ended; None where the recording ends before.
        reason: Why it ended, in words.
        T_base_tool: ``(4, 4)`` float64, where the tool was at the end (m).
        frames_published: Images that the cameras published.
        frames_received: Images that the gate judged.
        gate_mode: on, shadow or off.
        answers: Of the VLM, by time.
        chunks: Of the VLA, by time; raw and distorted.
        verdicts: Of the gate, by time.
        motions: Verdicts of its second stage, by time; empty where it has none, None where unknown.
        tool_path: ``(N, 4)`` float64 rows ``(stamp_s, x, y, z)`` of the tool, seconds since the start, m.
        executed: Sequences of the decisions that moved the arm; None where unknown, as in a recording.
        peak_contact_n: Highest force on table, wall or floor [N]; None where unknown.
        recorded: What was done at the frames of decisions, of the images of a data set; None where nobody
            asked.
    """

    index: int
    distortion: DistortionSpec | None
    start_ns: int
    end_ns: int
    outcome: Outcome | None
    reason: str
    T_base_tool: NDArray[np.float64]
    frames_published: int
    frames_received: int
    gate_mode: GateMode
    answers: tuple[AnswerRecord, ...]
    chunks: tuple[ChunkRecord, ...]
    verdicts: tuple[VerdictRecord, ...]
    tool_path: NDArray[np.float64]
    motions: tuple[MotionVerdict, ...] | None = ()
    executed: tuple[int, ...] | None = None
    peak_contact_n: float | None = None
    recorded: tuple[ChunkRecord, ...] | None = None

    def level_at(self, stamp_ns: int, view: str = "") -> int:
        """Return the level of the distortion at a stamp, 0 (undistorted) to 5.

        Args:
            stamp_ns: In the run.
            view: The camera; empty for those that are distorted at all.
        """
        return 0 if self.distortion is None else self.distortion.level_at(stamp_ns - self.start_ns, view)

    @property
    def was_executed(self) -> bool:
        """Whether an arm was there to move; False where images were only answered, decided on or rescored."""
        is_only_seen = self.reason == NOT_EXECUTED or self.reason.partition(";")[0] in {ANSWERED, DECIDED}
        return self.outcome is not None or not is_only_seen

    @property
    def failure(self) -> str:
        """How the VLA failed where it failed at every decision for the arm; empty where one came."""
        own = [chunk for chunk in self.chunks if chunk.source is Source.DISTORTED]
        return own[-1].failure if own and all(chunk.status is None for chunk in own) else ""

    @property
    def verdicts_in_turn(self) -> tuple[VerdictRecord, ...]:
        """Verdicts on the camera behind the decisions, by time.

        Where policies of several cameras take turns, that is the camera of the last decision up to the frame;
        before any, that of the first one.
        """
        turns = sorted(((chunk.stamp_ns, chunk.view) for chunk in self.chunks), key=itemgetter(0))
        if not turns:
            turns = [(item.stamp_ns, item.view) for item in self.verdicts[:1]]
        stamps_ns = [stamp_ns for stamp_ns, _ in turns]
        return tuple(
            item
            for item in sorted(self.verdicts, key=attrgetter("stamp_ns"))
            if item.view == turns[max(0, bisect_right(stamps_ns, item.stamp_ns) - 1)][1]
        )

    @property
    def held_s(self) -> float:
        """Time in which an obeyed gate passed no image of the camera behind the decisions [s]."""
        seen = self.verdicts_in_turn
        if self.gate_mode is not GateMode.ON or not seen:
            return 0.0
        ends_ns = [*(item.stamp_ns for item in seen), max(self.end_ns, seen[-1].stamp_ns)]
        held_ns = (
            end_ns - begin_ns
            for item, (begin_ns, end_ns) in zip(seen, pairwise(ends_ns), strict=True)
            if item.verdict is not Verdict.PASS
        )
        return sum(held_ns) / SECOND_NS

    @property
    def distorter(self) -> FrameDistorter:
        """The distorter of the run: of a raw image it makes the image that the subjects saw.

        Raises:
            UsageError: The distortion does not exist.
        """
        return FrameDistorter(self.distortion, self.start_ns)

    def answer(self, source: Source) -> AnswerRecord | None:
        """Return the first answer about a source."""
        return next((answer for answer in self.answers if answer.source is source), None)

    def decisions(self) -> list[tuple[ChunkRecord, ChunkRecord]]:
        """Return (raw, distorted) pairs on the same frame, by time."""
        raw = {chunk.sequence: chunk for chunk in self.chunks if chunk.source is Source.RAW}
        distorted = [chunk for chunk in self.chunks if chunk.source is Source.DISTORTED]
        return [(raw[chunk.sequence], chunk) for chunk in distorted if chunk.sequence in raw]


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord:
    """One task: the reference run and the distorted runs.

    Attributes:
        task: The instruction.
        scene_seed: Seed of the scene.
        runs: By index.
        metadata: Configuration and versions stored with the recording.
    """

    task: str
    scene_seed: int
    runs: tuple[RunRecord, ...]
    metadata: dict[str, str]

    @property
    def scene(self) -> int | None:
        """Seed of the scene of the simulated cell; None in another world, which was generated from none."""
        in_cell = self.was_executed and self.metadata.get("arm_node.robot", "sim") == "sim"
        return self.scene_seed if in_cell else None

    @property
    def was_executed(self) -> bool:
        """Whether a run was executed; True of a recording without runs."""
        return not self.runs or any(run.was_executed for run in self.runs)

    @property
    def has_vlm(self) -> bool:
        """Whether a VLM was to answer; older recordings do not say so, and had one."""
        return self.metadata.get("trial_node.has_vlm") != "False"
