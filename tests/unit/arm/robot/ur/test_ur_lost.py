"""An arm that its driver considers lost is stopped at once, whatever the age of its newest state."""

from __future__ import annotations

import numpy as np

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.messages import ArmInputs, ArmMode, ArmState, GripperState, StopCause
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.base.kinematics import HOME_Q_RAD

TICK_NS = 8_000_000


def _measured(stamp_ns: int) -> ArmState:
    return ArmState(stamp_ns, np.array(HOME_Q_RAD), np.zeros(6), GripperState(0.0))


def test_lost_arm_is_stopped_in_the_same_tick_and_stays_so() -> None:
    controller = make_controller()
    now_ns = TICK_NS
    state, output = controller.step(
        ControllerState(), ArmInputs(measured=_measured(now_ns), arm=True), now_ns
    )
    assert output.q_target_rad is not None
    now_ns += TICK_NS
    lost = ArmInputs(measured=_measured(now_ns), lost="the cable is out")
    state, output = controller.step(state, lost, now_ns)
    assert output.stop is not None
    assert (output.stop.cause, output.stop.reason) == (StopCause.CONNECTION_LOST, "the cable is out")
    assert output.q_target_rad is None
    for _ in range(10):
        now_ns += TICK_NS
        state, output = controller.step(state, ArmInputs(measured=_measured(now_ns)), now_ns)
        assert state.mode is ArmMode.STOPPED
        assert output.q_target_rad is None


def test_arm_that_is_not_armed_is_not_stopped_again() -> None:
    controller = make_controller()
    state, output = controller.step(ControllerState(), ArmInputs(lost="the cable is out"), TICK_NS)
    assert output.stop is None
    assert state.mode is ArmMode.DISARMED
