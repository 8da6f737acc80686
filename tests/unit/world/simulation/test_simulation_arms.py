"""Every arm that reaches the table of the simulated cell stands in it: lengths, home, collisions, tasks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, CollisionModel, World, choose, rotvec_to_rotation
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
from embodied_iqa.base.kinematics.shapes import shape_of
from embodied_iqa.world.scenes.dimensions import (
    CELL_ARMS,
    WALL_X_M,
    cell_home_q_rad,
    cell_kinematics,
    check_cell_arm,
)
from embodied_iqa.world.scenes.places import OBJECTS_X_M, OBJECTS_Y_M
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.cell_model import build_model
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.simulation.world import World as SimulatedWorld
from embodied_iqa.world.tasks.instruction import parse_instruction

HOME_POSE = cell_kinematics(ArmModel.UR5).forward(HOME_Q_RAD)
OTHERS = tuple(arm for arm in CELL_ARMS if arm is not ArmModel.UR5)
TASK = parse_instruction("pick the red cube")


def above_the_table() -> list[np.ndarray]:
    """Poses of the tool, pointing down, over the corners and edges of where objects stand."""
    poses = []
    xs, ys = np.linspace(*OBJECTS_X_M, 3), np.linspace(*OBJECTS_Y_M, 3)
    for x, y, z, yaw_rad in itertools.product(xs, ys, (0.02, 0.15), (-0.7, 0.0, 0.7)):
        pose = HOME_POSE.copy()
        pose[:3, :3] = rotvec_to_rotation(np.array([0.0, 0.0, yaw_rad])) @ pose[:3, :3]
        pose[:3, 3] = x, y, z
        poses.append(pose)
    return poses


@pytest.mark.parametrize("arm", NAMED_MODELS)
def test_the_arms_of_the_cell_are_those_that_reach_its_table(arm: ArmModel) -> None:
    kinematics = cell_kinematics(arm)
    hits = CollisionModel(kinematics, World(table_z_m=0.0, wall_x_m=WALL_X_M))
    home = choose(kinematics, HOME_POSE, HOME_Q_RAD).q_rad
    reached = home is not None and hits(home) is None
    for pose in above_the_table() if home is not None else ():
        q_rad = choose(kinematics, pose, home).q_rad
        reached &= q_rad is not None and hits(q_rad) is None
    assert reached is (arm in CELL_ARMS)


def test_the_home_of_the_default_arm_is_what_it_was_and_a_short_arm_is_refused_by_name() -> None:
    assert cell_home_q_rad(ArmModel.UR5) == HOME_Q_RAD
    for arm in OTHERS:
        np.testing.assert_allclose(cell_kinematics(arm).forward(cell_home_q_rad(arm)), HOME_POSE, atol=1e-9)
    for check in (check_cell_arm, cell_home_q_rad):
        with pytest.raises(UsageError, match=r"a UR3e does not reach the table .*available: ur5, ur10, ur5e"):
            check(ArmModel.UR3E)


@pytest.mark.parametrize("arm", CELL_ARMS)
def test_a_world_has_the_arms_lengths_and_its_expert_does_the_task(arm: ArmModel) -> None:
    scene = make_scene(7, TASK, arm)
    world = SimulatedWorld(scene)
    start = world.snapshot()
    np.testing.assert_allclose(world.T_base_tool, cell_kinematics(arm).forward(world.q_rad), atol=1e-12)
    np.testing.assert_array_equal(nominal_snapshot(scene).qpos[:6], cell_home_q_rad(arm))
    q_rad = world.q_rad + np.array([0.3, -0.2, 0.2, 0.4, -0.3, 0.5])
    world.set_arm_target(q_rad, np.zeros(6))
    world.advance(2_000_000_000)
    np.testing.assert_allclose(world.q_rad, q_rad, atol=2e-3)
    np.testing.assert_allclose(world.T_base_tool, cell_kinematics(arm).forward(world.q_rad), atol=1e-9)
    world.reset()
    done = rollout(world, expert_chunk(scene, start, TASK, world.T_base_tool).increments)
    assert done.stopped is None
    assert task_missing(scene, TASK, start, done.end) == ""


@pytest.mark.parametrize("arm", OTHERS)
def test_what_collides_is_where_the_controllers_own_housings_are(arm: ArmModel) -> None:
    model = build_model(make_scene(0, arm=arm), textured=False)
    tubes = {}
    for link in (2, 3):
        capsule = mujoco.mjtGeom.mjGEOM_CAPSULE
        body = model.body(f"link{link}").id
        (tubes[link],) = [
            g for g in range(model.ngeom) if model.geom_bodyid[g] == body and model.geom_type[g] == capsule
        ]
    shape, ours = shape_of(arm.geometry), shape_of(ArmModel.UR5.geometry)
    assert model.geom_pos[tubes[2]] == pytest.approx([arm.geometry.a2_m / 2, 0.0, shape.upper_arm_offset_m])
    assert model.geom_pos[tubes[3]] == pytest.approx([arm.geometry.a3_m / 2, 0.0, shape.forearm_offset_m])
    widths = [model.geom_size[tubes[link]][0] for link in (2, 3)]
    fitted = (0.054 * shape.upper_arm_m / ours.upper_arm_m, 0.045 * shape.forearm_m / ours.forearm_m)
    assert widths == pytest.approx(fitted)
