"""A headless run with a receding horizon: one motion, and the decisions of vla_node's desk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judgement import JudgeChoice
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.offline.headless import run as headless_run
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy
from embodied_iqa.runs.offline.headless.run import Cell, HeadlessRun
from embodied_iqa.runs.trial.decision_desk import DecisionDesk
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, Vla, VlaObservation
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction

TASK, SPEED_MPS = "pick the red cube", 0.06
OVERRIDES = {
    "gate_node.judge.mode": "off",
    "camera_node.width_px": 160,
    "camera_node.height_px": 120,
    "vla_node.horizon.mode": "receding",
    "vla_node.horizon.step_rate_hz": 15.0,
}
OPTIONS = HeadlessOptions(resolve(overrides=OVERRIDES), decision_latency_s=0.08)


class Upwards:
    """Ten even steps at 15 Hz, until four chunks were executed."""

    info = SubjectInfo("upwards", "1", "moves up", (View.TOP,), rate_hz=15.0)

    def act(self, observation: VlaObservation) -> ActionChunk:
        if observation.step >= 4:
            return ActionChunk.still(ChunkStatus.DONE, "done")
        increments = np.zeros((10, 7))
        increments[:, 2] = -SPEED_MPS / 15.0
        return ActionChunk(ChunkStatus.ACT, increments, "moves up")


class WithDesk(HeadlessPolicy):
    """Beside each decision, that of vla_node's desk on the same reports, leases and frames."""

    def __init__(self, vla: Vla, config: VlaParameters, cameras: HeadlessCameras) -> None:
        super().__init__(vla, config, cameras)
        again_ns = round(config.decide_again_s * SECOND_NS)
        self.desk = DecisionDesk(Decider(again_ns, config.max_chunks, config.horizon))

    def set_task(self, task: str, from_ns: int) -> None:
        super().set_task(task, from_ns)
        self.desk.set_task(task, from_ns)

    def take_report(self, report: ArmReport) -> None:
        super().take_report(report)
        self.desk.arm_seen(ArmProgress.of(report))

    def take_lease(self, lease: GateLease) -> None:
        super().take_lease(lease)
        note = self.desk.passed if lease.verdict is Verdict.PASS else self.desk.rejected
        note(lease.view, lease.frame_stamp_ns)

    def decide(
        self, arrived: Collection[tuple[int, frozenset[View]]], *, deciding: bool
    ) -> tuple[ChunkRecord, ChunkRecord] | None:
        stamps_ns = [stamp_ns for stamp_ns, dropped in arrived if dropped.isdisjoint(self.cameras)]
        wanted_ns = None if deciding else self.desk.choose(stamps_ns)
        decided = super().decide(arrived, deciding=deciding)
        if decided is None:
            return None
        assert wanted_ns == decided[1].stamp_ns
        for request in self.desk.ask(wanted_ns, decided[1].T_base_tool, decided[1].gripper):
            assert (request.sequence, request.step) == (decided[1].sequence, decided[1].step)
            assert self.desk.close(request)
        self.desk.came_to(decided[1])
        self.desk.published(stamps_ns[-1])
        return decided


def record(cell: Cell) -> RunRecord:
    return HeadlessRun(cell, OPTIONS, OPTIONS.plan(TASK, 7, ()), 0).record()


def test_one_motion_through_all_chunks_and_the_decisions_of_the_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headless_run, "HeadlessPolicy", WithDesk)
    nodes, scene = OPTIONS.nodes, make_scene(7, parse_instruction(TASK))
    controller = make_controller(options=nodes.arm_node.controller)
    judge = shared_judge(JudgeChoice(), nodes.gate_node.calibration)
    with SceneRenderer(scene, 160, 120) as renderer:
        cell = Cell(World(scene), renderer, controller, judge, Upwards())
        run, again = record(cell), record(cell)
        slow = replace(cell, vla=_of_rate(5.0))
        with pytest.raises(UsageError, match="trained at another rate"):
            record(slow)
        other = replace(OPTIONS, nodes=resolve(overrides=OVERRIDES | {"arm_node.model": "ur5e"}))
        turning = replace(cell, vla=_for_the_joints_of_a_ur5())
        with pytest.raises(UsageError, match=r"upwards commands the joints of a UR5 .* got 'ur5e,"):
            HeadlessRun(turning, other, other.plan(TASK, 7, ()), 0)
    assert np.array_equal(run.tool_path, again.tool_path)
    stamps_ns = [chunk.stamp_ns for chunk in run.chunks[::2]]
    assert np.diff(stamps_ns[:-1]) == pytest.approx(5 / 15 * SECOND_NS, abs=0.07 * SECOND_NS)
    assert len(run.executed) == 5  # the fifth was asked for before the fourth was continued
    speeds_mps = np.linalg.norm(np.diff(run.tool_path[:, 1:], axis=0), axis=1) / np.diff(run.tool_path[:, 0])
    steady = np.flatnonzero(speeds_mps > 0.95 * SPEED_MPS)
    assert speeds_mps[steady[0] : steady[-1]].min() >= 0.8 * SPEED_MPS
    assert run.tool_path[steady[-1], 0] - run.tool_path[steady[0], 0] > 1.5


def _of_rate(rate_hz: float) -> Upwards:
    vla = Upwards()
    vla.info = replace(vla.info, rate_hz=rate_hz)
    return vla


def _for_the_joints_of_a_ur5() -> Upwards:
    vla = Upwards()
    vla.info = replace(vla.info, joints_of="ur5")
    return vla
