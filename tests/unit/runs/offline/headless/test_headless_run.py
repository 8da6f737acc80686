"""Runs without ROS: the live semantics, the same again from the same seeds, and what ends a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind, Judgement
from embodied_iqa.quality.gate.judges import load_judge, shared_judge
from embodied_iqa.quality.gate.second_stage import SecondStage
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.run import Cell, HeadlessRun
from embodied_iqa.runs.trial.scores import score_trial
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, Vla, VlaObservation
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.camera.faults import Fault
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import run_episode
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from gate_files import calibration, write_gate

TASK = "pick the red cube"
DARK = DistortionSpec("19", 5)
PALE = DistortionSpec("07", 5)
NOISE = DistortionSpec("12", 3)
SMALL = {"camera_node.width_px": 320, "camera_node.height_px": 240}
"""Drawing is most of a run."""
ONE = {"camera_node__views": [View.TOP]}
"""The policy's camera alone: where every image is judged, drawing the other one is half of a run."""
FEW = {"sim_node__camera_rate_hz": 7.5, "gate_node__judge__lease__ttl_s": 0.2}
"""Half as many images where all are judged, and a lease that lasts until the next one."""
SHORT = {"trial_node__run_limit_s": 1.0}
"""Where only the first decision or answer of a run counts."""
IMPATIENT = {"trial_node__hold_limit_s": 1.0}
"""Where a gate that holds goes on holding."""
LARGE = {"camera_node__width_px": 640, "camera_node__height_px": 480}
"""Where millimetres count, and where the gate's shipped ranges do."""
TOLD = ("stamp_ns", "view", "source", "sequence", "step", "status", "reason", "target_px", "seen", "gripper")


def settings(mode: GateMode = GateMode.OFF, **overrides: object) -> HeadlessOptions:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return HeadlessOptions(resolve((), {"gate_node.judge.mode": str(mode), **SMALL, **named}))


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    with cell_of(settings()) as made:
        yield made


@contextmanager
def cell_of(plain: HeadlessOptions) -> Iterator[Cell]:
    arm = plain.nodes.arm_node
    scene = make_scene(7, parse_instruction(TASK))
    camera = plain.nodes.camera_node
    with SceneRenderer(scene, camera.width_px, camera.height_px) as renderer:
        yield Cell(
            world=World(scene),
            renderer=renderer,
            controller=make_controller(arm.limits, arm.controller, arm.tool_length_m),
            judge=shared_judge(JudgeChoice(), plain.nodes.gate_node.calibration),
            vla=make_vla(parse_vla("classical-vla")),
        )


def run(cell: Cell, spec: DistortionSpec | None = None, how: HeadlessOptions | None = None) -> RunRecord:
    how = how or settings()
    plan = how.plan(TASK, 7, () if spec is None else (spec,))
    return HeadlessRun(cell, how, plan, 0 if spec is None else 1).record()


@pytest.fixture(scope="module")
def reference(cell: Cell) -> RunRecord:
    return run(cell)


def test_a_clean_task_succeeds_as_with_the_plain_loop_of_subject_and_world() -> None:
    """The first decision is nearly that of the subject asked directly without the camera model."""
    asked: list[tuple[VlaObservation, ActionChunk]] = []
    how = settings(**LARGE)
    with cell_of(how) as cell:
        reference = run(cell, how=how)

        class Spy:
            info = cell.vla.info

            def act(self, observation: VlaObservation) -> ActionChunk:
                asked.append((observation, cell.vla.act(observation)))
                return asked[-1][1]

        episode = run_episode(Spy(), World(cell.world.scene), cell.renderer, parse_instruction(TASK))
    first = reference.chunks[0]
    observation, chunk = asked[0]
    assert episode.success
    assert reference.outcome is Outcome.SUCCESS
    assert first.stamp_ns == reference.start_ns
    assert np.allclose(first.T_base_tool, observation.T_base_tool, atol=1e-9)
    assert np.allclose(first.increments[:, :3], chunk.increments[:, :3], atol=1e-3)
    assert first.status is chunk.status
    assert reference.reason == "the VLA reported that the task is done"


