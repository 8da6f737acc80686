"""Paths that a goal must not take: what no single waypoint shows is refused before anything moves."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import HOME, Bench, straight

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.limits import ArmLimits, LimitKind, Violation
from embodied_iqa.arm.robot.messages import ArmMode, ArmOutput, GoalOutcome, StopCause
from embodied_iqa.arm.robot.path import PathOptions, joints_along, tool_path
from embodied_iqa.base.kinematics import rotvec_to_rotation

WIDE = {"workspace_min_m": (-1.3, -0.9, 0.0), "workspace_max_m": (0.5, 0.9, 1.2), "wall_x_m": -2.0}
LIMITS = ArmLimits()


def _bench(**limits: object) -> Bench:
    return Bench(make_controller(ArmLimits(**limits))).armed()


def _through(bench: Bench, *points_m: tuple[float, float, float]) -> np.ndarray:
    """Increments through points of the base frame, relative to the tool's present place; it does not turn."""
    steps = np.diff(np.vstack([np.zeros(3), points_m]), axis=0)
    increments = np.zeros((len(points_m), 7))
    increments[:, :3] = steps @ bench.tool()[:3, :3]
    return increments


def _turning(*turns_rad: tuple[float, float, float]) -> np.ndarray:
    increments = np.zeros((len(turns_rad), 7))
    increments[:, 3:6] = turns_rad
    return increments


def _held(output: ArmOutput, bench: Bench) -> str:
    """The arm refuses the goal but stays armed."""
    assert output.stop is None
    assert output.status.mode is ArmMode.HOLDING
    assert [report.outcome for report in output.reports] == [GoalOutcome.REFUSED]
    np.testing.assert_array_equal(bench.q, HOME)
    return output.status.reason


def _stopped(output: ArmOutput, bench: Bench) -> str:
    """The arm refuses the goal and disarms."""
    assert output.stop is not None
    assert (output.stop.cause, output.stop.stop_driver) == (StopCause.LIMIT, False)
    assert output.status.mode is ArmMode.STOPPED
    assert [report.outcome for report in output.reports] == [GoalOutcome.REFUSED]
    assert output.reports[0].reason == output.stop.reason
    np.testing.assert_array_equal(bench.q, HOME)
    return output.stop.reason


def _wall_x_m(bench: Bench, past_m: float) -> float:
    """x to move by so that wrist 2 (radius 0.045 m, above the tool) is ``past_m`` deep in the wall."""
    return bench.controller.planner.limits.wall_x_m + 0.045 - past_m - float(bench.tool()[0, 3])


@pytest.mark.parametrize(("past_m", "hit"), [(0.005, True), (-0.005, False)])
@pytest.mark.parametrize("there_and_back", [False, True])
def test_a_path_on_which_a_part_of_the_arm_hits_something_is_refused(
    past_m: float, *, hit: bool, there_and_back: bool
):
    bench = _bench(wall_x_m=-0.65, workspace_min_m=(-0.70, -0.45, 0.0))
    x = _wall_x_m(bench, past_m)
    points = [(x, 0.03, 0.0), (x, 0.08, 0.0), (0.0, 0.11, 0.0)] if there_and_back else [(x, 0.0, 0.0)]
    output = bench.send(_through(bench, *points))
    if not hit:
        assert output.status.mode is ArmMode.EXECUTING
        return
    assert _stopped(output, bench).startswith("wrist 2 and wall come within -")


def test_a_place_out_of_reach_stops_the_arm():
    bench = _bench(**WIDE, increment_m=1.0)
    assert "reach" in _stopped(bench.send(_through(bench, (-0.7, 0.0, 0.3))), bench)


@pytest.mark.parametrize(
    ("margin", "accepted"), [({"shoulder_margin_m": 0.30}, False), ({"shoulder_margin_m": 0.26}, True)]
)
def test_the_margin_of_the_shoulder_holds_all_along_the_path(margin: dict[str, float], *, accepted: bool):
    """The tool comes within 0.28 m of the shoulder's singular plane half-way and goes back."""
    bench = _bench(**WIDE, **margin)
    points = [(0.10, 0.0, 0.05), (0.205, 0.0, 0.1), (0.205, 0.03, 0.1), (0.10, 0.06, 0.1), (0.0, 0.06, 0.1)]
    output = bench.send(_through(bench, *points))
    if accepted:
        assert output.status.mode is ArmMode.EXECUTING
    else:
        assert _held(output, bench) == "the path comes too close to the shoulder singularity"


