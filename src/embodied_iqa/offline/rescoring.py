"""Scores a recorded trial again from its raw frames: the same steps as live, without ROS.

The distortion, the gate's verdicts, the answers and the decisions are made again. What only the world can
tell (outcomes, final poses) and what only the live run can tell (latencies, pictures published) is taken from
the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions import FrameDistorter
from embodied_iqa.errors import InputError
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.calibration_file import find_calibration
from embodied_iqa.gate.judge import GateConfig, GateFrame, GateState, step
from embodied_iqa.gate.statistics import measure
from embodied_iqa.gate.verdict import GateMode
from embodied_iqa.images.assembler import FrameAssembler, Source
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.images.image_cdr import ImagePicture, image_from_cdr
from embodied_iqa.images.message_geometry import intrinsics_from_info, matrix_from_pose
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.subjects.protocols import ActionChunk, Vla, VlaObservation, Vlm
from embodied_iqa.trial.reading import read_trial, stamp_ns
from embodied_iqa.trial.record import AnswerRecord, ChunkRecord, RunRecord, TrialRecord, VerdictRecord

__all__ = ["Rescorer", "Subjects"]

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Subjects:
    """Who judges again.

    Attributes:
        vlm: Subject name to the vision-language model.
        vla: Subject name to the vision-language-action model.
        calibrations: Thresholds of the gate.
        gate: The gate's rules.
    """

    vlm: Callable[[str], Vlm]
    vla: Callable[[str], Vla]
    calibrations: tuple[GateCalibration, ...]
    gate: GateConfig


@dataclass(slots=True)
class _Redone:
    """What was made again of one run."""

    answers: list[AnswerRecord] = field(default_factory=list)
    chunks: list[ChunkRecord] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)


class Rescorer:
    """Goes through a recording once, in the order of its messages, keeping only a few frames.

    Args:
        path: The recording.
        subjects: Who judges again.
    """

    _KEPT = 16  # a frame's parts lie close together in a recording

    def __init__(self, path: Path, subjects: Subjects) -> None:
        self._path = path
        self._subjects = subjects
        self.live = read_trial(path)
        self._redone = {run.index: _Redone() for run in self.live.runs}
        self._distorters = {run.index: FrameDistorter(run.distortion) for run in self.live.runs}
        self._gate_states: dict[View, GateState] = {}
        self._frames = FrameAssembler(self._KEPT)
        self._wanted = self._decision_stamps()

    def record(self, progress: Progress = lambda _pictures: None) -> TrialRecord:
        """Make the record again.

        Args:
            progress: Called with the number of pictures done, after each.

        Raises:
            InputError: The recording lacks pictures that its decisions were made on.
        """
        done = 0
        for view, picture in self._pictures():
            run = self._run_at(picture.stamp_ns)
            if run is None:
                continue
            self._picture(run, view, picture)
            done += 1
            progress(done)
        missing = sorted({stamp for stamp, views in self._wanted.items() if views})
        if missing:
            raise InputError(
                f"{self._path} lacks pictures that decisions were made on",
                expected=f"pictures at {', '.join(map(str, missing[:3]))} ns",
            )
        runs = tuple(self._merge(run) for run in self.live.runs)
        return replace(self.live, runs=runs)

    # --- reading --------------------------------------------------------------------------------------------

    def _pictures(self) -> Iterator[tuple[View, ImagePicture]]:
        """Yield raw pictures in stamp order; camera poses and intrinsics are taken in on the way."""
        with TrialReader(self._path) as reader:
            views = [view for view in View if f"/camera/{view}/image_raw" in reader.topics]
            kinds = {f"/camera/{view}/{part}": (view, part) for view in views for part in _PARTS}
            topics = [topic for topic in kinds if topic in reader.topics]
            waiting: dict[View, dict[int, ImagePicture]] = {view: {} for view in views}
            for message in reader.messages(topics):
                view, part = kinds[message.topic]
                if part == "image_raw":
                    picture = image_from_cdr(message.cdr)
                    waiting[view][picture.stamp_ns] = picture
                else:
                    self._note(view, part, reader.decode(message))
                yield from self._complete(view, waiting[view])
            for view in views:
                yield from ((view, waiting[view][stamp]) for stamp in sorted(waiting[view]))

    def _note(self, view: View, part: str, message: object) -> None:
        if part == "pose":
            pose = matrix_from_pose(message.pose)  # type: ignore[attr-defined]
            self._frames.add_pose(view, stamp_ns(message), pose)
        else:
            self._frames.add_intrinsics(view, intrinsics_from_info(message))

    def _complete(self, view: View, waiting: dict[int, ImagePicture]) -> Iterator[tuple[View, ImagePicture]]:
        """Hand out the pictures whose pose has arrived, oldest first."""
        for stamp in sorted(waiting):
            if not self._frames.has_pose(view, stamp):
                return
            yield view, waiting.pop(stamp)

    def _run_at(self, stamp: int) -> RunRecord | None:
        return next((run for run in self.live.runs if run.start_ns <= stamp <= run.end_ns), None)

    # --- judging again --------------------------------------------------------------------------------------

    def _picture(self, run: RunRecord, view: View, picture: ImagePicture) -> None:
        rgb, stamp = picture.rgb, picture.stamp_ns
        distorted = self._distorters[run.index].apply(rgb, view, stamp)
        self._redone[run.index].verdicts.append(self._judge(run, view, stamp, distorted))
        if view in self._wanted.get(stamp, ()):
            self._frames.add_picture(view, Source.RAW, stamp, rgb)
            self._frames.add_picture(view, Source.DISTORTED, stamp, distorted)
            self._wanted[stamp].discard(view)
            if not self._wanted[stamp]:
                self._decide(run, stamp)

    def _judge(self, run: RunRecord, view: View, stamp: int, rgb: NDArray[np.uint8]) -> VerdictRecord:
        config = replace(self._subjects.gate, mode=run.gate_mode)
        statistics = None if config.mode is GateMode.OFF else measure(rgb)
        calibration = None
        if statistics is not None:
            size = statistics.width_px, statistics.height_px
            calibration = find_calibration(self._subjects.calibrations, view, *size)
        frame = GateFrame(view, stamp, stamp, statistics)
        state = self._gate_states.get(view, GateState())
        self._gate_states[view], quality, _ = step(state, frame, calibration, config)
        return VerdictRecord(stamp, view, quality.verdict, quality.reason, latency_ms=np.nan)

    def _decide(self, run: RunRecord, stamp: int) -> None:
        """Ask and let decide again whoever did live on this stamp."""
        redone = self._redone[run.index]
        for answer in (answer for answer in run.answers if answer.stamp_ns == stamp):
            vlm = self._subjects.vlm(answer.subject)
            text = vlm.answer(self._frame(answer.view, answer.source, stamp), self.live.task)
            redone.answers.append(replace(answer, answer=text, subject_version=vlm.info.version))
        for chunk in (chunk for chunk in run.chunks if chunk.stamp_ns == stamp):
            vla = self._subjects.vla(chunk.subject)
            views = vla.info.views
            observation = VlaObservation(
                frames={view: self._frame(view, chunk.source, stamp) for view in views},
                instruction=self.live.task,
                T_base_tool=chunk.T_base_tool,
                gripper=chunk.gripper,
                step=chunk.step,
            )
            redone.chunks.append(_redo(chunk, vla, observation))

    def _frame(self, view: View, source: Source, stamp: int) -> Frame:
        frame = self._frames.frame(view, source, stamp)
        if frame is None:
            raise InputError(f"{self._path} lacks a part of the {view} frame at {stamp} ns")
        return frame

    def _decision_stamps(self) -> dict[int, set[View]]:
        """Return the stamps at which somebody judged, and the views whose pictures that takes."""
        wanted: dict[int, set[View]] = {}
        for run in self.live.runs:
            for answer in run.answers:
                wanted.setdefault(answer.stamp_ns, set()).add(answer.view)
            for chunk in run.chunks:
                views = self._subjects.vla(chunk.subject).info.views
                wanted.setdefault(chunk.stamp_ns, set()).update(views)
        return wanted

    def _merge(self, run: RunRecord) -> RunRecord:
        redone = self._redone[run.index]
        latencies = {(v.view, v.stamp_ns): v.latency_ms for v in run.verdicts}
        verdicts = tuple(
            replace(v, latency_ms=latencies.get((v.view, v.stamp_ns), np.nan)) for v in redone.verdicts
        )
        return replace(
            run,
            answers=tuple(redone.answers),
            chunks=tuple(redone.chunks),
            verdicts=verdicts,
            frames_received=len(verdicts),
        )


_PARTS = ("camera_info", "pose", "image_raw")


def _redo(chunk: ChunkRecord, vla: Vla, observation: VlaObservation) -> ChunkRecord:
    """Decide again; what the subject raises is recorded as live: no action, and why."""
    try:
        decided = vla.act(observation)
    except Exception as error:  # noqa: BLE001 - a subject may be anybody's code
        nothing = np.empty((0, 7))
        return replace(chunk, status=None, increments=nothing, reason=f"{type(error).__name__}: {error}")
    return replace(
        chunk,
        status=decided.status,
        increments=np.asarray(decided.increments, dtype=np.float64).reshape(-1, 7),
        reason=decided.reason,
        target_px=_target(decided),
        subject_version=vla.info.version,
    )


def _target(decided: ActionChunk) -> tuple[float, float] | None:
    return None if decided.target_px is None else (float(decided.target_px[0]), float(decided.target_px[1]))
