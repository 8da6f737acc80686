"""One seeded trial through the three drivers: live over DDS, headless and rescored say and do the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.messages import ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import read_trial, stamp_ns
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judgement import JudgeChoice
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.policy import goal_of
from embodied_iqa.runs.offline.headless.run import Cell, HeadlessRun
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from live_trial import NOISE, PALE, SCENE_SEED, TASK, VLA, VLM, Session

PLAIN = ("stamp_ns", "view", "status", "reason", "target_px", "seen", "gripper", "step", "subject")
Targets = NDArray[np.float64]


class RecordedWorld(World):
    """Keeps the joint targets that the arm gets."""

    def reset(self, *arguments: Any) -> None:
        self.targets: list[NDArray[np.float64]] = []
        super().reset(*arguments)

    def set_arm_target(self, q_rad: NDArray[np.float64]) -> None:
        self.targets.append(np.array(q_rad))
        super().set_arm_target(q_rad)


@dataclass
class Driven:
    """The runs of a driver, and the joint targets of each."""

    runs: tuple[RunRecord, ...]
    targets: tuple[Targets, ...]


def steps(targets: Iterable[Sequence[float]]) -> Targets:
    """Targets without those that repeat the one before, ``(N, 6)``."""
    rows = np.array(list(targets)).reshape(-1, 6)
    changes = np.any(np.diff(rows, axis=0) != 0, axis=1)
    return rows[np.concatenate([[True], changes])]


@pytest.fixture(scope="module")
def options(session: Session) -> HeadlessOptions:
    return session.headless()


@pytest.fixture(scope="module")
def rescored(session: Session, options: HeadlessOptions) -> tuple[RunRecord, ...]:
    gate = options.nodes.gate_node
    subjects = Subjects(
        vlm=lambda name: make_vlm(parse_vlm(name)),
        vla=lambda name: make_vla(parse_vla(name)),
        judge=shared_judge(gate.judge.kind, gate.calibration),
        gate=gate.judge,
    )
    return Rescorer(session.recording, subjects).record().runs


@pytest.fixture(scope="module")
def headless(options: HeadlessOptions) -> Driven:
    nodes, scene = options.nodes, make_scene(SCENE_SEED, parse_instruction(TASK))
    arm, world = nodes.arm_node, RecordedWorld(scene)
    plan = options.plan(TASK, SCENE_SEED, (NOISE, PALE))
    with SceneRenderer(scene, nodes.camera_node.width_px, nodes.camera_node.height_px) as renderer:
        cell = Cell(
            world,
            renderer,
            make_controller(arm.limits, arm.controller, arm.tool_length_m),
            shared_judge(JudgeChoice(), nodes.gate_node.calibration),
            make_vla(parse_vla(VLA)),
            make_vlm(parse_vlm(VLM)),
        )
        runs, targets = [], []
        for index in range(plan.run_count):
            runs.append(HeadlessRun(cell, options, plan, index).record())
            targets.append(steps(world.targets))
    return Driven(tuple(runs), tuple(targets))


def first(run: RunRecord, source: Source) -> ChunkRecord:
    return next(chunk for chunk in run.chunks if chunk.source is source)


def joints_at(recording: Path, start_ns: int) -> tuple[NDArray[np.float64], float]:
    """Joint angles and gripper in the first report at or after a stamp."""
    with TrialReader(recording) as reader:
        for message in reader.messages(["/arm/joint_states"]):
            joints = reader.decode(message)
            if stamp_ns(joints) >= start_ns:
                return np.array(joints.position[:6]), float(joints.position[6])
    raise AssertionError(f"no joint states at {start_ns}")


def replayed(
    options: HeadlessOptions, chunk: ChunkRecord, q_rad: NDArray[np.float64], gripper: float
) -> Targets:
    """The targets of a decision on an arm that is always at its target, leased in every tick."""
    arm = options.nodes.arm_node
    controller = make_controller(arm.limits, arm.controller, arm.tool_length_m)
    runner = ArmRunner(controller, report_rate_hz=arm.report_rate_hz)
    goal, now_ns, targets = goal_of(chunk), chunk.stamp_ns, [q_rad]
    assert goal is not None
    runner.arm(ArmState(now_ns, q_rad, np.zeros(6), GripperState(gripper)))
    runner.take_goal(goal)
    for _ in range(5000):
        runner.take_lease(GateLease(goal.view, now_ns, Verdict.PASS, Verdict.PASS, now_ns + SECOND_NS))
        now_ns += options.tick_ns
        tick = runner.tick(ArmState(now_ns, q_rad, np.zeros(6), GripperState(gripper)))
        assert tick is not None
        assert tick.q_target_rad is not None
        q_rad, gripper = tick.q_target_rad, gripper if tick.gripper_target is None else tick.gripper_target
        targets.append(q_rad)
        if any(goal.outcome is GoalOutcome.COMPLETED for goal in tick.goals):
            return steps(targets)
    raise AssertionError("the goal was not completed")


def off_path_rad(targets: Targets, path: Targets) -> float:
    """The greatest distance of a target from the polyline through ``path``."""
    begins, ways = path[:-1], np.diff(path, axis=0)
    along = np.einsum("nij,ij->ni", targets[:, None] - begins, ways) / np.sum(ways**2, axis=1)
    nearest = begins + np.clip(along, 0.0, 1.0)[..., None] * ways
    return float(np.linalg.norm(targets[:, None] - nearest, axis=2).min(axis=1).max())


def test_verdicts_of_the_live_trial_are_those_of_its_rescoring(
    session: Session, rescored: tuple[RunRecord, ...]
) -> None:
    """A gate that a busy machine keeps waiting loses images, which the run counts; the rest is the same."""
    for run, again in zip(read_trial(session.recording).runs, rescored, strict=True):
        judged = {(verdict.stamp_ns, verdict.view) for verdict in run.verdicts}
        lost = [verdict for verdict in again.verdicts if (verdict.stamp_ns, verdict.view) not in judged]
        assert run.verdicts == tuple(verdict for verdict in again.verdicts if verdict not in lost)
        assert len(lost) <= run.frames_published - run.frames_received
        assert run.answers == again.answers


@pytest.mark.parametrize("source", list(Source))
def test_verdicts_answers_and_decisions_on_the_first_frame_are_the_same(
    session: Session, rescored: tuple[RunRecord, ...], headless: Driven, source: Source
) -> None:
    """Later frames show an arm that moves; live it sets out when the machine has answered."""
    for run, *others in zip(read_trial(session.recording).runs, rescored, headless.runs, strict=True):
        for other in others:
            assert (other.start_ns, other.gate_mode) == (run.start_ns, run.gate_mode)
            assert _verdicts(other) == _verdicts(run)
            said, again = run.answer(source), other.answer(source)
            assert said is not None
            assert again is not None
            assert (said.stamp_ns, said.answer, said.view) == (again.stamp_ns, again.answer, again.view)
            one, same = first(run, source), first(other, source)
            assert one.increments.tobytes() == same.increments.tobytes()
            assert one.T_base_tool.tobytes() == same.T_base_tool.tobytes()
            for name in PLAIN:
                assert getattr(one, name) == getattr(same, name), name


def _verdicts(run: RunRecord) -> list[tuple[str, int, str]]:
    return [(v.view, v.verdict, v.reason) for v in run.verdicts if v.stamp_ns == run.start_ns]


def test_the_first_decision_moves_the_arm_alike(
    session: Session, options: HeadlessOptions, rescored: tuple[RunRecord, ...], headless: Driven
) -> None:
    """Bit for bit offline. Live a lease that is late on a busy machine slows the arm on the same path."""
    *moving, pale = zip(rescored, headless.targets, strict=True)
    for run, ours in moving:
        again = replayed(options, first(run, Source.DISTORTED), *joints_at(session.recording, run.start_ns))
        assert len(again) > 100
        assert np.array_equal(ours[: len(again)], again)
        theirs = steps(commanded(session, run))
        assert np.array_equal(theirs[0], again[0])
        assert off_path_rad(theirs[: len(again)], again) < 1e-5
        assert np.abs(theirs - again[-1]).max(axis=1).min() < 1e-12, "it arrives at the same place"
    run, ours = pale
    assert goal_of(first(run, Source.DISTORTED)) is None
    assert len({tuple(q_rad) for q_rad in (*ours, *commanded(session, run))}) <= 1, "nothing moves"


def commanded(session: Session, run: RunRecord) -> list[Sequence[float]]:
    """The joint targets of a live run."""
    stamped = [(ns_of(message.header.stamp), message.position[:6]) for message in session.targets]
    return [q_rad for stamp, q_rad in stamped if run.start_ns <= stamp <= run.end_ns]