def test_the_record_is_that_of_a_live_run(reference: RunRecord) -> None:
    seconds = (reference.end_ns - reference.start_ns) / 1e9
    assert 2.0 < seconds < 12.0
    assert reference.start_ns == 200_000_000_000
    assert reference.frames_published == pytest.approx(2 * 15 * seconds, abs=4)
    assert 0 <= reference.frames_published - reference.frames_received <= 4  # judged 16 ms later
    assert [chunk.source for chunk in reference.chunks[:2]] == [Source.RAW, Source.DISTORTED]
    assert reference.chunks[-1].status is ChunkStatus.DONE
    path = reference.tool_path
    assert np.all(np.diff(path[:, 0]) > 0.03)
    speeds = np.linalg.norm(np.diff(path[:, 1:], axis=0), axis=1) / np.diff(path[:, 0])
    assert 0.1 < speeds.max() < 0.26  # moves, and within the limit of 0.25 m/s
    assert np.allclose(path[-1, 1:], reference.T_base_tool[:3, 3], atol=0.01)


def test_the_same_again_bit_for_bit_whatever_ran_before(cell: Cell) -> None:
    few = settings(**FEW)
    once = run(cell, NOISE, few)
    run(cell, DARK, settings(**FEW, **SHORT))
    again = run(cell, NOISE, few)
    for a, b in zip(once.chunks, again.chunks, strict=True):
        assert np.array_equal(a.increments, b.increments)
        assert all(getattr(a, name) == getattr(b, name) for name in TOLD)
    assert np.array_equal(once.tool_path, again.tool_path)
    assert (once.end_ns, once.outcome, once.reason) == (again.end_ns, again.outcome, again.reason)
    other_seed = run(cell, replace(NOISE, seed=1), few)
    assert not np.array_equal(once.tool_path, other_seed.tool_path)


def test_colours_that_are_gone_fail_without_motion_and_are_scored_by_distance(
    cell: Cell, reference: RunRecord
) -> None:
    pale = run(cell, PALE)
    assert pale.outcome is Outcome.NO_TARGET
    assert pale.reason == "the policy saw no target; cube raised 0.0 of 5 cm"
    assert np.ptp(pale.tool_path[:, 1:], axis=0).max() < 0.001
    record = TrialRecord(TASK, 7, (reference, pale), {})
    first, second = score_trial(record, constants_of)
    distance_cm = 100 * np.linalg.norm(pale.T_base_tool[:3, 3] - reference.T_base_tool[:3, 3])
    assert first.execution.score == 100.0
    assert second.execution.score == pytest.approx(100 - distance_cm)
    assert second.decision.score < 0.7 < first.decision.score == 1.0


def test_the_gate_lets_good_images_move_the_arm_and_bad_ones_not() -> None:
    """With the shipped ranges, at the size that they are of."""
    gated = settings(GateMode.ON, **LARGE, **ONE, **FEW)
    with cell_of(gated) as large:
        good, dark = run(large, None, gated), run(large, DARK, gated)
    assert good.outcome is Outcome.SUCCESS
    assert good.gate_mode is GateMode.ON
    assert sum(verdict.verdict is Verdict.PASS for verdict in good.verdicts) > 0.9 * len(good.verdicts)
    assert len(dark.verdicts) > 10
    assert all(verdict.verdict is not Verdict.PASS for verdict in dark.verdicts)
    assert np.ptp(dark.tool_path[:, 1:], axis=0).max() < 1e-6
    assert dark.outcome is Outcome.HELD_BY_GATE
    assert dark.reason.startswith("held by the gate: ")
    assert "cube raised 0.0 of 5 cm" in dark.reason
    (scores,) = score_trial(TrialRecord(TASK, 7, (good, dark), {}), constants_of)[1:]
    assert (scores.execution.outcome, scores.execution.score) == ("held_by_the_gate", None)


