"""Decisions of a receding horizon over DDS, headless and rescored: the same frames, the same chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk as ChunkMessage
from embodied_iqa_msgs.msg import ArmStatus as StatusMessage
from embodied_iqa_msgs.msg import GateLease as LeaseMessage
from test_runtime_parity import NoisyBench, assert_same, headless_cameras, image

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.messages import (
    ArmMode,
    ArmState,
    ArmStatus,
    GoalOutcome,
    GoalReport,
    GripperState,
)
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.live.ros.goals import joint_goal_of
from embodied_iqa.live.ros.qos import EVENT, STATE
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.serving.questions import chunk_to_map, observation_from
from embodied_iqa.models.subjects.serving.served import ServedSubject
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.protocols import ActionChunk, Vla, VlaObservation, close_subject
from policy_bench import PERIOD_NS, T_TOOL, TASK
from ros_graph import RosGraph
from runtime_tape import SNAPSHOT, Tape
from trial_recording import NOISE, VIEWS, PixelVla
from wire_servers import reference_server, serving

RATE_HZ, STEPS, EXECUTED = 15.0, 8, 5
HORIZON = {"vla_node.horizon.mode": "receding", "vla_node.horizon.step_rate_hz": RATE_HZ}


class Chunks(PixelVla):
    """Eight steps at 15 Hz that change with any pixel, the pose and the number of chunks before."""

    def __init__(self) -> None:
        super().__init__()
        self.info = replace(self.info, rate_hz=RATE_HZ)

    def act(self, observation: VlaObservation) -> ActionChunk:
        chunk = super().act(observation)
        return replace(chunk, increments=np.repeat(chunk.increments, STEPS, axis=0))

    def served(self) -> ServedSubject:
        return ServedSubject(
            self.info,
            Role.VLA,
            "",
            lambda message: observation_from(message, VIEWS),
            lambda questions: [chunk_to_map(self.act(question)) for question in questions],
            batches=False,
        )


UR5_HORIZON = HORIZON | {"vla_node.horizon.step_rate_hz": 20.0}


def turning(message: dict) -> dict:
    """openpi's recipe for a UR5: joints that change with the images and the joints that it sees."""
    seen = float(message["base_rgb"].mean()) + float(message["wrist_rgb"].mean())
    turns = np.linspace(0.001, 0.008, STEPS)[:, None] * np.arange(1, 7) * seen / 255
    return {"actions": np.hstack([message["joints"] + turns, np.full((STEPS, 1), 0.25)])}


class MovingBench(NoisyBench):
    """The tool moves on with every frame."""

    def T_tool(self) -> np.ndarray:
        return tool_at(self.stamp_ns)


