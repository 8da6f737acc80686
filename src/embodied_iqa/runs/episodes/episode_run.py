"""One run in a `World`: the policy decides, the gate judges, the world is stepped between its images.

Decisions, verdicts, distortions and scores are those of a headless trial; the arm is the world's own. A world
waits for its policy, so that a run depends on nothing but its plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import (
    AnswerRecord,
    ChunkRecord,
    MotionVerdict,
    RunRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.runs.offline.judged_frames import verdict_record
from embodied_iqa.runs.offline.oracle import OracleGatekeeper
from embodied_iqa.runs.trial.deciding import DecisionRequest, answer, decide
from embodied_iqa.world.protocols import ChunkStatus, SubjectInfo, Vla, Vlm
from embodied_iqa.world.worlds import World, WorldObservation, WorldTask

Array: TypeAlias = NDArray[np.float64]

_MOVES: Final = (ChunkStatus.ACT,)


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """What a run needs.

    Attributes:
        world: Where it takes place.
        task: One of its tasks.
        state: Initial state of the task.
        vla: The policy.
        judge: Of the gate; None for the oracle.
        gate: Rules of the gate.
        distortion: Of every image; None for the reference run.
        replan_steps: Steps of a chunk that are executed before the policy is asked again; None for all.
        vlm: Answers about the first image; None for none.
    """

    world: World
    task: WorldTask
    state: int
    vla: Vla
    judge: ImageJudge | None
    gate: GateOptions
    distortion: DistortionSpec | None = None
    replan_steps: int | None = None
    vlm: Vlm | None = None

    @property
    def steps_judged(self) -> int | None:
        """Steps that a lease covers: an image is judged anew behind them. None for a gate that is off.

        Raises:
            UsageError: A lease ends before the next step does.
        """
        rate_hz = self.world.rate_hz
        if self.gate.mode is not GateMode.ON:
            return None
        if rate_hz is None:
            return 1
        steps = math.floor(self.gate.lease.ttl_s * rate_hz + 1e-9)
        if steps < 1:
            raise UsageError(
                f"the gate's leases are shorter than a step of {self.world.name}",
                expected=f"gate_node.judge.lease.ttl_s from {1 / rate_hz:g} s",
                got=self.gate.lease.ttl_s,
            )
        return steps


def check_policy(world: World, info: SubjectInfo) -> None:
    """Refuse a policy that a world cannot serve.

    Raises:
        UsageError: It is for other worlds, needs other cameras, or its chunks have another rate.
    """
    if info.worlds and world.name not in info.worlds:
        raise UsageError(f"{info.name} is for other worlds", expected=", ".join(info.worlds), got=world.name)
    missing = [view for view in info.views if view not in world.views]
    if missing:
        cameras = ", ".join(world.views)
        raise UsageError(f"{info.name} needs a camera {missing[0]}", expected=cameras, available=world.views)
    if world.rate_hz is not None and info.rate_hz != world.rate_hz:
        raise UsageError(
            f"{info.name} is not a policy for {world.name}",
            expected=f"actions at {world.rate_hz:g} Hz, such as of the conventions pi0-libero, "
            "openvla-libero, openvla-oft-libero",
            got="waypoints, or an unknown rate" if info.rate_hz is None else f"{info.rate_hz:g} Hz",
        )


class EpisodeRun:
    """One run; made once, carried out once.

    Args:
        episode: World, policy, gate and distortion.

    Raises:
        UserError: World and policy do not fit, or the lease is too short.
    """

    def __init__(self, episode: Episode) -> None:
        check_policy(episode.world, episode.vla.info)
        self._episode = episode
        self._info = episode.vla.info
        self._view = self._info.views[0]
        self._distorter = FrameDistorter(episode.distortion)
        self._gatekeeper: Gatekeeper | OracleGatekeeper = (
            OracleGatekeeper(self._distorter, episode.gate)
            if episode.judge is None
            else Gatekeeper(episode.judge, episode.gate)
        )
        self._judged_steps = episode.steps_judged
        self._steps = self._looks = self._decisions = 0
        self._plan: Array = np.empty((0, 7))
        self._poses: Array = np.empty((0, 4, 4))
        self._grip = 0.0
        self._frames: dict[tuple[View, Source], Frame] = {}
        self._observed: WorldObservation | None = None
        self._chunks: list[ChunkRecord] = []
        self._verdicts: list[VerdictRecord] = []
        self._motions: list[MotionVerdict] = []
        self._answers: list[AnswerRecord] = []
        self._executed: set[int] = set()
        self._path: list[tuple[float, float, float, float]] = []
        self._reason, self._held = "", False

    def record(self) -> RunRecord:
        """Carry out the run; return its record, without latencies.

        Raises:
            InputError: The policy or the world fails.
        """
        episode, world = self._episode, self._episode.world
        world.open(episode.task, episode.state)
        self._ask_vlm()
        while not (world.success or world.violation) and self._steps < episode.task.horizon:
            if not self._look() or not self._has_plan():
                self._stay()
            else:
                self._move()
        return self._record(self._note())

    # --- images and gate ------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """Take an image and let the gate judge it; return whether the arm may move."""
        now_ns = self._episode.world.time_ns
        self._frames.clear()
        self._observed = None
        self._looks += 1
        rgb = self._frame(self._view, Source.DISTORTED).rgb if self._gatekeeper.measures else None
        quality, lease = self._gatekeeper.judge(self._view, now_ns, rgb, now_ns)
        self._verdicts.append(verdict_record(quality))
        if quality.repaired is not None:
            received = self._frame(self._view, Source.DISTORTED)
            self._frames[self._view, Source.DISTORTED] = replace(received, rgb=quality.repaired)
        passes = lease.verdict is Verdict.PASS
        if not passes:
            self._plan, self._reason, self._held = self._plan[:0], lease.reason, True
            if not self._chunks:  # of a run that is held to its end, one decision is known and scored
                self._ask()
        return passes

    def _observe(self, views: Iterable[View] = ()) -> WorldObservation:
        """Return the state at this instant, with images that were not rendered yet."""
        missing = [view for view in views if (view, Source.RAW) not in self._frames]
        if missing or self._observed is None:
            self._observed = self._episode.world.observe(missing)
            self._frames |= {(view, Source.RAW): frame for view, frame in self._observed.frames.items()}
        return self._observed

    def _frame(self, view: View, source: Source) -> Frame:
        if (view, source) not in self._frames:
            self._observe([view])
            raw = self._frames[view, Source.RAW]
            if source is Source.DISTORTED:
                rgb = self._distorter.apply(raw.rgb, view, raw.stamp_ns)
                self._frames[view, source] = raw if rgb is raw.rgb else replace(raw, rgb=rgb)
        return self._frames[view, source]

    def _ask_vlm(self) -> None:
        vlm = self._episode.vlm
        if vlm is None:
            return
        for source in Source:
            frame = self._frame(self._view, source)
            outcome = answer(vlm, frame, source, self._episode.task.instruction)
            if outcome.result is None:
                raise InputError(f"{vlm.info.name} fails: {outcome.reason}")
            self._answers.append(replace(outcome.result, latency_ms=math.nan))

    # --- decisions ------------------------------------------------------------------------------------------

    def _has_plan(self) -> bool:
        """Return whether there is something to execute; where nothing is left, ask the policy."""
        if len(self._plan):
            return True
        distorted = self._ask()
        if distorted.status not in _MOVES or not self._may_move(distorted):
            self._reason = self._reason if distorted.status in _MOVES else distorted.reason
            return False
        self._plan = distorted.increments[: self._episode.replan_steps]
        chain = chain_increments(distorted.T_base_tool, self._plan)
        self._poses = np.concatenate([distorted.T_base_tool[None], chain])
        return True

    def _ask(self) -> ChunkRecord:
        """Ask the policy on the undistorted and on the distorted images; return the latter decision."""
        raw = self._decide(Source.RAW)
        same = all(
            self._frame(view, Source.DISTORTED) is self._frame(view, Source.RAW) for view in self._seen_views
        )
        distorted = replace(raw, source=Source.DISTORTED) if same else self._decide(Source.DISTORTED)
        self._chunks += [raw, distorted]
        self._decisions += 1
        return distorted

    @property
    def _seen_views(self) -> tuple[View, ...]:
        """Cameras whose images are rendered for the policy: a scripted expert looks at none."""
        return () if self._info.privileged else self._info.views

    def _decide(self, source: Source) -> ChunkRecord:
        frames = {view: self._frame(view, source) for view in self._seen_views}
        seen, world = self._observe(), self._episode.world
        request = DecisionRequest(
            stamp_ns=world.time_ns,
            source=source,
            sequence=self._decisions,
            step=self._decisions,
            task=self._episode.task.instruction,
            T_base_tool=seen.T_base_tool,
            gripper=seen.gripper,
            native_state=seen.native_state,
            objects=world.objects() if self._info.privileged else None,
        )
        chunk = decide(self._episode.vla, request, frames)
        if not chunk.is_decision:
            raise InputError(f"{self._info.name} fails: {chunk.reason or 'its increments are not finite'}")
        return replace(chunk, latency_ms=math.nan)

    def _may_move(self, chunk: ChunkRecord) -> bool:
        """Let the second stage of the gate judge a decision, where it has one."""
        if isinstance(self._gatekeeper, OracleGatekeeper):
            return True
        decision = GateDecision(chunk.view, chunk.stamp_ns, chunk.sequence, chunk.seen)
        lease = self._gatekeeper.judge_decision(decision, chunk.stamp_ns)
        if lease is None:
            return True
        self._motions.append(MotionVerdict.of(lease))
        if lease.verdict is not Verdict.PASS:
            self._reason, self._held = lease.reason, True
        return lease.verdict is Verdict.PASS

    # --- steps ----------------------------------------------------------------------------------------------

    def _most_steps(self) -> int:
        left = self._episode.task.horizon - self._steps
        return left if self._judged_steps is None else min(left, self._judged_steps)

    def _move(self) -> None:
        rows = self._plan[: self._most_steps()]
        self._executed.add(self._decisions - 1)
        self._grip = float(rows[-1, 6])
        self._step(rows, self._poses[0])
        self._plan, self._poses = self._plan[len(rows) :], self._poses[len(rows) :]

    def _stay(self) -> None:
        """Stand still, with the gripper as it was told last, until the next image."""
        steps = min(self._most_steps(), self._episode.replan_steps or 1)
        rows = np.zeros((steps, 7))
        rows[:, 6] = self._grip
        self._step(rows, self._observe().T_base_tool)

    def _step(self, rows: Array, T_base_tool: Array) -> None:
        self._note()
        self._steps += max(1, self._episode.world.step(rows, T_base_tool))

    def _note(self) -> WorldObservation:
        """Note where the tool is."""
        world = self._episode.world
        seen = world.observe(())
        x, y, z = (float(value) for value in seen.T_base_tool[:3, 3])
        self._path.append((world.time_ns / SECOND_NS, x, y, z))
        return seen

    def _record(self, end: WorldObservation) -> RunRecord:
        outcome, reason = self._outcome()
        return RunRecord(
            index=0 if self._episode.distortion is None else 1,
            distortion=self._episode.distortion,
            start_ns=0,
            end_ns=self._episode.world.time_ns,
            outcome=outcome,
            reason=reason,
            T_base_tool=end.T_base_tool,
            frames_published=self._looks,
            frames_received=len(self._verdicts),
            gate_mode=self._episode.gate.mode,
            chunks=tuple(self._chunks),
            executed=tuple(sorted(self._executed)),
            verdicts=tuple(self._verdicts),
            motions=tuple(self._motions),
            answers=tuple(self._answers),
            tool_path=np.array(self._path, dtype=np.float64).reshape(-1, 4),
        )

    def _outcome(self) -> tuple[Outcome, str]:
        world, task = self._episode.world, self._episode.task
        if world.success:
            return Outcome.SUCCESS, f"done, by the check of {world.name}"
        if world.violation:
            return Outcome.EMERGENCY_STOP, world.violation
        if self._executed:
            return Outcome.FAILURE, f"not done within {task.horizon} steps"
        if self._held:
            return Outcome.HELD_BY_GATE, self._reason
        if any(chunk.status is ChunkStatus.NO_TARGET for chunk in self._chunks):
            return Outcome.NO_TARGET, self._reason
        return Outcome.FAILURE, self._reason
