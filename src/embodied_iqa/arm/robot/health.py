"""Faults of the arm, detected in its measured state."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.limits import ArmLimits, check_configurations
from embodied_iqa.arm.robot.messages import ArmState, StopCause
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.base.units import SECOND_NS

_AWAY_RAD: Final = 0.02
_MOVED_RAD: Final = 0.002
_STILL_S: Final = 1.0
"""A controller that listens and moves nothing never gets further from its command than one chunk does."""


def fault_of(
    state: ControllerState, limits: ArmLimits, options: ControllerOptions, now_ns: int
) -> tuple[StopCause, str] | None:
    """Return why an armed arm must stop at once, or None."""
    fault = _measured_fault(state, options, now_ns)
    if fault is not None or state.measured is None or state.q_command_rad is None:
        return fault
    apart = np.abs(state.measured.q_rad - state.q_command_rad)
    joint, most_rad = int(np.argmax(apart)) + 1, apart.max()
    if most_rad > limits.following_rad:
        reason = f"joint {joint} is {most_rad:.2f} rad from its command, at most {limits.following_rad} rad"
        return StopCause.FOLLOWING, reason
    still_s = (state.measured.stamp_ns - state.still_since_ns) / SECOND_NS
    if state.still_q_rad is not None and still_s > _STILL_S:
        away = f"joint {joint} is {most_rad:.2f} rad from its command for over {_STILL_S:g} s"
        reason = f"the arm stands still: {away}"
        return StopCause.FOLLOWING, reason
    return None


def standstill(state: ControllerState, measured: ArmState) -> tuple[NDArray[np.float64] | None, int]:
    """Return where and since when an arm stands still away from its command; ``(None, 0)`` if it follows.

    Args:
        state: With the last command, and what this returned for the measured state before.
        measured: The new measured state.
    """
    q_rad, command_rad = measured.q_rad, state.q_command_rad
    if command_rad is None or q_rad.shape != (6,) or not np.abs(q_rad - command_rad).max() > _AWAY_RAD:
        return None, 0
    if state.still_q_rad is None or np.abs(q_rad - state.still_q_rad).max() > _MOVED_RAD:
        return q_rad, measured.stamp_ns
    return state.still_q_rad, state.still_since_ns


def why_not_armed(
    state: ControllerState, limits: ArmLimits, options: ControllerOptions, now_ns: int
) -> str | None:
    """Return why the arm cannot be armed now, or None."""
    if state.run is not None:
        return "the arm is still braking"
    fault = _measured_fault(state, options, now_ns)
    if fault is not None:
        return fault[1]
    if state.measured is None:
        return "no measured state yet"
    violation = check_configurations(state.measured.q_rad[None], limits)
    return None if violation is None else violation.reason


def _measured_fault(
    state: ControllerState, options: ControllerOptions, now_ns: int
) -> tuple[StopCause, str] | None:
    measured, age_ns = state.measured, now_ns - state.seen_ns
    if measured is None or abs(age_ns) > options.state_timeout_ns:
        since = "for" if age_ns > 0 else "since the clock was set back by"
        age = "yet" if measured is None else f"{since} {abs(age_ns) / 1e6:.0f} ms"
        return StopCause.STATE_LOST, f"no measured state {age}"
    return _reported_fault(measured)


def _reported_fault(measured: ArmState) -> tuple[StopCause, str] | None:
    if measured.fault is not None:
        return measured.fault.cause, measured.fault.reason
    if measured.contact:
        return StopCause.CONTACT, f"contact: {measured.contact}"
    if measured.q_rad.shape != (6,) or not np.isfinite(measured.q_rad).all():
        return StopCause.STATE_LOST, "the measured joint angles are not six finite numbers"
    return None