def test_the_oracle_waits_for_the_end_of_a_burst_and_then_the_policy_succeeds(
    cell: Cell, reference: RunRecord
) -> None:
    burst = replace(DARK, schedule="burst:start=0,length=0.8")
    options = settings(GateMode.ON, gate_node__judge__recover_frames=1)
    waited = run(replace(cell, judge=None), burst, options)
    assert waited.outcome is Outcome.SUCCESS
    for verdict in waited.verdicts:
        assert (verdict.verdict is Verdict.PASS) == (waited.level_at(verdict.stamp_ns) == 0)
    moved = np.linalg.norm(waited.tool_path[:, 1:] - waited.tool_path[0, 1:], axis=1) > 1e-3
    assert 0.8 < waited.tool_path[moved][0, 0] < 2.0
    assert waited.executed is not None
    assert waited.chunks[0].sequence not in waited.executed, "the decision on the first, dark image"
    assert reference.executed == (reference.chunks[0].sequence,)
    assert (reference.peak_contact_n, waited.peak_contact_n) == (0.0, 0.0)


def test_decisions_without_a_target_while_the_gate_holds_do_not_use_up_the_run(cell: Cell) -> None:
    burst = replace(PALE, schedule="burst:start=0,length=2")
    few = {"gate_node__judge__recover_frames": 1, "vla_node__max_chunks": 2}
    waited = run(replace(cell, judge=None), burst, settings(GateMode.ON, **few))
    blind = [chunk for chunk in waited.chunks if chunk.status is ChunkStatus.NO_TARGET]
    assert {chunk.source for chunk in blind} == {Source.DISTORTED}
    assert len(blind) > few["vla_node__max_chunks"]
    assert waited.outcome is Outcome.SUCCESS
    shadow = run(replace(cell, judge=None), burst, settings(GateMode.SHADOW, **few))
    assert len(shadow.chunks) == 2 * few["vla_node__max_chunks"], "nothing is held: every decision counts"


def test_a_run_that_is_held_all_the_time_ends_by_its_limit(cell: Cell) -> None:
    limits = {"trial_node__hold_limit_s": 60.0, "trial_node__run_limit_s": 4.0, "vla_node__max_chunks": 2}
    held = run(replace(cell, judge=None), PALE, settings(GateMode.ON, **limits))
    assert held.outcome is Outcome.HELD_BY_GATE
    assert 4.0 < (held.end_ns - held.start_ns) / SECOND_NS < 5.0
    last = max(chunk.stamp_ns for chunk in held.chunks)
    assert (last - held.start_ns) / SECOND_NS > 3.0, "the policy was asked until the end"


def test_a_gate_without_calibration_holds_and_the_shadow_gate_does_not(cell: Cell) -> None:
    bare = replace(cell, judge=StatisticsJudge(()))
    modes = GateMode.ON, GateMode.SHADOW
    held, shadow = (run(bare, None, settings(mode, **ONE, **FEW, **IMPATIENT)) for mode in modes)
    assert held.outcome is Outcome.HELD_BY_GATE
    assert "held by the gate: " in held.reason
    assert np.ptp(held.tool_path[:, 1:], axis=0).max() < 1e-6
    assert "not calibrated" in held.verdicts[0].reason
    assert shadow.outcome is Outcome.SUCCESS
    assert len(shadow.verdicts) > 10
    assert all(verdict.verdict is Verdict.REJECT for verdict in shadow.verdicts)


def test_a_policy_whose_camera_is_missing_is_refused(cell: Cell) -> None:
    side = replace(cell, vla=make_vla(parse_vla("panel-vla-side")))
    with pytest.raises(UsageError, match="panel-vla-side sees the side view, which no camera takes"):
        run(side)


