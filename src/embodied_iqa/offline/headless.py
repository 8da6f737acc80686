"""Runs of a trial in one process without ROS: faster than real time, the same again from the same seeds.

The parts are those of the ROS graph: the trial's state machine, the decider, the arm's controller, the gate,
the distortions, the subjects, the world and its pictures, with the parameters of the same configuration. What
differs is time: where messages need it live, latencies here are numbers, so that a run depends on nothing but
its plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions import FrameDistorter
from embodied_iqa.errors import InternalError, UserError
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.verdict import GateLease
from embodied_iqa.images.assembler import Source
from embodied_iqa.offline.headless_arm import ArmReport, HeadlessArm
from embodied_iqa.offline.headless_cameras import HeadlessCameras
from embodied_iqa.offline.headless_options import HeadlessSettings
from embodied_iqa.offline.headless_policy import HeadlessPolicy, goal_of
from embodied_iqa.robot.controller import ArmController
from embodied_iqa.robot.messages import ArmMode
from embodied_iqa.scenes.snapshot import WorldSnapshot
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.success import task_success
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.protocols import ChunkStatus, Vla, Vlm
from embodied_iqa.tasks.instruction import Instruction, parse_instruction
from embodied_iqa.trial import machine
from embodied_iqa.trial.protocol import (
    Answered,
    ArmSeen,
    AskVlm,
    ChunkSeen,
    Command,
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
from embodied_iqa.trial.record import AnswerRecord, ChunkRecord, RunRecord, VerdictRecord

__all__ = ["Cell", "HeadlessRun", "run_headless"]

_SECOND_NS: Final = 1_000_000_000
_EPOCHS_BEFORE: Final = 2
"""A live session idles in its first epoch and starts its first run at the second."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What runs of one task share; made once, since models and graphics contexts take time.

    Attributes:
        world: The physics.
        renderer: Of the same scene as the world.
        controller: Of the arm.
        calibrations: Thresholds of the gate.
        vla: Who acts.
        vlm: Who answers about the first frame, or None.
    """

    world: World
    renderer: SceneRenderer
    controller: ArmController
    calibrations: Sequence[GateCalibration]
    vla: Vla
    vlm: Vlm | None = None


def run_headless(cell: Cell, settings: HeadlessSettings, plan: TrialPlan, run_index: int) -> RunRecord:
    """Carry out one run of a plan.

    Args:
        cell: World and subjects; the world is reset first.
        settings: Parameters, as of the graph's nodes.
        plan: The trial; its scene is the cell's.
        run_index: 0 for the reference run. A run does not depend on those before it.

    Returns:
        The record that a live trial would leave, without latencies.

    Raises:
        UserError: The trial failed; the message says why.
    """
    return HeadlessRun(cell, settings, plan, run_index).record()


class HeadlessRun:
    """One run: a loop over the ticks of the arm's controller.

    In each tick the cameras, the world's state, the verdicts, the arm and the decisions take their turn in
    this order, and every event goes through the trial's state machine before the next.
    """

    def __init__(self, cell: Cell, settings: HeadlessSettings, plan: TrialPlan, run_index: int) -> None:
        self._cell = cell
        self._settings = settings
        self._plan = plan
        self._index = run_index
        self._task: Instruction = parse_instruction(plan.task)
        self._start_ns = (_EPOCHS_BEFORE + run_index) * settings.epoch_ns
        self._now_ns = self._start_ns
        distorter = FrameDistorter(plan.distortion(run_index))
        self._cameras = HeadlessCameras(
            cell.renderer, distorter, cell.calibrations, settings.gate.judge, settings.vla.keep_frames
        )
        self._arm = HeadlessArm(cell.controller, settings.arm, cell.world)
        self._policy = HeadlessPolicy(cell.vla, settings.vla, self._cameras)
        self._begin: WorldSnapshot = cell.world.snapshot()
        self._running = False
        self._state, commands = machine.start(plan, run_index)
        self._commands: deque[Command] = deque(commands)
        self._next_picture_ns = self._next_status_ns = self._start_ns
        self._told_violation = ""
        self._unjudged: deque[int] = deque()
        self._arrived: deque[int] = deque(maxlen=settings.vla.keep_frames)
        self._undelivered: deque[tuple[int, ChunkRecord]] = deque()
        self._T_base_tool: NDArray[np.float64] = np.eye(4)
        self._answers: list[AnswerRecord] = []
        self._chunks: list[ChunkRecord] = []
        self._verdicts: list[VerdictRecord] = []
        self._path: list[tuple[float, float, float, float]] = []
        self._published = 0

    def record(self) -> RunRecord:
        """Carry it out."""
        self._obey()
        while not self._state.results and self._running:
            self._tick()
            if not self._state.results:
                self._cell.world.advance(self._settings.tick_ns)
                self._now_ns += self._settings.tick_ns
        if not self._state.results:
            raise UserError(f"the run came to no end: {self._state.problem or 'nothing happened'}")
        return self._record(self._state.results[0])

    # --- time -----------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        now_ns = self._now_ns
        if now_ns >= self._next_picture_ns:
            self._next_picture_ns += self._settings.picture_period_ns
            self._cameras.take(self._cell.world.snapshot(), now_ns)
            self._unjudged.append(now_ns)
            self._published += len(self._settings.views)
        self._tell_world(now_ns)
        while self._unjudged and now_ns - self._unjudged[0] >= self._settings.gate_latency_ns:
            self._judge(self._unjudged.popleft())
        self._arm.tick(now_ns)
        for report in self._arm.news():
            self._tell_arm(report)
        decided = self._policy.decide(list(self._arrived))
        if decided is not None:
            self._chunks += decided
            self._undelivered.append((now_ns + self._settings.decision_latency_ns, decided[1]))
        while self._undelivered and now_ns >= self._undelivered[0][0]:
            self._deliver(self._undelivered.popleft()[1])

    def _tell_world(self, now_ns: int) -> None:
        violation = self._cell.world.contact_violation or ""
        if now_ns < self._next_status_ns and violation == self._told_violation:
            return
        self._told_violation = violation
        self._next_status_ns = now_ns + self._settings.picture_period_ns
        world = self._cell.world
        done = task_success(world.scene, self._task, self._begin, world.snapshot())
        self._happened(WorldSeen(now_ns, done, violation, self._T_base_tool))

    def _judge(self, stamp_ns: int) -> None:
        leases: list[GateLease] = []
        for view in self._settings.views:
            verdict, lease = self._cameras.judge(view, stamp_ns, self._now_ns)
            self._verdicts.append(verdict)
            leases.append(lease)
        for lease in leases:
            self._arm.take_lease(lease)
        self._arrived.append(stamp_ns)
        self._happened(FrameSeen(stamp_ns))

    def _tell_arm(self, report: ArmReport) -> None:
        if report.tool is not None:
            self._T_base_tool = report.tool.T_base_tool
            x, y, z = (float(value) for value in self._T_base_tool[:3, 3])
            self._path.append(((report.stamp_ns - self._start_ns) / _SECOND_NS, x, y, z))
        self._policy.take_report(report)
        moving = report.mode is ArmMode.EXECUTING
        self._happened(ArmSeen(report.stamp_ns, moving, report.emergency_stop, report.reason))

    def _deliver(self, chunk: ChunkRecord) -> None:
        goal = goal_of(chunk)
        if goal is not None:
            self._arm.take_goal(goal)
        self._happened(ChunkSeen(chunk.stamp_ns, chunk.status is ChunkStatus.DONE, chunk.reason))

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
                    raise InternalError(f"run {self._index} was asked for {spec}")
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
        view = vlm.info.views[0]
        try:
            text = vlm.answer(self._cameras.frame(view, command.source, command.stamp_ns), self._plan.task)
        except Exception as error:  # noqa: BLE001 - a subject may be anybody's code
            return Answered(command.source, ok=False, message=f"{type(error).__name__}: {error}")
        self._answers.append(
            AnswerRecord(
                command.stamp_ns,
                view,
                Source(command.source),
                text,
                vlm.info.name,
                vlm.info.version,
                math.nan,
            )
        )
        return Answered(command.source, ok=True)

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
            gate_mode=self._settings.gate.judge.mode,
            answers=tuple(self._answers),
            chunks=tuple(self._chunks),
            verdicts=tuple(self._verdicts),
            tool_path=np.array(self._path, dtype=np.float64).reshape(-1, 4),
        )