def tool_at(stamp_ns: int) -> np.ndarray:
    T = T_TOOL.copy()
    T[1, 3] += 1e-3 * (stamp_ns // PERIOD_NS % 97)
    return T


@dataclass
class Script:
    """What the arm, the gate and the cameras say, to the nodes and to the headless policy, and its tape."""

    bench: MovingBench
    vla: Vla
    tape: Tape
    headless: list[ChunkRecord] = field(default_factory=list)
    live: list[ChunkMessage] = field(default_factory=list)
    horizon: dict[str, object] = field(default_factory=lambda: HORIZON)
    _ended: GoalReport | None = None
    _mode: ArmMode = ArmMode.IDLE
    _held: bool = False

    def __post_init__(self) -> None:
        graph = self.bench.graph
        self._statuses = graph.publisher(StatusMessage, "/arm/status", EVENT)
        self._leases = graph.publisher(LeaseMessage, "/gate/lease", STATE)
        self._cameras, self._arrived = headless_cameras(), []
        parameters = resolve((), self.horizon).vla_node
        self._policy = HeadlessPolicy(self.vla, parameters, self._cameras)

    def begin(self) -> None:
        start_ns = self.bench.begin() + 1
        self.tape.begin(GateMode.OFF, start_ns, NOISE)
        self._policy.set_task(TASK, start_ns)

    def frame(self, *, decides: bool) -> int:
        """Show one more frame; where the policy is to decide on it, wait for both of its decisions."""
        bench = self.bench
        bench.show()
        stamp_ns = bench.stamp_ns
        for view in VIEWS:
            self.tape.frame(view, stamp_ns, image(view, stamp_ns))
        self._cameras.take(SNAPSHOT, stamp_ns)
        self._arrived.append((stamp_ns, frozenset()))
        self._report(stamp_ns)
        self._policy.take_report(self._arm(stamp_ns))
        self.headless += self._policy.decide(self._arrived, deciding=False) or ()
        if decides:
            self.await_decision(stamp_ns)
        return stamp_ns

    def await_decision(self, stamp_ns: int) -> None:
        for inbox, topic in (
            (self.bench.actions, "/vla/actions"),
            (self.bench.references, "/vla/reference_actions"),
        ):
            self.bench.graph.wait(
                lambda box=inbox: any(ns_of(m.header.stamp) == stamp_ns for m in box.messages),
                f"a decision on {stamp_ns} on {topic}",
            )
            self.live.append(inbox.last)
            self.tape.write(topic, inbox.last)

    def arm_says(self, mode: ArmMode, completed: int | None = None, *, held: bool = False) -> None:
        self._mode, self._held = mode, held
        if completed is not None:
            outcome = GoalOutcome.ABANDONED if held else GoalOutcome.COMPLETED
            self._ended = GoalReport(completed, outcome)
        self._report(self.bench.stamp_ns + 1)
        self._policy.take_report(self._arm(self.bench.stamp_ns + 1))

    def gate_says(self, stamp_ns: int, verdict: Verdict) -> None:
        lease = GateLease(View.TOP, stamp_ns, verdict, verdict, stamp_ns + PERIOD_NS)
        self._policy.take_lease(lease)
        self._leases.publish(
            LeaseMessage(header=header_of(stamp_ns), view="top", verdict=int(verdict), judged=int(verdict))
        )
        self.headless += self._policy.decide(self._arrived, deciding=False) or ()

    def _arm(self, stamp_ns: int) -> ArmReport:
        measured = ArmState(stamp_ns, np.zeros(6), np.zeros(6), GripperState(0.25))
        status = ArmStatus(self._mode, held_by_gate=self._held)
        goal = 1 if self._mode is ArmMode.EXECUTING else None
        return ArmReport(measured, status, False, goal, self._ended, 0, 0, tool_at(stamp_ns))

    def _report(self, stamp_ns: int) -> None:
        report, ended = self._arm(stamp_ns), self._ended
        state = {
            ArmMode.IDLE: StatusMessage.STATE_IDLE,
            ArmMode.EXECUTING: StatusMessage.STATE_EXECUTING,
            ArmMode.HOLDING: StatusMessage.STATE_HOLDING,
        }[self._mode]
        self._statuses.publish(
            StatusMessage(
                header=header_of(stamp_ns),
                state=state,
                has_goal=report.goal_sequence is not None,
                has_completed=ended is not None,
                completed_sequence=0 if ended is None else ended.sequence,
                completed_whole=report.is_completed,
                held_by_gate=self._held,
            )
        )


@pytest.fixture
def script(ros_domain: int, tmp_path: Path) -> Iterator[Script]:
    with serving(Chunks().served()) as port:
        reference = f"openpi://127.0.0.1:{port}"
        overrides = {"vla_node.subject": reference, **HORIZON}
        with RosGraph(ros_domain, tmp_path / "graph", ["vla_node"], overrides) as graph:
            graph.activate("vla_node")
            vla = make_vla(parse_vla(reference))
            yield Script(MovingBench(graph, VIEWS), vla, Tape(tmp_path / "trial.mcap"))
            close_subject(vla)


@pytest.fixture
def jointed(ros_domain: int, tmp_path: Path) -> Iterator[Script]:
    """A policy for a UR5 on openpi's server: it commands joints."""
    with reference_server({}, turning) as port:
        reference = f"pi0-ur5=openpi://127.0.0.1:{port}"
        overrides = {"vla_node.subject": reference, **UR5_HORIZON}
        with RosGraph(ros_domain, tmp_path / "graph", ["vla_node"], overrides) as graph:
            graph.activate("vla_node")
            vla = make_vla(parse_vla(reference))
            tape = Tape(tmp_path / "trial.mcap")
            yield Script(MovingBench(graph, VIEWS), vla, tape, horizon=UR5_HORIZON)
            close_subject(vla)


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


def test_decisions_while_the_arm_moves_rests_and_is_held_are_the_same(script: Script) -> None:
    """No step of the script depends on which of two topics is faster: see the comments."""
    script.begin()
    first_ns = script.frame(decides=True)
    script.arm_says(ArmMode.EXECUTING)
    for _ in range(EXECUTED - 1):
        script.frame(decides=False)
    second_ns = script.frame(decides=True)  # the arm moves; five steps are over
    script.arm_says(ArmMode.EXECUTING, 1)
    script.arm_says(ArmMode.IDLE, 2)  # before its chunk is due the next decision needs both reports
    third_ns = script.frame(decides=True)
    script.arm_says(ArmMode.HOLDING, 3, held=True)
    rejected_ns = script.frame(decides=False)
    script.gate_says(rejected_ns, Verdict.HOLD)
    fourth_ns = script.frame(decides=False)
    script.gate_says(fourth_ns, Verdict.PASS)  # a further decision needs this lease, and the report
    script.await_decision(fourth_ns)
    path = script.tape.end(script.bench.stamp_ns)

    stamps_ns = [first_ns, second_ns, third_ns, fourth_ns]
    assert np.diff(stamps_ns).tolist() == [EXECUTED * PERIOD_NS, PERIOD_NS, 2 * PERIOD_NS]
    live = read_trial(path).runs[0].chunks
    subjects = Subjects(_none, lambda _name: script.vla, StatisticsJudge(()), GateOptions())
    rescored = Rescorer(path, subjects).record().runs[0]
    assert len(live) == len(script.live) == len(rescored.chunks) == 2 * len(stamps_ns)
    headless = {(chunk.sequence, chunk.source): chunk for chunk in script.headless}
    assert len(headless) == len(script.headless) == len(live)
    for said, again in zip(live, rescored.chunks, strict=True):
        assert_same(said, again)
        assert_same(said, headless[said.sequence, said.source])
        assert said.sequence == again.sequence
    arm = [chunk for chunk in live if chunk.source is Source.DISTORTED]
    assert [chunk.stamp_ns for chunk in arm] == stamps_ns
    assert [chunk.step for chunk in arm] == [0, 0, 2, 2]
    assert {len(chunk.increments) for chunk in arm} == {STEPS}
    assert len({chunk.increments.tobytes() for chunk in live}) == len(live), "images and poses differ"


def test_joints_that_a_policy_saw_and_commands_are_the_same(jointed: Script) -> None:
    jointed.begin()
    jointed.frame(decides=True)
    path = jointed.tape.end(jointed.bench.stamp_ns)
    live = read_trial(path).runs[0].chunks
    subjects = Subjects(_none, lambda _name: jointed.vla, StatisticsJudge(()), GateOptions())
    rescored = Rescorer(path, subjects).record().runs[0].chunks
    headless = {chunk.source: chunk for chunk in jointed.headless}
    assert len(live) == len(rescored) == len(headless) == 2
    for said, again in zip(live, rescored, strict=True):
        assert_same(said, again)
        assert_same(said, headless[said.source])
        assert said.q_rad is not None
        assert said.joints_rad is not None
        assert said.q_rad.tolist() == [0.0] * 6
        assert said.joints_rad.shape == (STEPS, 6)
        goal = joint_goal_of(jointed.live[0])
        assert goal is not None
    assert live[0].joints_rad.tobytes() != live[1].joints_rad.tobytes(), "images differ"
    assert np.array_equal(goal[1], next(c for c in live if c.source is Source.DISTORTED).joints_rad)
