"""Rescoring: repeats a recorded trial from its raw frames, without ROS.

Distortion, verdicts, answers and decisions are computed again. Outcomes, final poses, latencies and the
number of published images are those of the recording.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import in_order, read_trial, stamp_ns
from embodied_iqa.data.recording.trial_record import (
    AnswerRecord,
    ChunkRecord,
    MotionVerdict,
    RunRecord,
    TrialRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.images.assembler import FrameAssembler, Source
from embodied_iqa.imaging.images.frame import Frame, View, ordered_views, view_of_topic
from embodied_iqa.imaging.images.image_cdr import StampedImage, image_from_cdr
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_uncalibrated,
    is_unknown_pose,
    matrix_from_pose,
)
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.runs.offline.judged_frames import verdict_record
from embodied_iqa.runs.trial.deciding import DecisionRequest, answer, decide
from embodied_iqa.world.protocols import ChunkStatus, Vla, Vlm

_PARTS = ("camera_info", "pose", "image_raw")
Progress = Callable[[int], None]
_Image: TypeAlias = tuple[RunRecord, View, StampedImage]


class _MissingPartError(InputError):
    """A part of a frame that was decided on is missing or invalid."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """Subjects and gate that judge again.

    Attributes:
        vlm: Subject name to the vision-language model; None: no answer is repeated.
        vla: Subject name to the vision-language-action model; None: no decision is repeated.
        judge: Of the gate; the one that its rules name. None where it is not known: no verdicts.
        gate: Rules of the gate; the mode is that of the recorded run.
    """

    vlm: Callable[[str], Vlm] | None
    vla: Callable[[str], Vla] | None
    judge: ImageJudge | None
    gate: GateOptions


@dataclass(slots=True)
class _Redone:
    """Repeated part of one run."""

    answers: list[AnswerRecord] = field(default_factory=list)
    chunks: list[ChunkRecord] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    motions: list[MotionVerdict] = field(default_factory=list)


class Rescorer:
    """Reads a recording once, in the order of its messages; keeps only a few frames.

    Args:
        path: The recording.
        subjects: Subjects and gate that judge again.

    Attributes:
        live: The record of the live trial.
        failures: What could not be read or repeated, as messages: damaged images and poses, questions that a
            VLM did not answer, answers and decisions whose frames are not whole. All of it is left out.
        news: How many images of a run have a verdict that its gate never gave, as they were lost live.
        is_incomplete: Whether a damaged image is left out, or an answer or a decision of the live trial that
            could not be repeated.
    """

    _KEPT = 16  # a frame's parts lie close together in a recording

    def __init__(self, path: Path, subjects: Subjects) -> None:
        self._path = path
        self._subjects = subjects
        self.live = read_trial(path)
        self._redone = {run.index: _Redone() for run in self.live.runs}
        self._distorters = {run.index: run.distorter for run in self.live.runs}
        self._gatekeeper = Gatekeeper(subjects.judge, subjects.gate)
        self._frames = FrameAssembler(4 * self._KEPT)  # a view waits for the poses of another
        self._wanted = self._decision_images()
        self._asked: dict[tuple[View, int], list[int]] = defaultdict(list)
        for asked_ns, images in self._wanted.items():
            for wanted in images:
                self._asked[wanted].append(asked_ns)
        self._repaired: dict[tuple[int, View], NDArray[np.uint8]] = {}
        self._invalid_poses: set[tuple[View, int]] = set()
        self._given_up: set[tuple[View, int]] = set()
        self._pose_stamps: dict[View, deque[int]] = defaultdict(lambda: deque(maxlen=self._KEPT + 1))
        self.failures: list[str] = []
        self.news: list[str] = []
        self.is_incomplete = False

    def record(self, progress: Progress = lambda _images: None) -> TrialRecord:
        """Return the repeated record; to be called once.

        Args:
            progress: Called with the number of images done, after each.
        """
        for done, (run, view, image) in enumerate(self._images(), start=1):
            self._image(run, view, image)
            progress(done)
        missing = sorted({stamp for images in self._wanted.values() for _, stamp in images})
        if missing:
            stamps = ", ".join(map(str, missing[:3])) + (" ..." if len(missing) > 3 else "")
            self._leave_out(
                f"{self._path} lacks images that answers or decisions were made on: "
                f"those at {stamps} ns are left out"
            )
        runs = tuple(self._merge(run) for run in self.live.runs)
        return replace(self.live, runs=runs)

    # --- reading --------------------------------------------------------------------------------------------

    def _images(self) -> Iterator[_Image]:
        """Yield the raw images of the runs in stamp order; note camera poses and intrinsics on the way."""
        with TrialReader(self._path) as reader:
            views = ordered_views(filter(None, map(view_of_topic, reader.topics)))
            kinds = {f"/camera/{view}/{part}": (view, part) for view in views for part in _PARTS}
            topics = [topic for topic in kinds if topic in reader.topics]
            waiting: dict[View, dict[int, _Image]] = {view: {} for view in views}
            for message in reader.messages(topics):
                view, part = kinds[message.topic]
                if part == "image_raw":
                    if (image := self._read(view, message.cdr)) is not None:
                        waiting[view][image[-1].stamp_ns] = image
                else:
                    self._note(view, part, reader.decode(message))
                yield from self._complete(view, waiting[view])
            for view in views:
                yield from self._complete(view, waiting[view], at_end=True)

    def _read(self, view: View, cdr: Buffer) -> _Image | None:
        """Return an image of a run; a damaged one is left out, as live."""
        try:
            image = image_from_cdr(cdr)
        except InputError as error:
            self._fail(f"{view}: {error}")
            return None
        run = self._run_at(image.stamp_ns)
        return None if run is None else (run, view, image)

    def _note(self, view: View, part: str, message: object) -> None:
        stamp = stamp_ns(message)
        try:
            if part == "pose":
                self._pose_stamps[view].append(stamp)
                sent = message.pose  # type: ignore[attr-defined]
                pose = None if is_unknown_pose(sent) else matrix_from_pose(sent)
                self._frames.add_pose(view, stamp, pose)
            else:
                known = None if is_uncalibrated(message) else intrinsics_from_info(message)
                self._frames.add_intrinsics(view, known)
        except InputError as error:  # as live: the frame is never whole
            self.failures.append(f"{view}/{part} at {stamp} ns: {error}")
            if part == "pose":
                self._invalid_poses.add((view, stamp))

    def _complete(self, view: View, waiting: dict[int, _Image], *, at_end: bool = False) -> Iterator[_Image]:
        """Yield the images whose pose has arrived, oldest first; at the end all of them."""
        for stamp in sorted(waiting):
            if not self._frames.has_pose(view, stamp):
                if not at_end and self._may_come(view, stamp, waiting):
                    return
                self._given_up.add((view, stamp))
            yield waiting.pop(stamp)

    def _may_come(self, view: View, stamp: int, waiting: Mapping[int, _Image]) -> bool:
        """Return whether to wait for the pose of an image, which delays the later ones of its view.

        An invalid one has come. Where nothing was decided on the image, the wait is short; otherwise it
        lasts until the end of the run, or until the poses of `_KEPT` later images have come and one more.
        """
        if (view, stamp) in self._invalid_poses:
            return False
        if (view, stamp) not in self._asked:
            return len(waiting) <= self._KEPT // 2
        run, newest = waiting[stamp][0], waiting[max(waiting)][0]
        return run is newest and sum(later > stamp for later in self._pose_stamps[view]) <= self._KEPT

    def _run_at(self, stamp: int) -> RunRecord | None:
        return next((run for run in self.live.runs if run.start_ns <= stamp <= run.end_ns), None)

    # --- judging again --------------------------------------------------------------------------------------

    def _image(self, run: RunRecord, view: View, image: StampedImage) -> None:
        rgb, stamp = image.rgb, image.stamp_ns
        distorted = self._distorters[run.index].apply(rgb, view, stamp)
        repaired = None
        if self._judges(run):
            quality = self._judge(run, view, stamp, distorted)
            self._redone[run.index].verdicts.append(verdict_record(quality))
            repaired = quality.repaired
        if (view, stamp) in self._asked:
            self._frames.add_image(view, Source.RAW, stamp, rgb)
            self._frames.add_image(view, Source.DISTORTED, stamp, distorted)
            if repaired is not None:
                self._repaired[stamp, view] = repaired
                if len(self._repaired) > 4 * self._KEPT:  # their frames are no longer kept
                    del self._repaired[next(iter(self._repaired))]
            for asked_ns in self._asked.pop((view, stamp)):
                self._wanted[asked_ns].discard((view, stamp))
                if not self._wanted[asked_ns]:
                    self._decide(self._run_at(asked_ns) or run, asked_ns)

    def _judges(self, run: RunRecord) -> bool:
        """Return whether the images of a run get verdicts: with a judge, or as an open gate gives them."""
        return self._subjects.judge is not None or run.gate_mode is GateMode.OFF

    def _judge(self, run: RunRecord, view: View, stamp: int, rgb: NDArray[np.uint8]) -> ImageQuality:
        self._gatekeeper.options = replace(self._subjects.gate, mode=run.gate_mode)
        return self._gatekeeper.judge(view, stamp, rgb, stamp)[0]

    def _decide(self, run: RunRecord, stamp: int) -> None:
        """Repeat the answers and decisions on this stamp; what fails or lacks its frame is left out."""
        said = [live for live in run.answers if live.stamp_ns == stamp]
        done = [chunk for chunk in run.chunks if chunk.stamp_ns == stamp]
        if (vlm := self._subjects.vlm) is not None:
            for live in said:
                try:
                    self._answer_again(run, live, vlm(live.subject))
                except _MissingPartError as error:
                    self._leave_out(f"the answer at {stamp} ns is left out: {error}")
        if (vla := self._subjects.vla) is not None:
            for chunk in done:
                try:
                    self._decide_again(run, chunk, vla(chunk.subject))
                except _MissingPartError as error:
                    self._leave_out(f"the decision at {stamp} ns is left out: {error}")

    def _leave_out(self, message: str) -> None:
        if message not in self.failures:  # the raw and the distorted frame lack the same part
            self._fail(message)

    def _fail(self, message: str) -> None:
        self.is_incomplete = True
        self.failures.append(message)

    def _answer_again(self, run: RunRecord, live: AnswerRecord, vlm: Vlm) -> None:
        """Repeat an answer; one that fails is left out, as live."""
        said = answer(vlm, self._frame(live.view, live.source, live.stamp_ns), live.source, self.live.task)
        if said.result is None:
            self._fail(f"{live.subject} failed at {live.stamp_ns} ns: {said.reason}")
            return
        again = replace(said.result, subject=live.subject, latency_ms=live.latency_ms)
        self._redone[run.index].answers.append(again)

    def _decide_again(self, run: RunRecord, live: ChunkRecord, vla: Vla) -> None:
        """Repeat a decision, and the gate's verdict on it."""
        redone, again = self._redone[run.index], self._redo(run, live, vla)
        redone.chunks.append(again)
        if again.status is None and live.status is not None:
            self._fail(f"{live.subject} failed at {live.stamp_ns} ns: {again.reason}")
        if again.source is Source.DISTORTED and again.status is ChunkStatus.ACT:
            decision = GateDecision(again.view, again.stamp_ns, again.sequence, again.seen)
            lease = self._gatekeeper.judge_decision(decision, again.stamp_ns)
            redone.motions += [] if lease is None else [MotionVerdict.of(lease)]

    def _redo(self, run: RunRecord, live: ChunkRecord, vla: Vla) -> ChunkRecord:
        if live.source is Source.DISTORTED and self._lacks_repairs(run):
            raise _MissingPartError("the gate repaired images, and its calibration is not known")
        request = DecisionRequest(
            live.stamp_ns, live.source, live.sequence, live.step, self.live.task, live.T_base_tool,
            live.gripper, live.q_rad,
        )  # fmt: skip
        frames = {view: self._policy_frame(view, live) for view in vla.info.views}
        again = decide(vla, request, frames)
        return replace(again, view=live.view, subject=live.subject, latency_ms=live.latency_ms)

    def _lacks_repairs(self, run: RunRecord) -> bool:
        """Return whether the policy saw repaired images, which nobody can make again."""
        return not self._judges(run) and replace(self._subjects.gate, mode=run.gate_mode).repairs

    def _policy_frame(self, view: View, live: ChunkRecord) -> Frame:
        """Return what the policy sees: the repaired image where the gate repaired the distorted one."""
        stamp = live.stamp_of(view)
        frame = self._frame(view, live.source, stamp)
        repaired = self._repaired.get((stamp, view)) if live.source is Source.DISTORTED else None
        return frame if repaired is None else replace(frame, rgb=repaired)

    def _frame(self, view: View, source: Source, stamp: int) -> Frame:
        frame = self._frames.frame(view, source, stamp)
        if frame is None:
            if (view, stamp) in self._given_up - self._invalid_poses:
                raise _MissingPartError(f"the pose of the {view} frame did not come in time in {self._path}")
            raise _MissingPartError(f"{self._path} lacks a valid part of the {view} frame")
        return frame

    def _decision_images(self) -> dict[int, set[tuple[View, int]]]:
        """Return camera and stamp of each image that the answers and decisions on a stamp need."""
        wanted: dict[int, set[tuple[View, int]]] = defaultdict(set)
        asks = self._subjects
        for run in self.live.runs:
            for said in () if asks.vlm is None else run.answers:
                wanted[said.stamp_ns].add((said.view, said.stamp_ns))
            for vla, chunk in () if asks.vla is None else product((asks.vla,), run.chunks):
                views = vla(chunk.subject).info.views
                wanted[chunk.stamp_ns] |= {(view, chunk.stamp_of(view)) for view in views}
        return wanted

    def _merge(self, run: RunRecord) -> RunRecord:
        redone = self._redone[run.index]
        latencies = {(v.view, v.stamp_ns): v.latency_ms for v in run.verdicts}
        verdicts = in_order(
            replace(v, latency_ms=latencies.get((v.view, v.stamp_ns), np.nan)) for v in redone.verdicts
        )
        new = sum((v.view, v.stamp_ns) not in latencies for v in verdicts)
        if new and run.verdicts:
            were, its = ("was", "its verdict is") if new == 1 else ("were", "their verdicts are")
            frames = f"{new} frame{'' if new == 1 else 's'}"
            self.news.append(f"run {run.index}: {frames} {were} lost live; {its} new")
        unknown = self._subjects.vla is None and bool(run.motions)
        return replace(
            run,
            answers=tuple(redone.answers),
            motions=None if unknown else tuple(redone.motions),
            chunks=tuple(redone.chunks),
            verdicts=verdicts,
            frames_received=len(verdicts) if self._judges(run) else run.frames_received,
        )
