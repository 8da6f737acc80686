"""The simulated cell as a `World`: the same physics and images, bit for bit."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.cell_world import CellWorld
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.world import World as Physics
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.worlds import World, task_named

TASK = "pick the red cube"


def test_physics_and_images_are_those_of_the_cell():
    instruction = parse_instruction(TASK)
    scene = make_scene(7, instruction)
    plain = Physics(scene)
    chunk = expert_chunk(scene, plain.snapshot(), instruction, plain.T_base_tool)
    with closing(CellWorld([TASK], 160, 120)) as cell, SceneRenderer(scene, 160, 120) as renderer:
        world: World = cell
        with pytest.raises(InternalError, match="no task of the cell is open"):
            _ = world.success
        world.open(task_named(world, TASK), 7)
        seen = world.observe([View.TOP])
        np.testing.assert_array_equal(
            seen.frames[View.TOP].rgb, renderer.frame(View.TOP, plain.snapshot()).rgb
        )
        assert (world.success, world.violation, seen.native_state) == (False, "", None)
        item, (name, T) = scene.objects[0], next(iter(world.objects().items()))
        assert name == f"0 {item.kind}"
        assert T[:2, 3] == pytest.approx([item.x_m, item.y_m], abs=1e-3)
        assert world.step(chunk.increments, seen.T_base_tool) == len(chunk.increments)
        rollout(plain, chunk.increments)
        np.testing.assert_array_equal(cell.physics.snapshot().qpos, plain.snapshot().qpos)
        assert world.success
        assert world.time_ns == plain.time_ns


def test_increments_go_on_where_the_last_one_was_to_end():
    rows = np.zeros((2, 7))
    rows[:, 0] = 0.03
    with closing(CellWorld([TASK], 160, 120)) as world:
        world.open(world.tasks[0], 7)
        T = world.observe(()).T_base_tool
        goal = chain_increments(T, rows)
        world.step(rows[:1], T)
        world.step(rows[1:], goal[0])
        np.testing.assert_allclose(world.observe(()).T_base_tool[:3, 3], goal[1, :3, 3], atol=1e-3)
