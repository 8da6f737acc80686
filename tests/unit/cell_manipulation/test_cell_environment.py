"""The environment: steps, faults, success held in physics, and replay of the same actions."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.cell_manipulation.actions import ActionFault, GridAction
from embodied_iqa.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.errors import UsageError

_PLACE = Goal(CellTask.PLACE, "red cube", "blue bowl")
_EPISODE = Episode(Subset.BASE, CellTask.PLACE, 0, 1, 0, "place the red cube in the blue bowl", (_PLACE,))


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(EnvironmentOptions(views=()))


def test_the_expert_solves_an_episode_and_the_same_actions_end_in_the_same_state(
    environment: Environment,
) -> None:
    ends = []
    environment.reset(_EPISODE)
    plan = environment.expert_plan()
    for _ in range(2):
        environment.reset(_EPISODE)
        results = []
        for action in plan:
            results.append(environment.step(action))
            if results[-1].done:
                break
        assert results[-1].success
        assert results[-1].reward == 1.0
        assert all(result.action_valid for result in results)
        ends.append(environment.snapshot)
    assert ends[0].time_ns == ends[1].time_ns
    assert np.array_equal(ends[0].qpos, ends[1].qpos)
    with pytest.raises(UsageError, match="no running episode"):
        environment.step(plan[0])


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        (GridAction(100, 50, 30), ActionFault.GRID),
        (GridAction(90, 50, 30), ActionFault.WORKSPACE),
        (GridAction(50, 50, 15), ActionFault.WORKSPACE),
        (GridAction(78, 94, 84), ActionFault.UNREACHABLE),
        (GridAction(50, 50, 16, roll=10), ActionFault.WORKSPACE),
    ],
)
def test_an_action_outside_of_the_envelope_moves_nothing_and_costs_a_step(
    environment: Environment, action: GridAction, fault: ActionFault
) -> None:
    environment.reset(_EPISODE)
    before = environment.snapshot
    result = environment.step(action)
    assert (result.fault, result.reward, result.steps, result.success) == (fault, -1.0, 1, False)
    assert result.reason in result.feedback
    assert np.array_equal(environment.snapshot.qpos, before.qpos)


def test_objects_are_sorted_from_the_right_to_the_left(environment: Environment) -> None:
    objects = environment.reset(_EPISODE).objects
    assert [item.bins[1] for item in objects] == sorted(item.bins[1] for item in objects)
    assert {"red cube", "blue bowl"} <= {item.name for item in objects}


def test_an_episode_ends_after_fifteen_steps(environment: Environment) -> None:
    environment.reset(_EPISODE)
    results = [environment.step(GridAction(40, 50, 50, gripper=1)) for _ in range(15)]
    assert [result.done for result in results] == [False] * 14 + [True]
