"""The environment: steps, faults, success held in physics, and replay of the same actions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import ArmLimits, check_positions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.suites.cell_manipulation.actions import ActionFault, GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset

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


class Watched(Environment):
    """Records where the tool is and how the joints stand, 125 times a second."""

    def begin(self, episode: Episode) -> None:
        self.places_m: list[NDArray[np.float64]] = []
        self.joints_rad: list[NDArray[np.float64]] = []
        self.reset(episode)

    def _sweep(self) -> None:
        self.places_m.append(self._world.T_base_tool[:3, 3].copy())
        self.joints_rad.append(np.array(self._world.q_rad))


@pytest.mark.parametrize("count", [32, pytest.param(120, marks=pytest.mark.stress)])
def test_random_actions_never_move_the_arm_out_of_its_envelope(count: int) -> None:
    rng, limits = np.random.default_rng(11), ArmLimits()
    watched = Watched(EnvironmentOptions(views=(), max_steps=300))
    watched.begin(_EPISODE)
    before, valid = watched.snapshot.qpos, 0
    for number in range(count):
        low, high = ((0, 0, 0, 0, 0, 0), (99, 99, 99, 119, 119, 119))
        if number % 2:
            low, high = (35, 20, 17, 0, 60, 40), (75, 85, 60, 0, 60, 80)
        numbers = rng.integers(low, np.array(high) + 1).tolist()
        moments = len(watched.places_m)
        result = watched.step(GridAction(*numbers, int(rng.integers(2))))
        valid += result.action_valid
        if result.fault not in {None, ActionFault.PRESSED}:
            assert len(watched.places_m) == moments
            assert np.array_equal(watched.snapshot.qpos, before)
        before = watched.snapshot.qpos
    assert count / 6 < valid < count * 5 / 6
    assert check_positions(np.array(watched.places_m), limits) is None
    turned_rad_s = np.abs(np.diff(watched.joints_rad, axis=0)).max() / 0.008
    assert turned_rad_s < 1.05 * np.pi


def test_objects_are_sorted_from_the_right_to_the_left(environment: Environment) -> None:
    objects = environment.reset(_EPISODE).objects
    assert [item.bins[1] for item in objects] == sorted(item.bins[1] for item in objects)
    assert {"red cube", "blue bowl"} <= {item.name for item in objects}


def test_an_episode_ends_after_fifteen_steps(environment: Environment) -> None:
    environment.reset(_EPISODE)
    results = [environment.step(GridAction(40, 50, 50, gripper=1)) for _ in range(15)]
    assert [result.done for result in results] == [False] * 14 + [True]