@pytest.mark.parametrize(("margin_rad", "accepted"), [(0.62, False), (0.58, True)])
def test_the_margin_of_the_wrist_holds_all_along_the_path(margin_rad: float, *, accepted: bool):
    """The wrist comes within 0.594 rad of its singularity and turns back."""
    bench = _bench(**WIDE, singularity_margin_rad=margin_rad)
    there, back = (0.0, 0.6, 0.0), (0.0, -0.6, 0.0)
    output = bench.send(_turning(there, there, back))
    if accepted:
        assert output.status.mode is ArmMode.EXECUTING
    else:
        assert _held(output, bench) == "the path comes too close to the wrist singularity"


def test_a_path_past_a_singularity_on_which_a_joint_would_jump_is_refused():
    limits = ArmLimits(**WIDE, singularity_margin_rad=0.0, shoulder_margin_m=0.0)
    bench = Bench(make_controller(limits, tool_length_m=0.001))
    bench.q = np.array([0.0, -1.57, 1.57, -1.57, -0.5, 0.0])
    bench.armed()
    past = _turning((0.0, 0.0, 0.02), *[(0.0, -0.2, 0.0)] * 7)
    output = bench.send(past)
    assert output.stop is None
    assert output.status.reason == "a joint would have to jump"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"q_min_rad": (-0.05, *[-6.3] * 5)}, "joint 1 would turn to -0.050 rad, beyond its limit"),
        ({"q_max_rad": (*[6.3] * 4, -1.4, 6.3)}, "joint 5 would turn to -1.400 rad, beyond its limit"),
    ],
)
def test_a_path_beyond_a_joint_limit_stops_the_arm(limits: dict[str, tuple[float, ...]], reason: str):
    bench = _bench(**limits)
    turn = _turning((0.0, -0.4, 0.0))
    assert _stopped(bench.send(turn), bench)[:20] == reason[:20]
    assert _bench().send(turn).status.mode is ArmMode.EXECUTING


def test_only_a_singularity_and_what_comes_too_late_or_cannot_be_joined_leave_the_arm_armed():
    harmless = [LimitKind.SINGULARITY, LimitKind.RUN_OVER, LimitKind.UNJOINED]
    assert [kind for kind in LimitKind if not kind.is_emergency] == harmless


# The command is checked again, on its own, at each tick.


@pytest.mark.parametrize(
    ("tighter", "words"),
    [
        ({"tool_speed_mps": 0.1}, "the tool would move at 0.2"),
        ({"joint_speed_radps": 0.05}, "a joint would move at 0."),
        ({"joint_acceleration_radps2": 1e-3}, "a joint would accelerate at "),
        ({"tool_height_m": 0.2}, "the tool would be 0.1"),
        ({"q_min_rad": (-6.0, -1.5, *[-6.0] * 4)}, "joint 2 would turn to -1.5"),
    ],
)
def test_a_command_beyond_a_limit_is_never_sent(tighter: dict[str, object], words: str):
    bench = _bench()
    bench.send(straight(dz=0.15, count=5))
    bench.run(30)
    sent = bench.q.copy()
    bench.controller = make_controller(ArmLimits(**tighter))
    output = bench.tick()
    assert output.stop is not None
    assert (output.stop.cause, output.stop.stop_driver) == (StopCause.LIMIT, True)
    assert output.stop.reason.startswith(words)
    assert [report.outcome for report in output.reports] == [GoalOutcome.ABANDONED]
    assert output.q_target_rad is None
    assert (output.status.mode, output.status.tool_speed_mps) == (ArmMode.STOPPED, 0.0)
    np.testing.assert_array_equal(bench.q, sent)
    np.testing.assert_array_equal(bench.state.qd_command_radps, np.zeros(6))


# Samples of the tool's path.


def _poses(*points_m: tuple[float, float, float], turns_rad: tuple[float, ...] = ()) -> np.ndarray:
    poses = np.tile(np.eye(4), (len(points_m), 1, 1))
    poses[:, :3, 3] = points_m
    for pose, turn in zip(poses, turns_rad, strict=False):
        pose[:3, :3] = rotvec_to_rotation(np.array([0.0, 0.0, turn]))
    return poses


