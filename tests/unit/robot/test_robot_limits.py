"""Limits are named with their numbers; wrong configurations are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from embodied_iqa.errors import UsageError
from embodied_iqa.gate.verdict import GateLease, Verdict
from embodied_iqa.images.frame import View
from embodied_iqa.robot.leases import LeaseBook
from embodied_iqa.robot.limits import (
    ArmLimits,
    LimitKind,
    check_configurations,
    check_increments,
    check_motion,
    check_positions,
)
from embodied_iqa.robot.state import ControllerOptions

LIMITS = ArmLimits()
MS = 1_000_000


def _lease(stamp_ms: int, verdict: Verdict, expires_ms: int, view: View = View.WRIST) -> GateLease:
    return GateLease(view, stamp_ms * MS, verdict, verdict, expires_ms * MS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"joint_speed_radps": 3.5},
        {"tool_speed_mps": 0.0},
        {"tool_speed_mps": float("nan")},
        {"increment_m": -1.0},
        {"q_min_rad": (0.0,) * 5},
        {"workspace_min_m": (1.0, -0.45, 0.0)},
    ],
)
def test_wrong_limits_are_usage_errors(wrong: dict[str, Any]):
    with pytest.raises(UsageError):
        ArmLimits(**wrong)


@pytest.mark.parametrize("wrong", [{"dt_s": 0.0}, {"dt_s": 1.0}, {"max_hold_ns": 0}])
def test_wrong_options_are_usage_errors(wrong: dict[str, Any]):
    with pytest.raises(UsageError):
        ControllerOptions(**wrong)


def test_increments_at_the_limit_pass_and_beyond_it_do_not():
    chunk = np.zeros((2, 7))
    chunk[1, :3] = np.array([2.0, -1.0, 2.0]) / 3 * LIMITS.increment_m
    chunk[0, 3] = LIMITS.increment_rad
    assert check_increments(chunk, LIMITS) is None
    chunk[1, 0] *= 1.01
    violation = check_increments(chunk, LIMITS)
    assert violation is not None
    assert violation.kind is LimitKind.INCREMENT
    assert str(LIMITS.increment_m) in violation.reason


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ((-0.5, 0.0, 0.004), LimitKind.TABLE),
        ((-0.96, 0.0, 0.3), LimitKind.WALL),
        ((-0.9, 0.0, 0.3), LimitKind.WORKSPACE),
        ((-0.5, 0.46, 0.3), LimitKind.WORKSPACE),
    ],
)
def test_positions_are_checked_against_table_wall_and_box(place: tuple[float, ...], kind: LimitKind):
    inside = np.array([[-0.5, 0.0, 0.3]])
    assert check_positions(inside, LIMITS) is None
    violation = check_positions(np.vstack([inside, place]), LIMITS)
    assert violation is not None
    assert violation.kind is kind


def test_motion_and_joints_are_checked():
    still, fast = np.zeros(6), np.array([0, 0, 0, 1.6, 0, 0])
    assert check_motion(still, still, 0.0, LIMITS) is None
    kinds = [
        check_motion(fast, still, 0.0, LIMITS),
        check_motion(still, 20 * fast, 0.0, LIMITS),
        check_motion(still, still, 0.3, LIMITS),
        check_motion(still * np.nan, still, 0.0, LIMITS),
        check_configurations(np.full((2, 6), 6.5), LIMITS),
    ]
    assert [violation.kind for violation in kinds if violation] == [
        LimitKind.JOINT_SPEED,
        LimitKind.JOINT_ACCELERATION,
        LimitKind.TOOL_SPEED,
        LimitKind.JOINT_SPEED,
        LimitKind.JOINT,
    ]


def test_the_newest_judged_frame_of_the_view_decides():
    book = LeaseBook().with_leases(
        (
            _lease(100, Verdict.PASS, 300),
            _lease(90, Verdict.REJECT, 300),
            _lease(150, Verdict.HOLD, 400, View.TOP),
        ),
        200 * MS,
    )
    assert book.permission(View.WRIST, 200 * MS).verdict is Verdict.PASS
    assert book.permission(View.WRIST, 300 * MS).verdict is Verdict.PASS
    assert book.permission(View.WRIST, 300 * MS + 1).verdict is Verdict.HOLD
    assert book.permission(View.TOP, 200 * MS).verdict is Verdict.HOLD
    assert book.permission(View.SIDE, 200 * MS).verdict is Verdict.HOLD


@pytest.mark.parametrize("turned", [False, True])
def test_of_one_frame_the_most_severe_verdict_counts(turned: bool):
    both = (_lease(100, Verdict.PASS, 300), _lease(100, Verdict.REJECT, 300))
    book = LeaseBook().with_leases(both[::-1] if turned else both, 200 * MS)
    assert book.permission(View.WRIST, 200 * MS).verdict is Verdict.REJECT


def test_leases_from_the_future_and_forgotten_ones_do_not_count():
    book = LeaseBook().with_leases((_lease(500, Verdict.PASS, 900),), 200 * MS)
    assert book.permission(View.WRIST, 200 * MS).verdict is Verdict.HOLD
    book = book.with_leases((_lease(500, Verdict.PASS, 900),), 500 * MS)
    assert book.of_frame(View.WRIST, 500 * MS) is not None
    book = book.with_leases((_lease(5000, Verdict.PASS, 5900),), 5000 * MS)
    assert book.of_frame(View.WRIST, 500 * MS) is None
