"""Cameras, distortion, gate, policy and VLM of the virtual cell: message in, one call, message out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from cell_journal import Journal
from cell_robot import Snapshot
from event_queue import MS_NS, Actor, EventQueue, Link

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.errors import UserError
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import FrameAssembler, Source
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.state_history import StateHistory
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.models.subjects.inference import Outcome, OutcomeKind, attempt
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.quality.gate.waiting_decisions import WaitingDecisions
from embodied_iqa.runs.trial.deciding import DecisionRequest, act, chunk_record
from embodied_iqa.runs.trial.decision_desk import DecisionDesk
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider
from embodied_iqa.runs.trial.distortion_changes import DistortionChanges
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

SIZE = (64, 48)
BRIGHT = np.full((SIZE[1], SIZE[0], 3), 180, dtype=np.uint8)
DARK = np.full_like(BRIGHT, 40)
_ANYTHING = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
DARK_HOLDS = _ANYTHING | {Statistic.EXPOSURE: Bounds(-np.inf, 0.5, np.inf, np.inf)}
_INTRINSICS = Intrinsics(*SIZE, 50.0, 50.0, 31.5, 23.5)
_KEPT_FRAMES, _AGAIN_NS, _MOST_CHUNKS = 4, 200 * MS_NS, 12


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """An image on a topic."""

    stamp_ns: int
    rgb: np.ndarray


class KnownImages:
    """The product's statistics judge; equal images are measured once in all interleavings."""

    def __init__(self) -> None:
        calibration = GateCalibration(View.TOP, *SIZE, DARK_HOLDS, 100, "the virtual cell")
        self._judge = StatisticsJudge([calibration])
        self._known: dict[bytes, Judgement] = {}

    def judge(self, view: View, rgb: np.ndarray | None) -> Judgement:
        key = b"" if rgb is None else rgb.tobytes()
        if key not in self._known:
            self._known[key] = self._judge.judge(view, rgb)
        return self._known[key]


class Camera(Actor):
    """camera_node."""

    def __init__(self, queue: EventQueue) -> None:
        super().__init__(queue, "camera_node")
        self.images = Link(queue, 10)
        self.rgb = BRIGHT

    def take_snapshot(self, snapshot: Snapshot) -> None:
        self.images.publish(Image(snapshot.stamp_ns, self.rgb))


class Distortion(Actor):
    """distortion_node."""

    def __init__(self, queue: EventQueue) -> None:
        super().__init__(queue, "distortion_node")
        self._changes = DistortionChanges()
        self.images = Link(queue, 10)

    def take_image(self, image: Image) -> None:
        distorter = self._changes.at(image.stamp_ns)
        if distorter.level_at(image.stamp_ns):
            image = Image(image.stamp_ns, distorter.apply(image.rgb, View.TOP, image.stamp_ns))
        self.images.publish(image)

    def change(self, request: tuple[DistortionSpec | None, int, bool], reply: Callable[[Any], None]) -> None:
        spec, from_ns, or_later = request
        try:
            effective_ns = self._changes.set(spec, from_ns or None, or_later=or_later)
        except UserError as error:
            reply((False, str(error), 0))
            return
        reply((True, "", effective_ns))


class Gate(Actor):
    """gate_node."""

    def __init__(self, queue: EventQueue, judge: KnownImages, options: GateOptions) -> None:
        super().__init__(queue, "gate_node")
        self.keeper = Gatekeeper(judge, options)
        self._decisions = WaitingDecisions()
        self.late = LateCount()
        self.counts = dict.fromkeys(Verdict, 0)
        self._ros_ns = 0
        self.leases = Link(queue, 50)

    def take_clock(self, now_ns: int) -> None:
        self._ros_ns = now_ns

    def take_image(self, image: Image) -> None:
        _, lease = self.keeper.judge(View.TOP, image.stamp_ns, image.rgb, self._ros_ns)
        self.counts[lease.judged] += 1
        self.leases.publish(lease)
        self._judge_decisions()

    def take_decision(self, record: ChunkRecord) -> None:
        if record.status is ChunkStatus.ACT:
            self._decisions.add(GateDecision(record.view, record.stamp_ns, record.sequence, record.seen))
            self._judge_decisions()

    def _judge_decisions(self) -> None:
        for decision in self._decisions.take(self.keeper.knows):
            lease = self.keeper.judge_decision(decision, self._ros_ns)
            if lease is not None:
                self.leases.publish(lease)


class ScriptedVla:
    """A policy that moves to and fro so often in a run, then says that the task is done."""

    info = SubjectInfo("scripted", "1", "moves to and fro", (View.TOP,))

    def __init__(self, moves: int, increments: np.ndarray) -> None:
        self._moves, self.increments = moves, increments
        self.steps: list[int] = []

    def act(self, observation: VlaObservation) -> ActionChunk:
        self.steps.append(observation.step)
        if observation.step >= self._moves:
            return ActionChunk.still(ChunkStatus.DONE, "done")
        return ActionChunk(ChunkStatus.ACT, self.increments, "moves")