class Blindfold:
    """Passes the images of all cameras but one."""

    def judge(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        held = view == View.TOP
        return Judgement(*((Verdict.REJECT, "a dirty lens") if held else (Verdict.PASS, "")), None)


def test_where_the_gate_holds_its_camera_the_other_policy_decides(cell: Cell) -> None:
    both_views = {"camera_node__views": [View.TOP, View.SIDE]}
    how = settings(GateMode.ON, **both_views, **FEW, **IMPATIENT)
    dirty = replace(cell, judge=Blindfold())
    alone = run(replace(dirty, vla=make_vla(parse_vla("panel-vla-query"))), how=how)
    both = run(replace(dirty, vla=make_vla(parse_vla("panel-vla-query or panel-vla-side"))), how=how)
    its_view = {"camera_node__views": [View.SIDE]}
    side = run(replace(cell, vla=make_vla(parse_vla("panel-vla-side"))), how=settings(**its_view, **FEW))
    assert (alone.outcome, both.outcome, side.outcome) == (Outcome.HELD_BY_GATE, *[Outcome.SUCCESS] * 2)
    assert {chunk.view for chunk in alone.chunks} == {View.TOP}
    acted = [chunk.view for chunk in both.chunks if chunk.source is Source.RAW and chunk.increments.size]
    assert acted == [View.TOP, View.SIDE]
    assert both.executed == (both.chunks[2].sequence,)
    ends = [one.T_base_tool[:3, 3] for one in (both, side)]
    assert np.abs(ends[0] - ends[1]).max() < 0.01  # the same policy, on a later image
    assert [chunk.subject for chunk in both.chunks[::2]] == ["panel-vla-query", *["panel-vla-side"] * 2]


def test_any_camera_of_the_policy_holds_the_arm(cell: Cell) -> None:
    class Riser:
        info = replace(cell.vla.info, views=(View.WRIST, View.TOP))

        def act(self, observation: VlaObservation) -> ActionChunk:
            return ActionChunk(ChunkStatus.ACT, np.array([[0.0, 0.0, -0.05, 0.0, 0.0, 0.0, 0.0]]), "rises")

    how = settings(GateMode.ON, **FEW, **IMPATIENT)
    held, free = (run(replace(cell, vla=Riser(), judge=judge), how=how) for judge in (Blindfold(), None))
    assert held.outcome is Outcome.HELD_BY_GATE
    assert np.ptp(held.tool_path[:, 1:], axis=0).max() < 1e-6
    assert held.chunks[0].other_frames == ((View.TOP, held.chunks[0].stamp_ns),)
    assert np.ptp(free.tool_path[:, 3]) > 0.04


class Digger:
    """Drives the tool into the table."""

    info = make_vla(parse_vla("classical-vla")).info

    def __init__(self, *ways_m: float, aside_m: float = 0.0) -> None:
        self._increments = np.zeros((1 + len(ways_m), 7))
        self._increments[1:, 2] = ways_m
        self._increments[0, 0] = aside_m

    def act(self, observation: VlaObservation) -> ActionChunk:
        return ActionChunk(ChunkStatus.ACT, self._increments, "digs")


def test_a_policy_is_asked_once_where_only_another_camera_is_distorted(cell: Cell) -> None:
    """What it decides on the same images is the same: the second answer would cost as much as the first."""
    asked: list[View] = []

    class Spy:
        info = cell.vla.info

        def act(self, observation: VlaObservation) -> ActionChunk:
            asked.extend(observation.frames)
            return cell.vla.act(observation)

    elsewhere = replace(DARK, schedule="burst:start=0,length=99,view=wrist")
    record = run(replace(cell, vla=Spy()), elsewhere, settings(**FEW))
    assert View.WRIST not in asked
    assert len(asked) * 2 == len(record.chunks)


def test_a_limit_violation_is_an_emergency_stop_and_nothing_moves(cell: Cell) -> None:
    down = run(replace(cell, vla=Digger(0.349)))
    assert down.outcome is Outcome.EMERGENCY_STOP
    assert "above the table" in down.reason
    assert np.ptp(down.tool_path[:, 1:], axis=0).max() < 1e-6
    not_finite = run(replace(cell, vla=Digger(np.nan)))
    assert not_finite.outcome is Outcome.EMERGENCY_STOP
    assert "not finite" in not_finite.reason


def test_a_touch_of_the_table_is_an_emergency_stop(cell: Cell) -> None:
    deep = settings(arm_node__limits__table_z_m=-0.1)
    arm = deep.nodes.arm_node
    low = replace(arm.limits, workspace_min_m=(-0.8, -0.45, -0.1))
    controller = make_controller(low, arm.controller, arm.tool_length_m)
    careless = replace(cell, vla=Digger(0.2, 0.17, aside_m=0.2), controller=controller)
    touched = run(careless, None, replace(deep, nodes=replace(deep.nodes, arm_node=replace(arm, limits=low))))
    assert touched.outcome is Outcome.EMERGENCY_STOP
    assert "presses on the table" in touched.reason
    assert touched.peak_contact_n is not None
    assert touched.peak_contact_n > 20


class Broken:
    """Raises."""

    info = SubjectInfo("broken", "1", "raises", make_vla(parse_vla("classical-vla")).info.views)

    def act(self, observation: VlaObservation) -> ActionChunk:
        raise ZeroDivisionError("by design")


def test_a_subject_that_breaks_is_recorded_and_moves_nothing(cell: Cell) -> None:
    broken = run(replace(cell, vla=Broken()))
    assert broken.outcome is Outcome.FAILURE
    assert broken.chunks
    assert all(chunk.status is None and "by design" in chunk.reason for chunk in broken.chunks)


def test_a_vlm_that_raises_gives_no_answer_and_the_run_goes_on(cell: Cell) -> None:
    class Silent:
        info = make_vlm(parse_vlm("classical-vlm")).info

        def answer(self, frame: Frame, task: str) -> str:
            raise ZeroDivisionError("by design")

    quiet = run(replace(cell, vlm=Silent()), how=settings(**FEW))
    assert (quiet.outcome, quiet.answers) == (Outcome.SUCCESS, ())


def test_the_vlm_answers_about_the_first_frame(cell: Cell) -> None:
    dark = run(replace(cell, vlm=make_vlm(parse_vlm("classical-vlm"))), DARK, settings(**FEW, **SHORT))
    raw, distorted = dark.answer(Source.RAW), dark.answer(Source.DISTORTED)
    assert raw.stamp_ns == distorted.stamp_ns == dark.start_ns
    assert "red" in raw.answer
    assert raw.answer != distorted.answer


def test_world_and_arm_must_tick_alike() -> None:
    said = r"different rates; expected arm_node\.controller\.dt_s 0\.008; got 0\.016"
    with pytest.raises(UsageError, match=said):
        settings(arm_node__controller__dt_s=0.016)
    real = {"arm_node.controller.dt_s": 0.016, "arm_node.robot": "none", "camera_node.source": "bag"}
    with pytest.raises(UsageError, match=said):
        HeadlessOptions(resolve((), real))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("sim_node__state_rate_hz", 250.0, "125"),
        ("sim_node__state_rate_hz", 120.0, "125"),
        ("arm_node__controller__dt_s", 0.002, "0.008 to 0.05"),
    ],
)
def test_rates_that_no_cb3_has_are_refused(name: str, value: float, expected: str) -> None:
    parameter = name.rpartition("__")[2]
    with pytest.raises(UsageError, match=rf"{parameter} in .*expected {expected}; got {value}"):
        settings(**{name: value})