def test_a_line_is_sampled_each_millimetre_from_end_to_end():
    path = tool_path(_poses((0, 0, 0), (0.04, 0, 0), (0.1, 0, 0)), LIMITS, PathOptions())
    assert path is not None
    np.testing.assert_allclose(path.s_m, np.linspace(0.0, 0.1, 101), atol=1e-15)
    np.testing.assert_allclose(path.T_base_tool[:, 0, 3], path.s_m, atol=1e-15)
    np.testing.assert_allclose(path.waypoint_s_m, [0.04, 0.1], atol=1e-15)
    np.testing.assert_allclose(path.T_base_tool[:, :3, :3], np.tile(np.eye(3), (101, 1, 1)), atol=1e-15)


def test_a_turn_counts_as_the_way_that_the_tool_goes_meanwhile():
    """0.5 rad at 1 rad/s take as long as 0.125 m at 0.25 m/s; the longer of the two counts."""
    path = tool_path(_poses((0, 0, 0), (0.1, 0, 0), turns_rad=(0.0, 0.5)), LIMITS, PathOptions())
    assert path is not None
    assert path.s_m[-1] == pytest.approx(0.125)
    angles = np.arctan2(path.T_base_tool[:, 1, 0], path.T_base_tool[:, 0, 0])
    np.testing.assert_allclose(angles, 4.0 * path.s_m, atol=1e-5)
    faster = tool_path(_poses((0, 0, 0), (0.2, 0, 0), turns_rad=(0.0, 0.5)), LIMITS, PathOptions())
    assert faster is not None
    assert faster.s_m[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(("length_m", "moves"), [(0.0, False), (0.99e-7, False), (1.01e-7, True)])
def test_what_is_shorter_than_a_tenth_of_a_micrometre_is_no_motion(length_m: float, *, moves: bool):
    path = tool_path(_poses((0, 0, 0), (length_m, 0, 0)), LIMITS, PathOptions())
    assert (path is not None) == moves
    if path is not None:
        assert len(path.s_m) == 9


def test_a_corner_is_the_line_folded_with_two_boxes():
    path = tool_path(_poses((0, 0, 0), (0.05, 0, 0), (0.05, 0.05, 0)), LIMITS, PathOptions())
    assert path is not None
    sharp = np.stack([np.minimum(path.s_m, 0.05), np.maximum(path.s_m - 0.05, 0.0)], axis=1)
    box = np.ones(13) / 13  # 12 mm of blend at one sample a millimetre
    kernel = np.convolve(box, box)
    folded = np.stack([np.convolve(column, kernel, mode="valid") for column in sharp.T], axis=1)
    reach = len(kernel) // 2
    inner = slice(reach + 6, -(reach + 6))  # the windows shrink towards both ends
    np.testing.assert_allclose(path.T_base_tool[inner, :2, 3], folded[6:-6], atol=1e-12)
    np.testing.assert_allclose(path.T_base_tool[[0, -1], :2, 3], [[0.0, 0.0], [0.05, 0.05]], atol=1e-15)


def test_a_turn_of_more_than_half_a_circle_goes_on_the_same_way():
    turns = tuple(np.arange(0.0, 5.1, 0.5))
    path = tool_path(_poses(*[(0.0, 0.0, 0.0)] * len(turns), turns_rad=turns), LIMITS, PathOptions())
    assert path is not None
    angles = np.unwrap(np.arctan2(path.T_base_tool[:, 1, 0], path.T_base_tool[:, 0, 0]))
    np.testing.assert_allclose(angles, path.s_m * 4.0, atol=1e-6)


def test_joints_go_on_from_the_start_by_whole_turns():
    controller = make_controller(ArmLimits())
    kinematics, collisions = controller.planner.kinematics, controller.planner.collisions
    start = HOME + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2 * np.pi])
    T_0 = kinematics.forward(start)
    T_1 = T_0.copy()
    T_1[0, 3] += 0.02
    path = tool_path(np.stack([T_0, T_1]), LIMITS, PathOptions())
    assert path is not None
    wide = ArmLimits(q_min_rad=(-7.0,) * 6, q_max_rad=(7.0,) * 6)
    q = joints_along(path, start, kinematics, wide, collisions)
    assert not isinstance(q, Violation)
    np.testing.assert_allclose(q[0], start, atol=1e-9)
    np.testing.assert_allclose(kinematics.forward(q), path.T_base_tool, atol=1e-9)
    moved = joints_along(path, start + 2e-4, kinematics, wide, collisions)
    assert moved == Violation(LimitKind.SINGULARITY, "the arm is too close to a singularity")
