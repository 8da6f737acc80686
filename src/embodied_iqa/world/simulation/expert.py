"""The expert: plans each task from the true state of the scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.manipulation.planner import ObjectPose, plan_waypoints
from embodied_iqa.world.manipulation.waypoints import Waypoint, chunk_through, tool_yaw_rad
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus
from embodied_iqa.world.scenes.scene import Scene, find_destination, find_object
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m, object_yaw_rad
from embodied_iqa.world.tasks.instruction import Instruction

Array = NDArray[np.float64]


def expert_waypoints(
    scene: Scene, snapshot: WorldSnapshot, instruction: Instruction, T_base_tool: Array
) -> tuple[Waypoint, ...]:
    """Plan a task from the true state: at most `MAX_WAYPOINTS`.

    Args:
        scene: What is on the table.
        snapshot: The state.
        instruction: The task.
        T_base_tool: ``(4, 4)``, the tool's pose.

    Raises:
        UsageError: The scene has no such object.
    """
    target = _pose(scene, snapshot, find_object(scene, instruction))
    goal = find_destination(scene, instruction)
    destination = None if goal is None else _pose(scene, snapshot, goal)
    return plan_waypoints(instruction.verb, target, destination, tool_yaw_rad(T_base_tool))


def expert_chunk(
    scene: Scene, snapshot: WorldSnapshot, instruction: Instruction, T_base_tool: Array
) -> ActionChunk:
    """Plan a task from the true state as one chunk: the upper bound for policies that use images.

    Raises:
        UsageError: The scene has no such object.
    """
    waypoints = expert_waypoints(scene, snapshot, instruction, T_base_tool)
    increments = chunk_through(waypoints, T_base_tool)
    return ActionChunk(ChunkStatus.ACT, increments, f"{instruction.verb}: true position known")


def _pose(scene: Scene, snapshot: WorldSnapshot, index: int) -> ObjectPose:
    x, y, _ = object_position_m(scene, snapshot, index)
    item, yaw_rad = scene.objects[index], object_yaw_rad(scene, snapshot, index)
    return ObjectPose(item.kind, float(x), float(y), yaw_rad, item.size)
