"""An expert episode in contact physics, up to its cut and to its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import chain_increments, increments_between
from embodied_iqa.suites.static_benchmark.making.draft import Cut
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World

Array = NDArray[np.float64]


def state_at_cut(scene: Scene, cut: Cut) -> WorldSnapshot | None:
    """Return the state of the world at a cut; None where the expert does not reach the task's end.

    Args:
        scene: What is on the table.
        cut: Where the episode is cut; the arm rests there.
    """
    world = World(scene)
    start, home = world.snapshot(), world.T_base_tool
    chunk = expert_chunk(scene, start, cut.instruction, home).increments
    poses, grippers = chain_increments(home, chunk), chunk[:, 6:]
    if rollout(world, chunk[: cut.waypoint]).stopped is not None:
        return None
    if (
        rollout(world, _through(world, cut.T_base_tool[None], grippers[cut.waypoint][None])).stopped
        is not None
    ):
        return None
    shown = world.snapshot()
    if rollout(world, _through(world, poses[cut.waypoint :], grippers[cut.waypoint :])).stopped is not None:
        return None
    return shown if task_success(scene, cut.instruction, start, world.snapshot()) else None


def _through(world: World, poses: Array, grippers: Array) -> Array:
    """Return the ``(K, 7)`` increments from the tool's present pose through others."""
    return np.concatenate(
        [increments_between(np.concatenate([world.T_base_tool[None], poses])), grippers], axis=1
    )
