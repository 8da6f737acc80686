"""Headless trial: runs in one process without ROS, faster than real time and repeatable.

The parts are those of the ROS graph: the trial's state machine, the decider, the arm's runner, the gate, the
distortions, the subjects, the world and its images, with the parameters of the same configuration. Only
latencies are constants here, so that a run depends on nothing but its plan.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.controller import ArmController
from embodied_iqa.arm.robot.messages import ArmMode
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.errors import InternalError, UserError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import (
    AnswerRecord,
    ChunkRecord,
    MotionVerdict,
    RunRecord,
    VerdictRecord,
)
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.message_geometry import as_sent
from embodied_iqa.models.subjects.actions.real_arm import check_joints
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.runs.graph.camera_parameters import check_cameras
from embodied_iqa.runs.offline.headless.arm import HeadlessArm
from embodied_iqa.runs.offline.headless.cameras import AnyGatekeeper, HeadlessCameras
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy, goal_of
from embodied_iqa.runs.offline.oracle import OracleGatekeeper
from embodied_iqa.runs.trial import machine
from embodied_iqa.runs.trial.deciding import answer
from embodied_iqa.runs.trial.driver import arm_seen
from embodied_iqa.runs.trial.protocol import (
    Answered,
    AskVlm,
    ChunkSeen,
    Command,
    Deciding,
    Event,
    FrameSeen,
    Rearm,
    Reply,
    ResetWorld,
    RunResult,
    RunWorld,
    SetDistortion,
    SetTask,
    StopArm,
    TrialPlan,
    WorldSeen,
)
from embodied_iqa.world.protocols import Vla, Vlm
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction, parse_instruction

_EPOCHS_BEFORE: Final = 2
"""A live session idles in its first epoch and starts its first run at the second."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Shared by the runs of one task: models and graphics contexts are expensive.

    Attributes:
        world: The physics.
        renderer: Of the same scene as the world.
        controller: Of the arm.
        judge: Of the gate; None for the oracle, which passes exactly while the level in force is 0.
        vla: The policy.
        vlm: Answers about the first frame; None for none.
    """

    world: World
    renderer: SceneRenderer
    controller: ArmController
    judge: ImageJudge | None
    vla: Vla
    vlm: Vlm | None = None


class HeadlessRun:
    """One run: a loop over the ticks of the arm's controller.

    In each tick come the cameras, the world's state, the verdicts, the arm and the decisions, in this order;
    every event passes the trial's state machine before the next.

    Args:
        cell: World and subjects; the world is reset first.
        options: Parameters and latencies.
        plan: The trial; its scene is the cell's.
        run_index: 0 for the reference run. A run does not depend on earlier ones.
    """

    def __init__(self, cell: Cell, options: HeadlessOptions, plan: TrialPlan, run_index: int) -> None:
        self._cell = cell
        self._options = options
        self._plan = plan
        self._index = run_index
        self._task: Instruction = parse_instruction(plan.task)
        self._start_ns = (_EPOCHS_BEFORE + run_index) * options.epoch_ns
        self._now_ns = self._start_ns
        distorter = FrameDistorter(plan.distortion(run_index), self._start_ns)
        nodes = options.nodes
        self._views = nodes.gate_node.views
        check_cameras(cell.vla.info.name, cell.vla.info.views, self._views)
        nodes.vla_node.horizon.check_rate(cell.vla.info.rate_hz, cell.vla.info.name)
        nodes.vla_node.horizon.check_policies(len(cell.vla.info.parts), cell.vla.info.name)
        if not nodes.vla_node.shows_joints:
            check_joints(cell.vla.info, nodes.vla_node.arm_model, nodes.vla_node.tool_length_m)
        gatekeeper = _gatekeeper(cell.judge, nodes.gate_node.judge, distorter)
        shown = [] if cell.vlm is None else [cell.vlm.info.shown_view(nodes.camera_node.views)]
        seen = (*self._views, *shown)
        cameras = SimulatedCameras(
            cell.renderer, nodes.camera_node.model, tuple(dict.fromkeys(seen)), nodes.camera_node.faults
        )
        self._cameras = HeadlessCameras(cameras, distorter, gatekeeper, nodes.vla_node.keep_frames)
        self._arm = HeadlessArm(cell.controller, nodes.arm_node, cell.world)
        self._policy = HeadlessPolicy(cell.vla, nodes.vla_node, self._cameras)
        self._begin: WorldSnapshot = cell.world.snapshot()
        self._running = False
        self._state, commands = machine.start(plan, run_index)
        self._commands: deque[Command] = deque(commands)
        self._next_image_ns = self._next_status_ns = self._start_ns
        self._reported_violation = ""
        self._unjudged: deque[int] = deque()
        self._arrived: deque[tuple[int, frozenset[View]]] = deque(maxlen=nodes.vla_node.keep_frames)
        self._undelivered: deque[tuple[int, ChunkRecord]] = deque()
        self._T_base_tool: NDArray[np.float64] = np.eye(4)
        self._answers: list[AnswerRecord] = []
        self._chunks: list[ChunkRecord] = []
        self._verdicts: list[VerdictRecord] = []
        self._motions: list[MotionVerdict] = []
        self._path: list[tuple[float, float, float, float]] = []
        self._published = 0
        self._executed: set[int] = set()

    def record(self) -> RunRecord:
        """Carry out the run; return its record, as of a live trial but without latencies.

        Raises:
            UserError: The trial failed.
        """
        self._obey()
        while not self._state.results and self._running:
            self._tick()
            if not self._state.results:
                self._cell.world.advance(self._options.tick_ns)
                self._now_ns += self._options.tick_ns
        if not self._state.results:
            raise UserError(f"the run did not finish: {self._state.problem or 'nothing happened'}")
        return self._record(self._state.results[0])

    # --- time -----------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        now_ns = self._now_ns
        if now_ns >= self._next_image_ns:
            self._next_image_ns += self._options.image_period_ns
            self._cameras.take(self._cell.world.snapshot(), now_ns)
            self._unjudged.append(now_ns)
            self._published += len(set(self._views) - self._cameras.dropped(now_ns))
        self._report_world(now_ns)
        while self._unjudged and now_ns - self._unjudged[0] >= self._options.gate_latency_ns:
            self._judge(self._unjudged.popleft())
        self._arm.tick(now_ns)
        for report in self._arm.take_reports():
            self._report_arm(report)
        decided = self._policy.decide(self._arrived, deciding=bool(self._undelivered))
        if decided is not None:
            self._chunks += decided
            self._undelivered.append((now_ns + self._options.decision_latency_ns, decided[1]))
            self._happened(Deciding(busy=True))
        while self._undelivered and now_ns >= self._undelivered[0][0]:
            self._deliver(self._undelivered.popleft()[1])

    def _report_world(self, now_ns: int) -> None:
        violation = self._cell.world.contact_violation or ""
        if now_ns < self._next_status_ns and violation == self._reported_violation:
            return
        self._reported_violation = violation
        self._next_status_ns = now_ns + self._options.image_period_ns
        world = self._cell.world
        missing = task_missing(world.scene, self._task, self._begin, world.snapshot())
        self._happened(WorldSeen(now_ns, not missing, violation, self._T_base_tool, missing))

    def _judge(self, stamp_ns: int) -> None:
        leases: list[GateLease] = []
        dropped = self._cameras.dropped(stamp_ns)
        for view in (view for view in self._views if view not in dropped):
            verdict, lease = self._cameras.judge(view, stamp_ns, self._now_ns)
            self._verdicts.append(verdict)
            leases.append(lease)
        for lease in leases:
            self._arm.take_lease(lease)
            self._policy.take_lease(lease)
        self._arrived.append((stamp_ns, dropped))
        if not leases:
            return
        passes = any(lease.verdict is Verdict.PASS for lease in leases)
        reason = next((lease.reason for lease in leases if lease.reason), "no reason given")
        self._happened(FrameSeen(stamp_ns, "" if passes else reason))

    def _report_arm(self, report: ArmReport) -> None:
        stamp_ns, status = report.measured.stamp_ns, report.status
        if report.T_base_tool is not None:
            self._T_base_tool = as_sent(report.T_base_tool)
            x, y, z = (float(value) for value in self._T_base_tool[:3, 3])
            self._path.append(((stamp_ns - self._start_ns) / SECOND_NS, x, y, z))
        if status.mode is ArmMode.EXECUTING and report.goal_sequence is not None:
            self._executed.add(report.goal_sequence)
        self._policy.take_report(report)
        self._happened(arm_seen(report))

    def _deliver(self, chunk: ChunkRecord) -> None:
        goal = goal_of(chunk)
        if goal is not None:
            lease = self._cameras.judge_decision(chunk, self._now_ns)
            if lease is not None:
                self._motions.append(MotionVerdict.of(lease))
                self._arm.take_lease(lease)
            self._arm.take_goal(goal)
        self._happened(ChunkSeen(chunk.stamp_ns, chunk.status, chunk.failure))
        self._happened(Deciding(busy=bool(self._undelivered)))

    # --- the trial ------------------------------------------------------------------------------------------

    def _happened(self, event: Event) -> None:
        self._state, commands = machine.step(self._state, event)
        self._commands += commands
        self._obey()

    def _obey(self) -> None:
        while self._commands and not self._state.results:
            reply = self._do(self._commands.popleft())
            if reply is not None:
                self._state, commands = machine.step(self._state, reply)
                self._commands += commands

    def _do(self, command: Command) -> Event | None:
        match command:
            case ResetWorld():
                self._cell.world.reset()
                self._begin = self._cell.world.snapshot()
                return Reply(command, ok=True, stamp_ns=self._start_ns)
            case SetDistortion(spec):
                if spec != self._plan.distortion(self._index):
                    raise InternalError(f"unexpected distortion of run {self._index}: {spec}")
            case Rearm():
                problem = self._arm.rearm(self._now_ns)
                return Reply(command, ok=not problem, message=problem)
            case StopArm(reason):
                self._arm.stop(reason, self._now_ns)
            case SetTask(task, from_ns):
                self._policy.set_task(task, from_ns)
            case RunWorld(running):
                self._running = running
            case AskVlm():
                return self._ask(command)
        return Reply(command, ok=True)

    def _ask(self, command: AskVlm) -> Answered | None:
        vlm = self._cell.vlm
        if vlm is None:
            return None
        view = vlm.info.shown_view(self._options.nodes.camera_node.views)
        if view in self._cameras.dropped(command.stamp_ns):
            return Answered(command.source, command.stamp_ns, ok=False, message="its image did not arrive")
        frame = self._cameras.frame(view, command.source, command.stamp_ns)
        outcome = answer(vlm, frame, command.source, self._plan.task)
        if outcome.result is None:
            return Answered(command.source, command.stamp_ns, ok=False, message=outcome.reason)
        self._answers.append(replace(outcome.result, latency_ms=math.nan))
        return Answered(command.source, command.stamp_ns, ok=True)

    def _record(self, result: RunResult) -> RunRecord:
        return RunRecord(
            index=self._index,
            distortion=self._plan.distortion(self._index),
            start_ns=result.start_ns,
            end_ns=result.end_ns,
            outcome=result.outcome,
            reason=result.reason,
            T_base_tool=result.T_base_tool,
            frames_published=self._published,
            frames_received=len(self._verdicts),
            gate_mode=self._options.nodes.gate_node.judge.mode,
            answers=tuple(self._answers),
            chunks=tuple(self._chunks),
            verdicts=tuple(self._verdicts),
            motions=tuple(self._motions),
            tool_path=np.array(self._path, dtype=np.float64).reshape(-1, 4),
            executed=tuple(sorted(self._executed)),
            peak_contact_n=self._cell.world.peak_contact_n,
        )


def _gatekeeper(judge: ImageJudge | None, options: GateOptions, distorter: FrameDistorter) -> AnyGatekeeper:
    return OracleGatekeeper(distorter, options) if judge is None else Gatekeeper(judge, options)
