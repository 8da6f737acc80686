"""Goals of a receding horizon in controller and runner: continued in motion, never without a lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from arm_bench import HOME, MS, TICK_NS, straight

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.acceptance import accept_goal
from embodied_iqa.arm.robot.arm_runner import ArmRunner, ArmTick
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.homing import StartPose, way_back
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

FRAME_NS = 8 * TICK_NS
RATE_HZ = 15.0
CONTROLLER = make_controller(options=ControllerOptions(horizon=HorizonOptions(Horizon.RECEDING, 5, RATE_HZ)))


@dataclass
class Rig:
    """An ideal arm whose frames are judged at once; a goal arrives 80 ms after its frame."""

    runner: ArmRunner = field(default_factory=lambda: ArmRunner(CONTROLLER, report_rate_hz=25.0))
    now_ns: int = 1000 * MS
    q: np.ndarray = field(default_factory=HOME.copy)
    grip: float = 0.0
    verdict: Verdict = Verdict.PASS
    lags: bool = False
    commands: list[np.ndarray] = field(default_factory=list)
    goals: list[tuple[int, GoalOutcome, str]] = field(default_factory=list)
    grips: list[float] = field(default_factory=list)
    ticks: int = 0

    def measured(self) -> ArmState:
        place = max(len(self.commands) - 5, 0) if self.lags else -1
        q = self.commands[place] if self.commands else self.q
        return ArmState(self.now_ns, q.copy(), np.zeros(6), GripperState(self.grip))

    def armed(self) -> Rig:
        self.runner.arm(self.measured())
        return self

    def tick(self) -> ArmTick:
        self.now_ns, self.ticks = self.now_ns + TICK_NS, self.ticks + 1
        if self.ticks % 8 == 0:
            self.lease(self.now_ns, self.verdict)
        tick = self.runner.tick(self.measured())
        assert tick is not None
        self.goals += [(goal.sequence, goal.outcome, goal.reason) for goal in tick.goals]
        if tick.q_target_rad is not None:
            self.q = tick.q_target_rad.copy()
        if tick.gripper_target is not None:
            self.grip = tick.gripper_target
            self.grips.append(self.grip)
        self.commands.append(self.q)
        return tick

    def lease(self, stamp_ns: int, verdict: Verdict) -> None:
        reason = "" if verdict is Verdict.PASS else "blurred"
        self.runner.take_lease(GateLease(View.WRIST, stamp_ns, verdict, verdict, stamp_ns + 120 * MS, reason))

    def frame(self) -> int:
        """Tick until a frame is there, and return its stamp."""
        self.tick()
        while self.ticks % 8:
            self.tick()
        return self.now_ns

    def send(self, increments: np.ndarray, sequence: int, stamp_ns: int) -> None:
        self.runner.take_goal(ArmGoal(increments, View.WRIST, stamp_ns, sequence))

    def decide(self, increments: np.ndarray, sequence: int, latency: int = 10) -> None:
        stamp_ns = self.frame()
        for _ in range(latency):
            self.tick()
        self.send(increments, sequence, stamp_ns)

    def until(self, is_over: Callable[[ArmTick], bool]) -> int:
        for count in range(1, 400):
            if is_over(self.tick()):
                return count
        raise AssertionError("it never happened")

    def outcomes(self, sequence: int) -> list[GoalOutcome]:
        return [outcome for number, outcome, _ in self.goals if number == sequence]

    def speeds_mps(self) -> np.ndarray:
        tool_m = CONTROLLER.planner.kinematics.forward(np.array(self.commands))[:, :3, 3]
        return np.linalg.norm(np.diff(tool_m, axis=0), axis=1) / (TICK_NS / 1e9)


def even(count: int = 10, speed_mps: float = 0.08, grip: float = 0.0) -> np.ndarray:
    return straight(dy=-speed_mps * count / RATE_HZ, count=count, grip=grip)


def moving(sequences: int = 2, **options: bool) -> Rig:
    rig = Rig(**options).armed()
    for sequence in range(1, sequences + 1):
        rig.decide(even(), sequence)
        for _ in range(24):
            rig.tick()
    return rig


@pytest.mark.parametrize("lags", [False, True])
def test_goals_continue_each_other_at_one_speed_even_where_the_arm_lags_behind_its_commands(
    lags: bool,
) -> None:
    rig = moving(4, lags=lags)
    for sequence in (1, 2, 3):
        assert rig.outcomes(sequence) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    speeds = rig.speeds_mps()
    first = int(np.argmax(speeds > 0.079))
    assert speeds[first:].min() >= 0.8 * 0.08
    assert speeds.max() <= 1.2 * 0.08


def test_without_a_further_goal_the_arm_rests_at_its_last_step() -> None:
    rig = Rig().armed()
    start = CONTROLLER.planner.kinematics.forward(rig.q)
    rig.decide(even(), 1)
    rig.until(lambda tick: any(goal.outcome is GoalOutcome.COMPLETED for goal in tick.goals))
    end = CONTROLLER.planner.kinematics.forward(rig.q)
    assert np.linalg.norm(end[:3, 3] - start[:3, 3]) == pytest.approx(0.08 * 10 / RATE_HZ, abs=1e-6)
    assert rig.tick().report is None or rig.runner.state.mode is ArmMode.IDLE


def test_a_hold_brakes_and_drops_the_goal_and_the_next_one_needs_a_frame_after_standstill() -> None:
    rig = moving()
    old_ns = rig.frame()
    rig.verdict = Verdict.HOLD
    rig.until(lambda tick: any(goal.outcome is GoalOutcome.ABANDONED for goal in tick.goals))
    assert rig.outcomes(2) == [GoalOutcome.ACCEPTED, GoalOutcome.ABANDONED]
    assert rig.runner.state.mode is ArmMode.HOLDING
    assert rig.speeds_mps()[-1] < 1e-6
    rig.verdict = Verdict.PASS
    rig.frame()
    rig.send(even(), 3, old_ns)
    rig.tick()
    assert rig.outcomes(3) == [GoalOutcome.REFUSED]
    assert rig.runner.state.run is None
    rig.decide(even(), 4)
    rig.tick()
    assert rig.outcomes(4) == [GoalOutcome.ACCEPTED]


def test_a_goal_whose_own_frame_is_not_leased_changes_nothing() -> None:
    rig = moving()
    stamp_ns = rig.now_ns - 3 * MS
    rig.lease(stamp_ns, Verdict.HOLD)
    rig.frame()
    rig.send(even(), 3, stamp_ns)
    rig.tick()
    assert rig.outcomes(3) == [GoalOutcome.REFUSED]
    assert rig.runner.state.run is not None
    assert rig.runner.state.run.goal.sequence == 2
    assert rig.runner.refused == 1


def test_a_stop_brakes_and_drops_the_goal_that_waits() -> None:
    rig = moving()
    rig.send(even(), 3, rig.frame())
    assert rig.runner.stop("stop", rig.measured()) is not None
    rig.until(lambda _tick: rig.runner.state.run is None)
    assert rig.runner.state.mode is ArmMode.STOPPED
    assert rig.outcomes(3) == []


def test_late_and_superseded_goals_are_refused_and_counted_while_the_arm_goes_on() -> None:
    rig = moving()
    early_ns, late_ns = rig.frame(), rig.frame()
    rig.send(even(), 3, late_ns)
    rig.tick()
    rig.send(even(), 4, early_ns)
    rig.tick()
    assert rig.goals[-1][:2] == (4, GoalOutcome.REFUSED)
    assert "superseded" in rig.goals[-1][2]
    for _ in range(40):
        rig.tick()
    rig.send(even(2), 5, late_ns + FRAME_NS)  # its last step was due 133 ms after its frame
    rig.tick()
    assert rig.goals[-1][:2] == (5, GoalOutcome.REFUSED)
    assert "last step was due" in rig.goals[-1][2]
    assert rig.runner.refused == 2
    assert rig.speeds_mps()[-1] > 0.06


def test_a_chunk_that_leads_into_the_table_stops_the_arm() -> None:
    rig = moving()
    rig.decide(straight(dz=0.9, count=8), 3)
    stop = None
    while stop is None:
        stop = rig.tick().stop
    assert stop.cause.is_emergency
    rig.until(lambda _tick: rig.runner.state.run is None)


def test_the_gripper_follows_the_steps_while_the_arm_goes_on() -> None:
    rig = Rig().armed()
    chunk = even()
    chunk[6:, 6] = 1.0
    rig.decide(chunk, 1)
    rig.until(lambda _tick: rig.grips == [1.0])
    assert rig.speeds_mps()[-1] > 0.06


def test_no_step_is_taken_without_a_pose_of_the_frame() -> None:
    rig = Rig().armed()
    rig.frame()
    goal = ArmGoal(even(), View.WRIST, rig.now_ns, 1)
    state, reports, violation = accept_goal(
        CONTROLLER.planner, CONTROLLER.options, rig.runner.state, goal, rig.now_ns
    )
    assert [report.outcome for report in reports] == [GoalOutcome.REFUSED]
    assert state.run is None
    assert violation is None


@pytest.mark.parametrize("ensembling", [False, True])
def test_the_way_back_to_the_start_ends_there_and_is_not_continued(*, ensembling: bool) -> None:
    """A receding chunk goes on by a step like its last one: here down, below where the run began."""
    horizon = HorizonOptions(Horizon.RECEDING, 5, RATE_HZ, ensembling=ensembling)
    controller = make_controller(options=ControllerOptions(horizon=horizon))
    rig = Rig(ArmRunner(controller, report_rate_hz=25.0)).armed()
    T_here = controller.planner.kinematics.forward(HOME)
    T_start = T_here.copy()
    T_start[:3, 3] += 0.04, 0.03, 0.01
    stamp_ns = rig.frame()
    over_m = T_start[2, 3] + 0.05
    back = way_back(StartPose(T_start, rig.grip), T_here, controller.planner.limits, over_m).increments
    assert len(back) <= 5
    rig.runner.take_goal(ArmGoal(back, View.WRIST, stamp_ns, 1, whole=True))
    rig.until(lambda _: not np.allclose(rig.q, HOME))
    rig.send(straight(dz=0.05, count=10), 2, rig.frame())
    rig.until(lambda _: (1, GoalOutcome.COMPLETED, "") in rig.goals)
    assert (2, GoalOutcome.REFUSED, "the arm is busy with goal 1") in rig.goals
    places = controller.planner.kinematics.forward(np.array(rig.commands))[:, :3, 3]
    np.testing.assert_allclose(places[-1], T_start[:3, 3], atol=1e-4)
    assert places[:, 2].max() > T_start[2, 3] + 0.045  # over what may stand between, not across the corner
    assert places[:, 2].min() > T_here[2, 3] - 1e-4
