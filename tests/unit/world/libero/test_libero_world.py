"""LIBERO as a world: with a stand-in for its packages, and with LIBERO where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.base.kinematics import T_BASE_LINK_BASE, rotvec_to_rotation
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.actions.adapter import to_increments
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.world.libero.expert import LiberoExpert
from embodied_iqa.world.libero.suite_world import ENVIRONMENT, VARIABLE, LiberoWorld, actions_of, axis_angle
from embodied_iqa.world.libero.suites import AGENTVIEW, HORIZONS
from embodied_iqa.world.protocols import VlaObservation
from embodied_iqa.world.worlds import World, WorldTask, task_named
from libero_stand_in import write_libero

SUITE = "libero_object"
STAY = np.zeros((3, 7))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(VARIABLE, str(write_libero(tmp_path)))
    with closing(LiberoWorld(SUITE)) as opened:
        yield opened


def solve(world: World, task: WorldTask, state: int) -> int:
    """Let the expert act until the task is done; return the number of steps."""
    world.open(task, state)
    expert, steps = LiberoExpert(), 0
    while not world.success and steps < task.horizon:
        seen = world.observe(())
        told = VlaObservation(
            {}, task.instruction, seen.T_base_tool, seen.gripper, 0, objects=world.objects()
        )
        steps += world.step(expert.act(told).increments, seen.T_base_tool)
    return steps


def test_the_published_horizons():
    assert dict(HORIZONS) == {
        "libero_spatial": 220,
        "libero_object": 280,
        "libero_goal": 300,
        "libero_10": 520,
        "libero_90": 400,
    }


def test_tasks_state_and_images(world: World):
    assert [(task.states, task.horizon) for task in world.tasks] == [(50, 280)] * 10
    task = task_named(world, "pick up the milk and place it in the basket")
    world.open(task, 2)
    assert (world.success, world.time_ns) == (False, 0), "objects have settled before the episode begins"
    seen = world.observe([View.WRIST, AGENTVIEW])
    assert list(seen.frames) == [View.WRIST, AGENTVIEW]
    agentview = seen.frames[AGENTVIEW]
    assert agentview.rgb.shape == (256, 256, 3)
    assert agentview.rgb[-1, 0].tolist() == [1, 2, 3], "upright"
    assert (agentview.rgb[0] == 160).all()
    assert (seen.frames[View.WRIST].rgb[0] == 60).all()
    np.testing.assert_allclose(
        T_BASE_LINK_BASE @ agentview.needed_pose(),
        [[1, 0, 0, 0.9], [0, -1, 0, 0], [0, 0, -1, 0.6], [0, 0, 0, 1]],
        atol=1e-12,
    )
    assert agentview.needed_intrinsics().fx_px == pytest.approx(128 / np.tan(np.pi / 8))
    assert seen.native_state is not None
    np.testing.assert_allclose(seen.native_state[:3], (T_BASE_LINK_BASE @ seen.T_base_tool)[:3, 3])
    assert seen.native_state[3] > np.pi, "an angle beyond half a turn is not wrapped"
    np.testing.assert_allclose(seen.native_state[6:], [0.04, -0.04])
    assert seen.gripper == 0.0


def test_steps_are_counted_and_end_with_the_task(world: World):
    world.open(world.tasks[0], 0)
    seen = world.observe(())
    assert world.step(STAY, seen.T_base_tool) == 3
    assert world.time_ns == 150_000_000
    steps = solve(world, world.tasks[0], 1)
    assert world.success
    assert steps < world.tasks[0].horizon
    assert world.step(STAY, seen.T_base_tool) == 0, "nothing moves once the task is done"


def test_an_episode_does_not_depend_on_the_one_before(world: World):
    first = solve(world, world.tasks[0], 1)
    solve(world, world.tasks[1], 0)
    assert solve(world, world.tasks[0], 1) == first


def test_what_is_wrong_is_named(world: World, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match=r"no such initial state .* expected 0 to 49"):
        world.open(world.tasks[0], 50)
    with pytest.raises(UsageError, match="has no such task"):
        task_named(world, "fly")
    with pytest.raises(UsageError, match="unknown world"):
        LiberoWorld("libero_moon")
    with pytest.raises(InputError, match="libero_goal: KeyError: 'no such suite'"):
        LiberoWorld("libero_goal")
    monkeypatch.setenv(VARIABLE, "/nowhere/python")
    with pytest.raises(MissingDependencyError, match="make libero"):
        LiberoWorld(SUITE)


def test_a_worker_that_ends_is_an_error_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(write_libero(tmp_path)))
    monkeypatch.setenv("LIBERO_STAND_IN", "ends")
    with closing(LiberoWorld(SUITE)) as world:
        world.open(world.tasks[0], 0)
        T = world.observe(()).T_base_tool
        with pytest.raises(InputError, match="the worker of libero_object ended"):
            world.step(np.zeros((5, 7)), T)
        with pytest.raises(InputError, match="has ended; expected the same command again"):
            world.open(world.tasks[0], 0)


@pytest.mark.parametrize("name", ["pi0-libero", "openvla-libero", "openvla-oft-libero"])
def test_actions_of_a_policy_reach_the_controller_as_they_are(name: str):
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1, 1, (8, 7))
    convention = convention_of(name)
    rows[:, 6] = rng.uniform(*sorted((convention.gripper.open_at, convention.gripper.closed_at)), 8)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotvec_to_rotation([3.1, 0.2, -0.1]), [0.3, -0.2, 0.4]
    actions = actions_of(to_increments(rows, convention, T, 0.0), T)
    np.testing.assert_allclose(actions[:, :6], rows[:, :6], atol=1e-9)
    closed = (rows[:, 6] - convention.gripper.open_at) / (
        convention.gripper.closed_at - convention.gripper.open_at
    )
    np.testing.assert_allclose(actions[:, 6], 2 * closed - 1, atol=1e-12)


def test_the_axis_and_angle_of_robosuite():
    np.testing.assert_allclose(axis_angle(np.array([1.0, 0.0, 0.0, 0.0])), [np.pi, 0, 0])
    half = np.deg2rad(200) / 2
    told = axis_angle(np.array([0.0, np.sin(half), 0.0, np.cos(half)]))
    np.testing.assert_allclose(told, [0, np.deg2rad(200), 0])
    np.testing.assert_array_equal(axis_angle(np.array([0.0, 0.0, 0.0, 1.0])), np.zeros(3))


def test_the_expert_refuses_other_tasks():
    told = VlaObservation({}, "open the drawer", np.eye(4), 0.0, 0, objects={"basket_1": np.eye(4)})
    with pytest.raises(UsageError, match="libero_object only"):
        LiberoExpert().act(told)


@pytest.mark.timeout(300)
def test_the_expert_solves_a_task_of_libero():
    try:
        ENVIRONMENT.python()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    with closing(LiberoWorld(SUITE)) as world:
        assert solve(world, world.tasks[2], 0) < world.tasks[2].horizon
        assert world.success