class Policy(Actor):
    """vla_node: the desk chooses the questions; the subject answers them one after the other, in its time."""

    def __init__(
        self,
        queue: EventQueue,
        journal: Journal,
        vla: ScriptedVla,
        deadline_ns: int,
        horizon: HorizonOptions,
    ) -> None:
        super().__init__(queue, "vla_node")
        self.vla, self._journal, self._deadline_ns = vla, journal, deadline_ns
        self.desk = DecisionDesk(Decider(_AGAIN_NS, 0 if horizon.is_receding else _MOST_CHUNKS, horizon))
        self._reference: tuple[DecisionRequest, Callable[[], None]] | None = None
        self.thinks_ns = (5 * MS_NS, 20 * MS_NS, 40 * MS_NS)
        self._frames = FrameAssembler(_KEPT_FRAMES)
        self._frames.add_intrinsics(View.TOP, _INTRINSICS)
        self._whole_ns: list[int] | None = None
        self._tools: StateHistory[tuple[np.ndarray, float]] = StateHistory()
        self._from_ns = 0
        self.actions, self.deciding = Link(queue, 200), Link(queue, 200)
        self._said_deciding = False

    def take_image(self, source: Source, image: Image) -> None:
        self._frames.add_pose(View.TOP, image.stamp_ns, np.eye(4))
        self._frames.add_image(View.TOP, source, image.stamp_ns, image.rgb)
        self._whole_ns = None
        self._consider()

    def take_report(self, report: ArmReport) -> None:
        if report.T_base_tool is not None:
            measured = report.measured
            self._tools.add(measured.stamp_ns, (report.T_base_tool, measured.gripper.position))
        self.desk.arm_seen(ArmProgress.of(report))
        self._consider()

    def take_lease(self, lease: GateLease) -> None:
        if lease.decision is None and (lease.verdict is not Verdict.PASS or self.desk.is_receding):
            note = self.desk.passed if lease.verdict is Verdict.PASS else self.desk.rejected
            note(lease.view, lease.frame_stamp_ns)
            self._consider()

    def set_task(self, request: tuple[str, int], reply: Callable[[Any], None]) -> None:
        task, self._from_ns = request
        self.desk.set_task(task, self._from_ns)
        reply((True, ""))
        self._consider()

    def _whole_stamps(self) -> list[int]:
        """Stamps of which both images are there; the same until another image comes."""
        if self._whole_ns is None:
            self._whole_ns = sorted(self._frames.arrived(View.TOP, *Source).whole_ns)
        return self._whole_ns

    def _consider(self) -> None:
        self._decide_if_due()
        if self.desk.is_busy != self._said_deciding:
            self._said_deciding = self.desk.is_busy
            self.deciding.publish(self._said_deciding)

    def _decide_if_due(self) -> None:
        if self.desk.is_busy:
            return
        stamp_ns = self.desk.choose(self._whole_stamps())
        tool = None if stamp_ns is None else self._tools.at(stamp_ns)
        if stamp_ns is None or tool is None:
            return
        thinks_ns = 0
        for place, request in enumerate(self.desk.ask(stamp_ns, *tool), start=1):
            own_ns = self.queue.random.choice(self.thinks_ns)
            thinks_ns += own_ns
            if self.desk.is_receding and request.source is Source.RAW:
                self._reference = request, partial(self._ask, request, own_ns, self._deadline_ns)
            else:
                self._ask(request, thinks_ns, place * self._deadline_ns)

    def _ask(self, request: DecisionRequest, thinks_ns: int, deadline_ns: int) -> None:
        frame = self._frames.frame(View.TOP, request.source, request.stamp_ns)
        frames = {} if frame is None else {View.TOP: frame}
        if thinks_ns > deadline_ns:
            late: Outcome[ActionChunk] = Outcome(OutcomeKind.LATE, latency_ms=deadline_ns / MS_NS)
            self.after(deadline_ns, partial(self._answered, request, late, frames))
            return
        outcome = attempt(partial(act, self.vla, request, frames))
        outcome = replace(outcome, latency_ms=0.0, model_ms=0.0)
        self.after(thinks_ns, partial(self._answered, request, outcome, frames))

    def _answered(
        self, request: DecisionRequest, outcome: Outcome[ActionChunk], frames: Mapping[View, Frame]
    ) -> None:
        if not self.desk.close(request):
            return
        record = chunk_record(self.vla.info, request, outcome, frames)
        self.desk.came_to(record)
        if record.source is Source.DISTORTED:
            self._journal.decided(record.sequence, record.stamp_ns, self._from_ns)
            self.actions.publish(record)
        stamps_ns = self._whole_stamps()
        newest_ns = stamps_ns[-1] if stamps_ns else record.stamp_ns
        self.desk.published(newest_ns)
        if record.source is Source.DISTORTED and self._reference is not None:
            (raw, start), self._reference = self._reference, None
            if self.desk.time_for_reference(raw, newest_ns):
                start()
        self._consider()


class Vlm(Actor):
    """vlm_node: answers after a while."""

    def __init__(self, queue: EventQueue) -> None:
        super().__init__(queue, "vlm_node")
        self.thinks_ns = (10 * MS_NS, 100 * MS_NS)

    def ask(self, _stamp_ns: int, reply: Callable[[Any], None]) -> None:
        self.after(self.queue.random.choice(self.thinks_ns), partial(reply, (True, "")))


class Recorder(Actor):
    """recorder_node."""

    def __init__(self, queue: EventQueue) -> None:
        super().__init__(queue, "recorder_node")
        self.is_open = False

    def record(self, start: bool, reply: Callable[[Any], None]) -> None:
        self.is_open = start
        reply((True, ""))
