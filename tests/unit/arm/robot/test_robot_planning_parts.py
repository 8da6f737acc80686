"""A goal of many segments is planned a few a tick, so that the arm's states are answered meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import Bench

from embodied_iqa.arm.robot import acceptance
from embodied_iqa.arm.robot.acceptance import SEGMENTS_A_TICK
from embodied_iqa.arm.robot.limits import LimitKind, Violation
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, ArmOutput, GoalOutcome, GripperState
from embodied_iqa.arm.robot.planning import plan_goal
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.kinematics import increments_between

COUNT = 2 * SEGMENTS_A_TICK + 2
ENOUGH = 40


def to_and_fro(count: int = COUNT, first_m: float = 0.03) -> np.ndarray:
    increments = np.zeros((count, 7))
    increments[::2, 0], increments[1::2, 0] = first_m, -first_m
    return increments


def planned(bench: Bench) -> int:
    planning = bench.state.planning
    return 0 if planning is None else len(planning.plan.segments)


def outcomes(output: ArmOutput) -> list[tuple[int, GoalOutcome, str]]:
    return [(report.sequence, report.outcome, report.reason) for report in output.reports]


def test_a_plan_in_parts_is_the_plan_as_a_whole() -> None:
    bench = Bench().armed()
    start = bench.q.copy()
    seen = [(outcomes(bench.send(to_and_fro())), planned(bench))]
    seen += [(outcomes(bench.tick()), planned(bench)) for _ in range(2)]
    accepted = [(1, GoalOutcome.ACCEPTED, "")]
    assert seen == [([], SEGMENTS_A_TICK), ([], 2 * SEGMENTS_A_TICK), (accepted, 0)]
    whole = plan_goal(bench.controller.planner, to_and_fro(), start, 0.0)
    assert isinstance(whole, tuple)
    assert bench.state.run is not None
    assert len(bench.state.run.segments) == len(whole) == COUNT
    for ours, theirs in zip(bench.state.run.segments, whole, strict=True):
        assert ours.motion is not None
        assert theirs.motion is not None
        np.testing.assert_array_equal(ours.motion.q_of_u.c, theirs.motion.q_of_u.c)
        assert (ours.first_step, ours.last_step) == (theirs.first_step, theirs.last_step)


def test_a_goal_of_few_segments_is_accepted_at_once() -> None:
    bench = Bench().armed()
    assert outcomes(bench.send(to_and_fro(SEGMENTS_A_TICK))) == [(1, GoalOutcome.ACCEPTED, "")]


def test_the_gripper_that_was_measured_at_first_counts() -> None:
    bench = Bench().armed()
    bench.send(to_and_fro())
    for _ in range(2):
        bench.grip = GripperState(bench.grip.position + 0.3)  # it creeps, as nobody commands it
        output = bench.tick()
    assert outcomes(output) == [(1, GoalOutcome.ACCEPTED, "")]
    assert [segment.gripper for segment in bench.state.run.segments] == [None] * COUNT  # type: ignore[union-attr]


def test_a_later_goal_is_refused_meanwhile() -> None:
    bench = Bench().armed()
    bench.send(to_and_fro())
    output = bench.send(to_and_fro(2), sequence=2)
    assert outcomes(output) == [(2, GoalOutcome.REFUSED, "the arm is busy with goal 1")]
    assert outcomes(bench.tick()) == [(1, GoalOutcome.ACCEPTED, "")]


def _stop(bench: Bench) -> ArmOutput:
    bench.tick(stop="by hand")
    return bench.tick()


def _reject(bench: Bench) -> ArmOutput:
    planning = bench.state.planning
    assert planning is not None
    return bench.tick(leases=(bench.lease(Verdict.REJECT, stamp_ns=planning.goal.frame_stamp_ns),))


@pytest.mark.parametrize(
    ("happens", "mode", "reason"),
    [(_stop, ArmMode.STOPPED, "the arm is stopped"), (_reject, ArmMode.HOLDING, "is REJECT")],
)
def test_what_happens_meanwhile_refuses_the_goal(happens: object, mode: ArmMode, reason: str) -> None:
    bench = Bench().armed()
    bench.send(to_and_fro())
    ((sequence, outcome, said),) = outcomes(happens(bench))  # type: ignore[operator]
    assert (sequence, outcome) == (1, GoalOutcome.REFUSED)
    assert reason in said
    assert (bench.state.planning, bench.state.run, bench.state.mode) == (None, None, mode)


def test_an_arm_that_is_armed_anew_has_forgotten_it() -> None:
    bench = Bench().armed()
    bench.send(to_and_fro())
    bench.tick(stop="by hand", arm=True)
    output = bench.tick(arm=True)
    assert bench.state.mode is ArmMode.IDLE
    assert (bench.state.planning, outcomes(output)) == (None, [])
    assert not any(report for _ in range(ENOUGH) for report in bench.tick().reports)


def test_a_limit_in_a_later_part_stops_the_arm_before_anything_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench().armed()
    bench.send(to_and_fro())
    hit = Violation(LimitKind.COLLISION, "the tool and the table come within 0 mm")
    monkeypatch.setattr(acceptance, "extended", lambda *_: hit)
    output = bench.tick()
    assert outcomes(output) == [(1, GoalOutcome.REFUSED, hit.reason)]
    assert output.stop is not None
    assert output.stop.cause.is_emergency
    assert (bench.state.planning, bench.state.mode) == (None, ArmMode.STOPPED)
    assert np.ptp(np.array(bench.commands), axis=0).max() == 0.0


def test_joints_are_planned_in_parts_too() -> None:
    bench = Bench().armed()
    steps = np.where(np.arange(COUNT)[:, None] % 2 == 0, 1.0, 0.0) * np.array([0.0, 0, 0, 0, 0, 0.05])
    joints = bench.q + steps
    poses = bench.controller.planner.kinematics.forward(np.concatenate([bench.q[None], joints]))
    increments = np.hstack([increments_between(poses), np.zeros((COUNT, 1))])
    bench.now_ns += bench.tick_ns
    lease = bench.lease()
    goal = ArmGoal(increments, lease.view, bench.now_ns, 1, q_seen_rad=bench.q, joints_rad=joints)
    bench.now_ns -= bench.tick_ns
    bench.tick(goal=goal, leases=(lease,))
    counts = [planned(bench)]
    for _ in range(2):
        bench.tick()
        counts.append(planned(bench))
    assert counts == [SEGMENTS_A_TICK, 2 * SEGMENTS_A_TICK, 0]
    assert len(bench.state.run.segments) == COUNT  # type: ignore[union-attr]