def test_images_that_a_camera_drops_are_not_published_judged_or_decided_on(
    cell: Cell, reference: RunRecord
) -> None:
    rates = {"camera_node__faults__dropped": 0.3, "camera_node__faults__repeated": 0.2}
    how = settings(**rates)
    faulty = run(cell, how=how)
    drawn = how.nodes.camera_node.faults
    views = how.nodes.gate_node.views
    stamps = {verdict.stamp_ns for verdict in reference.verdicts}
    arrived = {
        (stamp, view)
        for stamp in stamps
        for view in views
        if drawn.fault(7, view, stamp) is not Fault.DROPPED
    }
    judged = {(verdict.stamp_ns, verdict.view) for verdict in faulty.verdicts}
    assert {item for item in judged if item[0] in stamps} <= arrived
    assert faulty.frames_published >= len(faulty.verdicts) > 0
    for chunk in faulty.chunks:
        for view in cell.vla.info.views:
            assert drawn.fault(7, view, chunk.stamp_ns) is not Fault.DROPPED
    again = run(cell, how=how)
    assert [chunk.stamp_ns for chunk in again.chunks] == [chunk.stamp_ns for chunk in faulty.chunks]
    assert again.outcome is faulty.outcome


def test_a_burst_of_darkness_delays_the_policy_and_then_leaves_no_trace(
    cell: Cell, reference: RunRecord
) -> None:
    """The image turns black with the first frame and recovers after a second."""
    length_ns = SECOND_NS
    spoilt = run(cell, replace(DARK, schedule="burst:start=0,length=1"))
    assert spoilt.outcome is Outcome.SUCCESS
    pairs = spoilt.decisions()
    dark = [pair for pair in pairs if pair[0].stamp_ns < spoilt.start_ns + length_ns]
    assert 0 < len(dark) < len(pairs)
    assert {distorted.status for _, distorted in dark} == {ChunkStatus.NO_TARGET}
    for raw, distorted in pairs[len(dark) :]:
        assert raw.increments.tobytes() == distorted.increments.tobytes()
    assert spoilt.end_ns - spoilt.start_ns > reference.end_ns - reference.start_ns


