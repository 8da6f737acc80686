"""Plans: few waypoints, affine in the places of the objects, within the arm's limits, back from an array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.arm.robot.limits import ArmLimits, check_increments, check_positions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.world.manipulation.planner import ObjectPose, plan_chunk, plan_waypoints
from embodied_iqa.world.manipulation.waypoints import (
    MAX_WAYPOINTS,
    Waypoint,
    chunk_through,
    tool_yaw_rad,
    waypoint_pose,
    waypoints_from_array,
    waypoints_to_array,
)
from embodied_iqa.world.tasks.vocabulary import DESTINATIONS_OF_VERB, KINDS_OF_VERB, Kind, Verb

X, Y = st.floats(-0.68, -0.36), st.floats(-0.26, 0.26)
CASES = [
    (verb, kind, goal)
    for verb in Verb
    for kind in KINDS_OF_VERB[verb]
    for goal in (DESTINATIONS_OF_VERB[verb] or (None,))
]
HOME = waypoint_pose(Waypoint(-0.40, 0.0, 0.35))


def plan(
    case: tuple[Verb, Kind, Kind | None],
    place: tuple[float, float],
    goal: tuple[float, float],
    yaw_rad: float = 0.0,
):
    verb, kind, goal_kind = case
    destination = None if goal_kind is None else ObjectPose(goal_kind, *goal)
    return plan_waypoints(verb, ObjectPose(kind, *place, yaw_rad), destination)


@pytest.mark.parametrize("case", CASES, ids=str)
@given(place=st.tuples(X, Y), goal=st.tuples(X, Y), shift=st.floats(-0.05, 0.05))
@settings(deadline=None)
def test_waypoints_are_affine_in_the_places_of_the_objects(
    case: tuple[Verb, Kind, Kind | None],
    place: tuple[float, float],
    goal: tuple[float, float],
    shift: float,
):
    (x, y), (goal_x, goal_y) = place, goal
    rows = [
        waypoints_to_array(plan(case, (x + part * shift, y), (goal_x, goal_y - part * shift)))
        for part in (0, 1, 2)
    ]
    assert 3 <= len(rows[0]) <= MAX_WAYPOINTS
    assert np.allclose(rows[2] - rows[1], rows[1] - rows[0], atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
@given(place=st.tuples(X, Y), goal=st.tuples(X, Y), yaw_rad=st.floats(-0.78, 0.78))
@settings(deadline=None)
def test_plans_keep_within_the_limits_of_the_arm(
    case: tuple[Verb, Kind, Kind | None],
    place: tuple[float, float],
    goal: tuple[float, float],
    yaw_rad: float,
):
    waypoints = plan(case, place, goal, yaw_rad)
    limits = ArmLimits(increment_m=0.6)
    assert check_increments(chunk_through(waypoints, HOME), limits) is None
    assert check_positions(waypoints_to_array(waypoints)[:, :3], limits) is None


def test_a_chunk_leads_through_the_waypoints():
    waypoints = (Waypoint(-0.5, 0.1, 0.2, 0.3, 0.0, 0.2), Waypoint(-0.4, 0.1, 0.2, 0.3, 0.5, 0.9))
    chunk = chunk_through(waypoints, HOME)
    assert np.allclose(chain_increments(HOME, chunk), [waypoint_pose(point) for point in waypoints])
    assert chunk[:, 6].tolist() == [0.2, 0.9]
    with pytest.raises(UsageError, match="waypoint"):
        chunk_through((), HOME)


def test_yaw_and_tilt_turn_the_tool_as_they_say():
    assert waypoint_pose(Waypoint(0, 0, 0))[:3, :3] @ [0, 0, 1] == pytest.approx([0, 0, -1])
    fingers = waypoint_pose(Waypoint(0, 0, 0, tilt_rad=np.pi / 2))[:3, :3]
    assert fingers @ [1, 0, 0] == pytest.approx([0, 1, 0])
    assert fingers @ [0, 0, 1] == pytest.approx([-1, 0, 0])
    assert tool_yaw_rad(waypoint_pose(Waypoint(0, 0, 0, yaw_rad=0.4))) == pytest.approx(0.4)


def test_a_plan_survives_its_array():
    waypoints = plan((Verb.POUR, Kind.CUP, Kind.BOWL), (-0.5, 0.1), (-0.6, 0.2))
    assert waypoints_from_array(waypoints_to_array(waypoints)) == waypoints
    wild = np.array([[0, 0, 0, 0, 0, 1.7]])
    assert waypoints_from_array(wild)[0].gripper == 1.0
    with pytest.raises(UsageError, match="waypoints"):
        waypoints_from_array(np.full((1, 6), np.nan))


def test_a_destination_is_needed_where_the_verb_has_one_and_refused_where_not():
    cube = ObjectPose(Kind.CUBE, -0.5, 0.0)
    with pytest.raises(UsageError, match="where the object goes"):
        plan_chunk(Verb.PLACE, cube, HOME)
    with pytest.raises(UsageError, match="no destination"):
        plan_chunk(Verb.PICK, cube, HOME, ObjectPose(Kind.BOWL, -0.6, 0.1))
