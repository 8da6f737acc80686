"""Action space: round trips between poses and the grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import UsageError
from embodied_iqa.suites.cell_manipulation.actions import (
    BIN_M,
    TABLE_Z,
    GridAction,
    bin_centre_m,
    position_bins,
)
from embodied_iqa.world.manipulation.waypoints import Waypoint, waypoint_pose

Array = NDArray[np.float64]
_ANGLE = st.floats(-180.0, 179.9)


_R_GRID_BASE = np.diag([-1.0, -1.0, 1.0])
_R_TOOL_HAND = Rotation.from_euler("z", -90, degrees=True).as_matrix()


def _pose(angles_deg: tuple[float, float, float], position_m: tuple[float, float, float]) -> Array:
    """Return a pose of the tool whose hand has these angles in the grid's frame."""
    pose = np.eye(4)
    R_grid_hand = Rotation.from_euler("xyz", angles_deg, degrees=True).as_matrix()
    pose[:3, :3] = _R_GRID_BASE.T @ R_grid_hand @ _R_TOOL_HAND.T
    pose[:3, 3] = position_m
    return pose


def _angles_deg(pose: Array) -> Array:
    rotation = Rotation.from_matrix(_R_GRID_BASE @ pose[:3, :3] @ _R_TOOL_HAND)
    return np.asarray(rotation.as_euler("xyz", degrees=True))


@settings(max_examples=300, deadline=None)
@given(
    st.tuples(st.floats(-0.9999, -0.0001), st.floats(-0.4999, 0.4999), st.floats(-0.1499, 0.8499)),
    st.tuples(_ANGLE, st.floats(-87.0, 87.0), _ANGLE),
)
def test_a_round_trip_is_off_by_at_most_5_mm_an_axis_and_1_5_degrees(
    position_m: tuple[float, float, float], angles_deg: tuple[float, float, float]
) -> None:
    back = GridAction.from_pose(_pose(angles_deg, position_m)).to_pose()
    assert np.abs(back[:3, 3] - position_m).max() <= 0.005 + 1e-9
    off_deg = (_angles_deg(back) - angles_deg + 180.0) % 360.0 - 180.0
    assert np.abs(off_deg).max() <= 1.5 + 1e-6


@settings(max_examples=300, deadline=None)
@given(
    st.builds(
        GridAction,
        *(st.integers(0, 99),) * 3,
        st.integers(0, 119),
        st.integers(31, 89),
        st.integers(0, 119),
        st.integers(0, 1),
    )
)
def test_an_action_comes_back_from_its_pose(action: GridAction) -> None:
    assert GridAction.from_pose(action.to_pose(), action.closing) == action


@given(_ANGLE, _ANGLE, st.sampled_from([-90.0, 90.0]))
def test_a_horizontal_hand_keeps_its_direction(roll: float, yaw: float, pitch: float) -> None:
    pose = _pose((roll, pitch, yaw), (-0.5, 0.0, 0.3))
    back = GridAction.from_pose(pose).to_pose()
    turn = Rotation.from_matrix(pose[:3, :3].T @ back[:3, :3]).magnitude()
    assert np.rad2deg(turn) <= 4.6


def test_x_grows_away_from_the_robot_y_to_its_left_and_the_table_is_at_z_15() -> None:
    assert position_bins((-0.005, 0.495, -0.145)) == (0, 0, 0)
    assert position_bins((-0.995, -0.495, 0.845)) == (99, 99, 99)
    assert position_bins((-0.5, 0.0, 0.0))[2] == TABLE_Z
    assert position_bins((-0.5, 0.0, 0.0225))[2] == 17
    assert position_bins((3.0, -3.0, -3.0)) == (0, 99, 0)
    np.testing.assert_allclose(bin_centre_m(40, 50, 15), [-0.405, -0.005, 0.005], atol=1e-12)


def test_roll_0_and_pitch_60_point_down_and_yaw_is_that_of_a_waypoint() -> None:
    for yaw in (0, 60, 75, 119):
        action = GridAction(50, 50, 30, yaw=yaw)
        waypoint = Waypoint(-0.505, -0.005, 0.155, yaw_rad=np.deg2rad(3 * yaw - 180))
        np.testing.assert_allclose(action.to_pose(), waypoint_pose(waypoint), atol=1e-9)


def test_the_gripper_is_converted() -> None:
    pose = GridAction(50, 50, 30).to_pose()
    assert GridAction.from_pose(pose, 1.0).gripper == 0
    assert GridAction.from_pose(pose, 0.0).gripper == 1
    assert GridAction(50, 50, 30, gripper=0).closing == 1.0


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((100, 0, 0, 0, 0, 0, 0), "X is 100"),
        ((0, -1, 0, 0, 0, 0, 0), "Y is -1"),
        ((0, 0, 0, 120, 0, 0, 0), "Roll is 120"),
        ((0, 0, 0, 0, 0, 0, 2), "Gripper is 2"),
    ],
)
def test_a_number_out_of_its_range_is_named(numbers: tuple[int, ...], named: str) -> None:
    action = GridAction(*numbers)
    assert named in action.range_fault
    with pytest.raises(UsageError, match=named):
        action.to_pose()


def test_a_pose_outside_of_the_grid_is_an_error() -> None:
    pose = np.eye(4)
    pose[0, 3] = 0.5 * BIN_M
    with pytest.raises(UsageError, match="outside of the grid"):
        GridAction.from_pose(pose)