class Reports:
    """The subject of a cell, with its own word on whether it sees its target."""

    def __init__(self, vla: Vla, seen: float | None) -> None:
        self._vla, self._seen = vla, seen
        self.info = vla.info

    def act(self, observation: VlaObservation) -> ActionChunk:
        return replace(self._vla.act(observation), seen=self._seen)


@pytest.mark.parametrize(
    ("seen", "outcome", "verdict"),
    [
        (0.9, Outcome.SUCCESS, Verdict.PASS),
        (0.1, Outcome.HELD_BY_GATE, Verdict.HOLD),
        (None, Outcome.HELD_BY_GATE, Verdict.REJECT),
    ],
)
def test_the_second_stage_of_the_gate_lets_only_what_passes_move_the_arm(
    cell: Cell, tmp_path: Path, seen: float | None, outcome: Outcome, verdict: Verdict
) -> None:
    how = settings(GateMode.ON, **ONE, **IMPATIENT)
    camera = how.nodes.camera_node
    size = {"width_px": camera.width_px, "height_px": camera.height_px}
    stage = SecondStage((0.0, 0.0, 0.0, -1.0, *[0.0] * 6), threshold=0.5, screen=0.99)
    file = write_gate(tmp_path, (replace(calibration(), **size),), policy="p", second=stage, **size)
    gated = replace(
        cell, vla=Reports(cell.vla, seen), judge=load_judge(JudgeChoice(JudgeKind.LEARNED), file, "p")
    )
    record = run(gated, how=how)
    assert record.outcome is outcome
    assert {motion.verdict for motion in record.motions} == {verdict}
    moved = np.ptp(record.tool_path[:, 1:], axis=0).max()
    assert (moved > 0.05) == (verdict is Verdict.PASS)
    (score,) = score_trial(TrialRecord(TASK, 7, (record,), {}), constants_of)
    held = 0 if verdict is Verdict.PASS else len(record.motions)
    assert (score.gate.motions, score.gate.motions_held) == (len(record.motions), held)
