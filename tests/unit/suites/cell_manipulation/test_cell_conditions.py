"""Conditions of the goals: what counts, what does not, and that it must hold for a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.suites.cell_manipulation.action_execution import LIMITS, execute
from embodied_iqa.suites.cell_manipulation.actions import BIN_M, OPENING_M, GridAction
from embodied_iqa.suites.cell_manipulation.ceiling import run_expert
from embodied_iqa.suites.cell_manipulation.cell_scene import SPOTS, CellScene, build_cell_scene
from embodied_iqa.suites.cell_manipulation.conditions import Moment, goal_missing, wiped
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot, object_address
from embodied_iqa.world.simulation.rollout import RolloutOptions
from embodied_iqa.world.simulation.world import World

_STACK = Goal(CellTask.STACK, "red cube", "blue cube")
_WIPE = Goal(CellTask.WIPE, "red cube", "vertical area")
_OPEN = 1.0 - OPENING_M / STROKE_M


def _stacked(
    cell: CellScene, shift_m: tuple[float, float, float] = (0.0, 0.0, 0.0), gripper: float = _OPEN
) -> WorldSnapshot:
    """Return the state in which the red cube stands on the blue one, shifted."""
    upper, lower = cell.index_of("red cube"), cell.index_of("blue cube")
    snapshot = nominal_snapshot(cell.scene, gripper=gripper)
    base = cell.scene.objects[lower]
    seat_m = base.shape.height_m + cell.scene.objects[upper].shape.height_m / 2
    start = object_address(cell.scene, upper)
    qpos = snapshot.qpos.copy()
    qpos[start : start + 3] = np.array([base.x_m, base.y_m, seat_m]) + shift_m
    return replace(snapshot, qpos=qpos)


@pytest.mark.parametrize(
    ("shift_m", "gripper", "missing"),
    [
        ((0.0, 0.0, 0.0), _OPEN, ""),
        ((0.015, 0.0, 0.004), _OPEN, ""),
        ((0.0, 0.03, 0.0), _OPEN, "off the cube's centre"),
        ((0.0, 0.0, 0.02), _OPEN, "above its seat"),
        ((0.0, 0.0, 0.0), 0.65, "gripper not open"),
    ],
)
def test_a_stack_stands_on_its_seat_near_the_centre_with_an_open_gripper(
    shift_m: tuple[float, float, float], gripper: float, missing: str
) -> None:
    cell = build_cell_scene((_STACK,), 1)
    moment = Moment(cell, nominal_snapshot(cell.scene), _stacked(cell, shift_m, gripper), {})
    found = goal_missing(_STACK, moment)
    assert missing in found
    assert bool(found) == bool(missing)


def test_at_most_half_of_the_spots_may_be_left() -> None:
    cell = build_cell_scene((_WIPE,), 1)
    now = nominal_snapshot(cell.scene)
    for left, done in ((50, False), (26, False), (25, True), (0, True)):
        dirt = {area.name: np.arange(SPOTS) < left for area in cell.areas}
        assert (goal_missing(_WIPE, Moment(cell, now, now, dirt)) == "") is done


def test_a_sponge_wipes_what_it_covers_on_the_table_only() -> None:
    cell = build_cell_scene((_WIPE,), 1)
    sponge = cell.index_of("red cube")
    item = cell.scene.objects[sponge]
    half_m = item.shape.width_m / 2
    turn = np.array([np.cos(item.yaw_rad), np.sin(item.yaw_rad)])
    spots_m = np.array([item.x_m, item.y_m]) + np.array([0.0, 0.95, 1.05])[:, None] * half_m * turn
    now = nominal_snapshot(cell.scene)
    assert wiped(cell, now, sponge, spots_m).tolist() == [True, True, False]
    lifted = now.qpos.copy()
    lifted[object_address(cell.scene, sponge) + 2] += 0.01
    assert not wiped(cell, replace(now, qpos=lifted), sponge, spots_m).any()


def test_what_slides_off_within_the_second_is_no_success() -> None:
    episode = Episode(Subset.BASE, CellTask.STACK, 0, 1, 1, "stack", (_STACK,))
    with Environment(EnvironmentOptions(views=())) as environment:
        outcomes = []
        for speed_mps in (0.0, 0.7):
            environment.reset(episode)
            world = environment._world
            world._data.qpos[:] = _stacked(environment.cell).qpos
            world._data.qvel[:] = 0.0
            free = world._model.body(f"object{environment.cell.index_of('red cube')}").dofadr[0]
            world._data.qvel[free] = speed_mps
            world.set_arm_target(world.q_rad, np.zeros(6))
            assert not any(environment.missing())
            outcomes.append(environment._succeeded())
    assert outcomes == [True, False]


@pytest.mark.parametrize("goal", [_STACK, _WIPE, Goal(CellTask.INSERT, "red peg", "blue socket")])
def test_the_expert_reaches_the_goals_of_the_other_tasks(goal: Goal) -> None:
    episode = Episode(Subset.BASE, goal.task, 0, 1, 1, "as asked", (goal,))
    with Environment(EnvironmentOptions(views=())) as environment:
        environment.reset(episode)
        assert any(environment.missing())
        success = False
        for action in environment.expert_plan():
            success = environment.step(action).success
            if success:
                break
        assert success
        assert environment.missing() == ("",)


def test_the_expert_builds_a_tower_of_three_and_lays_the_sponge_down() -> None:
    tower = next(e for e in make_episodes([Subset.LONG_HORIZON], 1) if e.task is CellTask.STACK)
    wiping = next(e for e in make_episodes([Subset.LONG_HORIZON], 1) if e.task is CellTask.WIPE)
    with Environment(EnvironmentOptions(views=())) as environment:
        for episode in (tower, wiping):
            assert run_expert(environment, episode).success


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.stress)])
def test_no_action_moves_the_hand_out_of_the_workspace(count: int) -> None:
    world = World(build_cell_scene((_STACK,), 1).scene)
    rng = np.random.default_rng(5)
    seen, executed = [], 0

    def watch() -> None:
        seen.append(world.T_base_tool[:3, 3])

    for _ in range(count):
        place = rng.integers([15, 0, 13], [85, 100, 90])
        turns = [int(rng.integers(-4, 5)), 60 + int(rng.integers(-4, 5)), int(rng.integers(120))]
        action = GridAction(*place.tolist(), turns[0] % 120, turns[1], turns[2], int(rng.integers(2)))
        executed += execute(world, action, RolloutOptions(tool_speed_mps=0.5), watch) is None
    assert executed >= count / 12
    tolerance_m = BIN_M / 2
    assert (np.min(seen, axis=0) >= np.array(LIMITS.workspace_min_m) - tolerance_m).all()
    assert (np.max(seen, axis=0) <= np.array(LIMITS.workspace_max_m) + tolerance_m).all()
    assert np.min(seen, axis=0)[2] >= 0.005
