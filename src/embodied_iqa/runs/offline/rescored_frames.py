"""Scores of subjects and gate on your own recorded images and their distorted versions, without a trial.

Every sampled image is one moment: the VLM and the VLA see it as it was recorded and under each distortion.
Nothing is executed, so that there are no outcomes; what is not recorded is unknown, and a subject that needs
it is refused or leaves the moment out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.trial_record import (
    NOT_EXECUTED,
    AnswerRecord,
    ChunkRecord,
    RunRecord,
    TrialRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Frames
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.unseen_targets import UnseenTargets
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.runs.offline.judged_frames import verdict_record
from embodied_iqa.runs.offline.rescored_moments import Moment, Moments
from embodied_iqa.runs.offline.rescoring_plan import Panel, RescoringPlan, check_panel
from embodied_iqa.runs.offline.trial_output import TrialOutput
from embodied_iqa.runs.trial.deciding import DecisionRequest, answer, decide
from embodied_iqa.runs.trial.run_folder import task_slug

_MOST_OPEN: Final = 64
"""Recordings whose files are open: a data set may have thousands of tasks."""


@dataclass(frozen=True, slots=True, eq=False)
class RescoredRun:
    """A task under a distortion.

    Attributes:
        recording: The file.
        record: Of one run.
        images: Stamp and camera of each image, in the order of their stamps.
    """

    recording: Path
    record: TrialRecord
    images: tuple[tuple[int, View], ...]


@dataclass(slots=True, eq=False)
class _Run:
    """A task under a distortion: its recording, and what was found so far."""

    output: TrialOutput
    distorter: FrameDistorter
    spec: DistortionSpec | None
    start_ns: int
    gatekeeper: Gatekeeper | None
    answers: list[AnswerRecord] = field(default_factory=list)
    chunks: list[ChunkRecord] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    recorded: list[ChunkRecord] | None = None
    end_ns: int = 0
    images: list[tuple[int, View]] = field(default_factory=list)

    def record(self, task: str, metadata: dict[str, str]) -> TrialRecord:
        run = RunRecord(
            index=0 if self.spec is None else 1,
            distortion=self.spec,
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            outcome=None,
            reason=NOT_EXECUTED,
            T_base_tool=np.eye(4),
            frames_published=len(self.images),
            frames_received=len(self.images if self.gatekeeper is None else self.verdicts),
            gate_mode=GateMode.OFF if self.gatekeeper is None else GateMode.SHADOW,
            answers=tuple(self.answers),
            chunks=tuple(self.chunks),
            verdicts=tuple(self.verdicts),
            tool_path=np.empty((0, 4)),
            recorded=None if self.recorded is None else tuple(self.recorded),
        )
        return TrialRecord(task, 0, (run,), metadata)


class FrameRescorer:
    """Rescores images of any source in one pass.

    Args:
        frames: The source.
        plan: What is asked.
        panel: Who is asked.
        folder: Gets a folder with ``trial.mcap`` for each task and distortion.
        metadata: Stored with each recording.

    Attributes:
        remarks: What was left out, and why; complete at the end.
        is_incomplete: Whether an image, an answer or a decision that was asked for could not be scored.

    Raises:
        UsageError: A subject needs what the source does not have, or there are no tasks.
    """

    def __init__(
        self, frames: Frames, plan: RescoringPlan, panel: Panel, folder: Path, metadata: Mapping[str, str]
    ) -> None:
        self._frames, self._plan, self._panel = frames, plan, panel
        self._folder, self._metadata = folder, dict(metadata)
        self._runs: dict[tuple[str, DistortionSpec | None], _Run] = {}
        self._awake: dict[tuple[str, DistortionSpec | None], None] = {}
        self._lost: Counter[str] = Counter()
        self._unseen = UnseenTargets()
        self._has_failures = False
        self._moments = Moments(frames, plan, self._lost)
        check_panel(frames, plan, panel)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Each reason once, with the number of times it applied."""
        found = [f"{count} x {reason}" if count > 1 else reason for reason, count in self._lost.items()]
        found += self._unseen.remarks
        rescored = {task for task, _ in self._runs}
        tasks = dict.fromkeys([*(task for _, task in self._plan.tasks), *self._moments.seen])
        apart = (
            f": images are at least {self._plan.every_s:g} s apart (--every)" if self._plan.every_s else ""
        )
        found += [f"nothing was rescored for {task!r}{apart}" for task in tasks if task not in rescored]
        return tuple(found)

    @property
    def is_incomplete(self) -> bool:
        """See the class."""
        return self._has_failures or self._moments.is_incomplete

    def _fail(self, reason: str) -> None:
        self._has_failures = True
        self._lost[reason] += 1

    def runs(self, progress: Callable[[int], None]) -> list[RescoredRun]:
        """Return the run of each task and distortion; to be called once.

        Args:
            progress: Called with the number of images read, after each.

        Raises:
            InputError: No moment was found, or the source or a recording fails.
        """
        try:
            for moment in self._moments.each(progress):
                self._moment(moment)
            for run in self._runs.values():
                run.output.close(NOT_EXECUTED)
        except BaseException:
            for run in self._runs.values():
                run.output.discard()
            raise
        finally:
            for depth in self._plan.depths.values():
                depth.close()
        if not self._runs:
            raise InputError(f"{self._frames.path} gives nothing to rescore", got="; ".join(self.remarks))
        return [
            RescoredRun(run.output.path, run.record(task, self._metadata), tuple(run.images))
            for (task, _), run in self._runs.items()
        ]

    def _moment(self, moment: Moment) -> None:
        """Ask about the recorded images once, and about those of every distortion."""
        raw_answer = self._answer(moment, moment.images, Source.RAW)
        if raw_answer is not None:
            self._unseen.add(Role.VLM, raw_answer.answer)
        request = self._request(moment)
        raw_chunk = None if request is None else self._decide(moment, request, moment.images)
        if raw_chunk is not None and raw_chunk.status is not None and raw_chunk.is_decision:
            self._unseen.add(Role.VLA, raw_chunk.status)
        done = self._done(raw_chunk)
        for spec in (None, *self._plan.distortions):
            run = self._run(moment, spec)
            distorted = {
                view: run.distorter.apply(rgb, view, moment.stamp_ns) for view, rgb in moment.images.items()
            }
            run.end_ns = moment.stamp_ns
            recorded = moment.frames(moment.images, self._plan)
            for view in moment.images:
                run.output.image(recorded[view])
                run.images.append((moment.stamp_ns, view))
                self._judge(run, view, moment.stamp_ns, distorted[view])
            self._note(run, raw_answer, raw_chunk)
            if run.recorded is not None and done is not None:
                run.recorded.append(done)
            if spec is None:
                self._keep_depth(run, moment)
            else:
                said = self._answer(moment, distorted, Source.DISTORTED)
                asked = None if request is None else replace(request, source=Source.DISTORTED)
                self._note(run, said, None if asked is None else self._decide(moment, asked, distorted))

    def _keep_depth(self, run: _Run, moment: Moment) -> None:
        """Store the depth beside the recorded images; nobody distorts it, so that one copy is enough."""
        for topic, depth in self._plan.depths.items():
            view = self._plan.cameras[topic]
            height_px, width_px = moment.images[view].shape[:2]
            try:
                depth_mm = depth.at(moment.taken_ns[view], (width_px, height_px))
            except InputError as error:
                self._lost[f"an image without depth: {error}"] += 1
                continue
            run.output.depth(view, moment.stamp_ns, depth_mm)

    def _note(self, run: _Run, said: AnswerRecord | None, chunk: ChunkRecord | None) -> None:
        if said is not None:
            run.answers.append(said)
            run.output.answer(said)
        if chunk is not None:
            run.chunks.append(chunk)
            run.output.decision(chunk)

    def _judge(self, run: _Run, view: View, stamp_ns: int, rgb: NDArray[np.uint8]) -> None:
        if run.gatekeeper is not None:
            found = verdict_record(run.gatekeeper.judge(view, stamp_ns, rgb, stamp_ns)[0])
            run.verdicts.append(found)
            run.output.verdict(found, GateMode.SHADOW)

    def _answer(
        self, moment: Moment, images: Mapping[View, NDArray[np.uint8]], source: Source
    ) -> AnswerRecord | None:
        vlm = self._panel.vlm
        if vlm is None:
            return None
        view = vlm.info.shown_view(tuple(self._plan.cameras.values()))
        frame = moment.frames(images, self._plan).get(view)
        if frame is None:
            self._fail(f"{vlm.info.name} did not answer: no image of {view} at that time")
            return None
        said = answer(vlm, frame, source, moment.task)
        if said.result is None:
            self._fail(f"{vlm.info.name} did not answer: {said.reason}")
        return said.result

    def _request(self, moment: Moment) -> DecisionRequest | None:
        if self._panel.vla is None or self._panel.states is None:
            return None
        state = self._panel.states.at(moment.stamp_ns)
        if state.T_base_tool is None or state.gripper is None:
            self._fail(f"{self._panel.vla.info.name} did not decide: no state of the robot at that time")
            return None
        return DecisionRequest(
            moment.stamp_ns,
            Source.RAW,
            moment.number,
            0,
            moment.task,
            state.T_base_tool,
            state.gripper,
            state.q_rad,
            state.native_state,
        )

    def _done(self, chunk: ChunkRecord | None) -> ChunkRecord | None:
        """Return what was done at a decision; None where it is not known or nobody asked."""
        if self._panel.actions is None or chunk is None or not chunk.is_decision:
            return None
        try:
            return self._panel.actions.beside(chunk)
        except InputError as error:
            self._lost[f"no recorded action: {error}"] += 1
            return None

    def _decide(
        self, moment: Moment, request: DecisionRequest, images: Mapping[View, NDArray[np.uint8]]
    ) -> ChunkRecord | None:
        vla = self._panel.vla
        if vla is None:
            return None
        if request.native_state is not None:
            # data sets of LIBERO show what its policies see: the mirror image of what they are given
            images = {view: np.ascontiguousarray(rgb[:, ::-1]) for view, rgb in images.items()}
        found = decide(vla, request, moment.frames(images, self._plan))
        if found.status is None:
            self._fail(f"{vla.info.name} did not decide: {found.reason}")
        return found

    def _run(self, moment: Moment, spec: DistortionSpec | None) -> _Run:
        key = moment.task, spec
        self._awake[key] = self._awake.pop(key, None)  # the last of the dictionary
        if len(self._awake) > _MOST_OPEN:
            oldest = next(iter(self._awake))
            del self._awake[oldest]
            self._runs[oldest].output.rest()
        if key not in self._runs:
            name = "recorded" if spec is None else f"{spec.id.replace(':', '-')}_{spec.level}"
            if spec is not None and spec.schedule:
                name += f"_{1 + self._plan.distortions.index(spec)}"
            path = self._folder / f"{task_slug(moment.task)}-{name}" / "trial.mcap"
            judge = self._panel.judge
            rules = replace(self._panel.gate, mode=GateMode.SHADOW)
            gatekeeper = None if judge is None else Gatekeeper(judge, rules)
            distorter = FrameDistorter(spec, moment.stamp_ns)
            self._runs[key] = _Run(
                TrialOutput(path, moment.task, spec, moment.stamp_ns, self._metadata),
                distorter,
                spec,
                moment.stamp_ns,
                gatekeeper,
                recorded=None if self._panel.actions is None else [],
            )
        return self._runs[key]
