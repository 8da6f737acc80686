"""The expert: knows where everything is, and how each task is done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.simulation.scene import Scene, find_object
from embodied_iqa.simulation.snapshot import WorldSnapshot, object_position_m, object_yaw_rad
from embodied_iqa.subjects.instruction import Instruction
from embodied_iqa.subjects.manipulation import ObjectPose, plan_chunk
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus

__all__ = ["expert_chunk"]


def expert_chunk(
    scene: Scene, snapshot: WorldSnapshot, instruction: Instruction, T_base_tool: NDArray[np.float64]
) -> ActionChunk:
    """Plan a task from the true state: the upper bound for what looks at pictures.

    Args:
        scene: What stands on the table.
        snapshot: Where it stands.
        instruction: The task.
        T_base_tool: ``(4, 4)``, where the tool is.

    Raises:
        UsageError: The scene has no such object.
    """
    index = find_object(scene, instruction)
    x, y, _ = object_position_m(scene, snapshot, index)
    yaw = object_yaw_rad(scene, snapshot, index)
    target = ObjectPose(instruction.kind, float(x), float(y), yaw)
    increments = plan_chunk(instruction.verb, target, T_base_tool)
    return ActionChunk(ChunkStatus.ACT, increments, f"{instruction.verb}: true position known")
