"""The arm reaches waypoints at which the path reverses: a button press is not cut short."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.messages import ArmGoal, ArmInputs, ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.imaging.images.frame import View

TICK_NS = 8_000_000


def tool_positions_m(increments: np.ndarray) -> np.ndarray:
    """Return where a perfect arm's tool goes, ``(N, 3)``, tick by tick, until the goal is done."""
    controller = make_controller(ArmLimits(increment_m=0.35))
    state, q, now_ns = ControllerState(), np.array(HOME_Q_RAD), 10**9
    path = []
    for tick in range(2000):
        now_ns += TICK_NS
        lease = GateLease(View.TOP, now_ns, Verdict.PASS, Verdict.PASS, now_ns + 120_000_000)
        goal = ArmGoal(increments, View.TOP, now_ns, 1) if tick == 2 else None
        measured = ArmState(now_ns, q, np.zeros(6), GripperState(0.0))
        inputs = ArmInputs(measured=measured, goal=goal, leases=(lease,), arm=tick == 1)
        state, output = controller.step(state, inputs, now_ns)
        if output.q_target_rad is not None:
            q = output.q_target_rad
        path.append(controller.planner.kinematics.forward(q)[:3, 3])
        if any(report.outcome is GoalOutcome.COMPLETED for report in output.reports):
            return np.array(path)
    pytest.fail(f"the goal was not completed: {state.reason}")


@pytest.mark.parametrize("depth_m", [0.01, 0.05, 0.2])
def test_a_press_reaches_its_depth(depth_m: float):
    down = [0.0, 0.0, depth_m, 0.0, 0.0, 0.0, 0.0]
    up = [0.0, 0.0, -depth_m, 0.0, 0.0, 0.0, 0.0]
    path = tool_positions_m(np.array([down, up]))
    assert path[0, 2] - path[:, 2].min() == pytest.approx(depth_m, abs=1e-4)
    assert path[-1] == pytest.approx(path[0], abs=1e-4)


def test_a_right_angle_is_rounded_but_little():
    way = [[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    path = tool_positions_m(np.array(way))
    corner = path[0] - [0.0, 0.0, 0.1]
    distance_m = np.linalg.norm(path - corner, axis=1).min()
    assert 0.0 < distance_m < 0.005


def test_after_a_rearm_the_measured_gripper_counts():
    controller = make_controller(ArmLimits(increment_m=0.35))
    state, q = ControllerState(), np.array(HOME_Q_RAD)
    closes = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    sent = []
    for tick in range(60):
        now_ns = 10**9 + tick * TICK_NS
        lease = GateLease(View.TOP, now_ns, Verdict.PASS, Verdict.PASS, now_ns + 120_000_000)
        goal = ArmGoal(closes, View.TOP, now_ns, tick) if tick in {2, 42} else None
        stop = "opened by hand" if tick == 40 else ""
        measured = ArmState(now_ns, q, np.zeros(6), GripperState(1.0 if 5 < tick < 40 else 0.0))
        inputs = ArmInputs(measured, goal, (lease,), stop, arm=tick in {1, 41})
        state, output = controller.step(state, inputs, now_ns)
        sent.append(output.gripper_target)
    assert sent[10] == 1.0
    assert sent[41] is None
    assert sent[45] == 1.0
