"""Limits are named with their numbers; wrong configurations are refused."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.limits import (
    FURTHEST_M,
    ArmLimits,
    LimitKind,
    Violation,
    check_configurations,
    check_increments,
    check_motion,
    check_positions,
    keeps_limits,
)
from embodied_iqa.arm.robot.path import PathOptions
from embodied_iqa.arm.robot.timing import TimingOptions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import LONGEST_TOOL_M, reach_m
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
from embodied_iqa.base.number_range import NumberRange
from embodied_iqa.runs.graph.node_table import resolve

LIMITS = ArmLimits()
MS = 1_000_000


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


def test_the_limits_are_those_of_the_safety_case():
    """A change of a limit is a decision: it is made here too."""
    assert asdict(LIMITS) == {
        "q_min_rad": (-2 * math.pi,) * 6,
        "q_max_rad": (2 * math.pi,) * 6,
        "joint_speed_radps": 1.5,
        "joint_acceleration_radps2": 16.0,
        "tool_speed_mps": 0.25,
        "tool_acceleration_mps2": 4.0,
        "tool_turn_radps": 1.0,
        "workspace_min_m": (-0.80, -0.45, 0.0),
        "workspace_max_m": (-0.20, 0.45, 0.70),
        "table_z_m": 0.0,
        "tool_height_m": 0.005,
        "wall_x_m": -0.95,
        "increment_m": 0.15,
        "increment_rad": 0.8,
        "increments": 100,
        "shoulder_margin_m": 0.02,
        "singularity_margin_rad": 0.05,
        "following_rad": 0.2,
    }
    assert asdict(ControllerOptions()) == {
        "dt_s": 0.008,
        "max_frame_age_ns": 1500 * MS,
        "max_hold_ns": 5000 * MS,
        "state_timeout_ns": 100 * MS,
        "gripper_timeout_ns": 2000 * MS,
        "gripper_least_ns": 150 * MS,
        "gripper_tolerance": 0.03,
        "lease": {
            "ttl_s": 0.12,
            "longest_s": 1.0,
            "remember_s": 3.0,
            "overrun_s": 0.07,
            "wait_s": 0.5,
            "window_s": 0.016,
        },
        "horizon": {
            "mode": "whole",
            "execute_steps": 5,
            "step_rate_hz": 0.0,
            "ensembling": False,
            "ensembling_decay": 0.01,
        },
    }
    assert asdict(PathOptions()) == {"sample_m": 0.001, "blend_m": 0.012}
    assert asdict(TimingOptions()) == {"brake_s": 0.1, "jerk_s": 0.03, "ease": 0.5}
    assert make_controller().planner.gripper_change == 0.01


@pytest.mark.parametrize(
    "name",
    [
        "joint_speed_radps",
        "joint_acceleration_radps2",
        "tool_speed_mps",
        "tool_acceleration_mps2",
        "tool_turn_radps",
        "increment_m",
        "increment_rad",
        "increments",
        "following_rad",
    ],
)
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_limit_that_limits_nothing_is_refused(name: str, value: float):
    with pytest.raises(UsageError, match=f"wrong {name}"):
        ArmLimits(**{name: value})


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("joint_speed_radps", math.pi),
        ("joint_acceleration_radps2", 20.0),
        ("tool_speed_mps", 1.0),
        ("tool_acceleration_mps2", 20.0),
        ("tool_turn_radps", math.pi),
        ("increment_m", 2.6),
        ("increment_rad", math.pi),
        ("following_rad", math.pi),
    ],
)
def test_a_limit_that_no_arm_has_is_refused(name: str, most: float):
    assert getattr(ArmLimits(**{name: most}), name) == most
    limits = NumberRange(0.001, most)
    with pytest.raises(UsageError, match=f"wrong {name}; expected {limits};"):
        ArmLimits(**{name: math.nextafter(most, math.inf)})
    with pytest.raises(UsageError, match=rf"limits.{name} in .*; expected {limits}; got 99.0"):
        resolve(overrides={f"arm_node.limits.{name}": 99.0})


@pytest.mark.parametrize("name", ["tool_height_m", "shoulder_margin_m", "singularity_margin_rad"])
def test_a_distance_to_keep_is_not_negative(name: str):
    assert getattr(ArmLimits(**{name: 0.0}), name) == 0.0
    with pytest.raises(UsageError, match=f"wrong {name}"):
        ArmLimits(**{name: -0.01})


def test_limits_at_their_own_limit():
    assert ArmLimits(joint_speed_radps=math.pi).joint_speed_radps == math.pi
    with pytest.raises(UsageError, match=r"wrong joint_speed_radps; expected 0.001 to pi"):
        ArmLimits(joint_speed_radps=math.pi + 1e-9)
    for wrong in (
        {"q_max_rad": (7.0,) * 5},
        {"q_min_rad": (1.0,) * 6, "q_max_rad": (1.0,) * 6},
        {"workspace_max_m": (-0.2, 0.45, 0.0)},
        {"workspace_min_m": (-0.8, 0.45, 0.0)},
    ):
        with pytest.raises(UsageError, match="joint limits"):
            ArmLimits(**wrong)
    assert ControllerOptions(dt_s=0.05).dt_s == 0.05
    at_once = LeaseOptions(wait_s=0.0)  # a goal that waits may be as old
    for name in ("max_frame_age_ns", "max_hold_ns", "state_timeout_ns", "gripper_timeout_ns"):
        assert getattr(ControllerOptions(**{name: 1, "lease": at_once}), name) == 1
        with pytest.raises(UsageError, match=f"wrong {name}"):
            ControllerOptions(**{name: 0})


def _kind(violation: Violation | None) -> LimitKind | None:
    return None if violation is None else violation.kind


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_each_axis_of_an_increment_is_bounded_on_either_side(axis: int, sign: float):
    most = LIMITS.increment_m if axis < 3 else LIMITS.increment_rad
    chunk = np.zeros((1, 7))
    chunk[0, axis] = sign * most * (1 + 0.9e-6)
    assert check_increments(chunk, LIMITS) is None
    chunk[0, axis] = sign * most * (1 + 1.1e-6)
    assert _kind(check_increments(chunk, LIMITS)) is LimitKind.INCREMENT


def test_the_number_the_shape_and_the_gripper_of_increments_are_bounded():
    assert check_increments(np.zeros((0, 7)), LIMITS) is None
    assert check_increments(np.zeros((100, 7)), LIMITS) is None
    for wrong in (np.zeros((101, 7)), np.zeros((2, 8)), np.zeros((2, 6)), np.zeros(7), np.zeros((1, 2, 7))):
        assert _kind(check_increments(wrong, LIMITS)) is LimitKind.SHAPE
    chunk = np.zeros((3, 7))
    for grip, kind in ((0.0, None), (1.0, None), (-1e-9, LimitKind.GRIPPER), (1 + 1e-9, LimitKind.GRIPPER)):
        chunk[1, 6] = grip
        assert _kind(check_increments(chunk, LIMITS)) is kind
    chunk[1, 6] = np.nan
    assert _kind(check_increments(chunk, LIMITS)) is LimitKind.NOT_FINITE


def test_a_huge_increment_is_reported_with_its_size():
    chunk = np.zeros((1, 7))
    chunk[0, 1] = 1e200
    violation = check_increments(chunk, LIMITS)
    assert violation == Violation(LimitKind.INCREMENT, "an increment of 1e+09 m, at most 0.15 m")


BOX = ArmLimits(
    workspace_min_m=(-0.5, -0.3, 0.1),
    workspace_max_m=(-0.1, 0.2, 0.6),
    table_z_m=0.05,
    tool_height_m=0.01,
    wall_x_m=-0.8,
)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("high", [False, True])
def test_the_workspace_ends_at_each_of_its_sides(axis: int, *, high: bool):
    place = np.array([[-0.3, 0.0, 0.3], [-0.3, 0.0, 0.3]])
    side = (BOX.workspace_max_m if high else BOX.workspace_min_m)[axis]
    place[1, axis] = side
    assert check_positions(place, BOX) is None
    place[1, axis] = side + (1e-6 if high else -1e-6)
    violation = check_positions(place, BOX)
    assert _kind(violation) is LimitKind.WORKSPACE
    assert violation is not None
    assert f"at {'xyz'[axis]} from" in violation.reason


def test_the_table_and_the_wall_end_where_they_say():
    wide = replace(BOX, workspace_min_m=(-2.0, -2.0, -2.0))
    place = np.array([[-0.3, 0.0, 0.06]])
    assert check_positions(place, wide) is None
    below = check_positions(place - [0.0, 0.0, 0.002], wide)
    assert below == Violation(
        LimitKind.TABLE, "the tool would be 0.008 m above the table, at least 0.01 m above it"
    )
    place = np.array([[-0.8, 0.0, 0.3]])
    assert check_positions(place, wide) is None
    behind = check_positions(place - [0.001, 0.0, 0.0], wide)
    assert behind == Violation(LimitKind.WALL, "the tool would be at x = -0.801 m, the wall at -0.8 m")


@pytest.mark.parametrize("joint", range(6))
def test_each_joint_is_bounded_below_and_above(joint: int):
    limits = ArmLimits(
        q_min_rad=tuple(-1.0 - 0.1 * n for n in range(6)), q_max_rad=tuple(2.0 + 0.1 * n for n in range(6))
    )
    for side, away in ((limits.q_min_rad[joint], -1e-6), (limits.q_max_rad[joint], 1e-6)):
        q = np.zeros((3, 6))
        q[1, joint] = side
        assert check_configurations(q, limits) is None
        q[1, joint] = side + away
        violation = check_configurations(q, limits)
        reason = f"joint {joint + 1} would turn to {side:.3f} rad, beyond its limit"
        assert violation == Violation(LimitKind.JOINT, reason)
    q[1, joint] = np.nan
    assert _kind(check_configurations(q, limits)) is LimitKind.NOT_FINITE


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_command_may_exceed_a_limit_by_one_percent_of_rounding(sign: float):
    still = np.zeros(6)
    for share, allowed in ((1.0099, True), (1.0101, False)):
        speed, push = still.copy(), still.copy()
        speed[4] = sign * share * LIMITS.joint_speed_radps
        push[1] = sign * share * LIMITS.joint_acceleration_radps2
        assert (check_motion(speed, still, 0.0, LIMITS) is None) == allowed
        assert (check_motion(still, push, 0.0, LIMITS) is None) == allowed
        assert (check_motion(still, still, share * LIMITS.tool_speed_mps, LIMITS) is None) == allowed
    violation = check_motion(still, still, 0.5, LIMITS)
    assert violation == Violation(LimitKind.TOOL_SPEED, "the tool would move at 0.500 m/s, at most 0.25")


# A limit itself is allowed, and so is a billionth beyond it, for rounding.


@pytest.mark.parametrize(("beyond", "allowed"), [(1e-9, True), (1.5e-9, False)])
def test_rounding_may_exceed_a_limit_by_a_billionth(beyond: float, *, allowed: bool):
    unit = ArmLimits(q_min_rad=(-1.0,) * 6, q_max_rad=(2.0,) * 6, workspace_min_m=(-0.5, -0.5, -0.5))
    for side in (-1.0 - beyond, 2.0 + beyond):
        assert (check_configurations(np.full((1, 6), side), unit) is None) == allowed
    for axis in (0, 1):
        for side in (unit.workspace_min_m[axis] - beyond, unit.workspace_max_m[axis] + beyond):
            place = np.array([[-0.3, 0.0, 0.3]])
            place[0, axis] = side
            assert (check_positions(place, unit) is None) == allowed
    low = np.array([[-0.3, 0.0, unit.tool_height_m - beyond]])
    assert (check_positions(low, unit) is None) == allowed


def test_a_value_at_a_limit_with_its_tolerance_is_allowed():
    for axis, most in ((1, LIMITS.increment_m), (4, LIMITS.increment_rad)):
        chunk = np.zeros((1, 7))
        chunk[0, axis] = most * (1.0 + 1e-6)
        assert check_increments(chunk, LIMITS) is None
    assert check_motion(np.zeros(6), np.zeros(6), LIMITS.tool_speed_mps * 1.01, LIMITS) is None


def test_a_workspace_of_two_axes_is_refused():
    with pytest.raises((UsageError, ValueError)):
        ArmLimits(workspace_min_m=(-0.8, -0.45))  # type: ignore[arg-type]


def test_a_position_that_is_no_number_is_refused():
    violation = check_positions(np.array([[-0.4, np.nan, 0.3]]), LIMITS)
    assert violation == Violation(LimitKind.NOT_FINITE, "a position of the tool is not finite")


def test_the_short_check_of_a_command_agrees_with_those_that_name_the_limit():
    """Of numbers within, about and beyond each limit, and of numbers that are none."""
    rng = np.random.default_rng(3)
    bounds = {  # of joints, their speeds and accelerations, the tool's place and its speed
        "q": (np.array(LIMITS.q_min_rad), np.array(LIMITS.q_max_rad)),
        "qd": (np.full(6, -LIMITS.joint_speed_radps * 1.01), np.full(6, LIMITS.joint_speed_radps * 1.01)),
        "qdd": (np.full(6, -1.0), np.full(6, 1.0) * LIMITS.joint_acceleration_radps2 * 1.01),
        "tool": (
            np.array([*LIMITS.workspace_min_m[:2], LIMITS.tool_height_m]),
            np.array(LIMITS.workspace_max_m),
        ),
        "speed": (np.zeros(1), np.full(1, LIMITS.tool_speed_mps * 1.01)),
    }
    offsets = [0.0, 1e-10, -1e-10, 2e-9, -2e-9, 0.1, -0.1, np.nan, np.inf, -np.inf]
    found = {True: 0, False: 0}
    for _ in range(4000):
        values = {name: rng.uniform(low, high) for name, (low, high) in bounds.items()}
        for _ in range(int(rng.integers(0, 3))):
            name = str(rng.choice(list(bounds)))
            index, side = int(rng.integers(len(values[name]))), int(rng.integers(2))
            values[name][index] = bounds[name][side][index] + rng.choice(offsets)
        q, qd, qdd, tool_m, speed = values.values()
        named = (
            check_configurations(q[None], LIMITS)
            or check_positions(tool_m[None], LIMITS)
            or check_motion(qd, qdd, float(speed[0]), LIMITS)
        )
        keeps = keeps_limits(q, qd, qdd, tool_m, tool_mps=float(speed[0]), limits=LIMITS)
        assert keeps == (named is None), (named, values)
        found[keeps] += 1
    assert min(found.values()) > 1000, found


def test_limits_are_as_near_as_a_tool_of_any_arm_comes():
    furthest_m = max(one.geometry.d1_m + reach_m(one.geometry, LONGEST_TOOL_M) for one in NAMED_MODELS)
    assert round(furthest_m, 1) == FURTHEST_M
    for name, value in (("table_z_m", -20.0), ("table_z_m", 2.6), ("wall_x_m", -100.0)):
        with pytest.raises(UsageError, match=rf"wrong {name}; expected -2\.5 to .*; got {value}"):
            ArmLimits(**{name: value})
    metres = r"wrong workspace_min_m; expected coordinates in metres, at most 2\.5 from the base; got -1000"
    with pytest.raises(UsageError, match=metres):
        ArmLimits(workspace_min_m=(-1000.0, -500.0, 20.0))


def test_a_workspace_out_of_reach_is_refused_with_the_reach_of_the_model():
    far = ArmLimits(workspace_min_m=(2.0, 2.0, 2.0), workspace_max_m=(2.4, 2.4, 2.4))
    reach = r"a UR5e with a tool of 0.2 m reaches no part of the workspace; expected a box within 1.14 m of"
    with pytest.raises(UsageError, match=reach):
        far.check_workspace(ArmModel.UR5E, 0.2)
    edge = ArmLimits(workspace_min_m=(1.2, -0.1, 0.0), workspace_max_m=(2.0, 0.1, 1.0))
    edge.check_workspace(ArmModel.UR10E, 0.2)  # some of it
    with pytest.raises(UsageError, match="reaches no part"):
        edge.check_workspace(ArmModel.UR5E, 0.2)
    edge.check_workspace(ArmModel.UR5E, 0.4)
    low = ArmLimits(table_z_m=0.7)
    with pytest.raises(UsageError, match=r"above the table; expected workspace_max_m with z above 0.705"):
        low.check_workspace(ArmModel.UR5, 0.2)
