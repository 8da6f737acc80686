"""An expert at work in the simulated cell, sampled at even times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.suites.static_benchmark.vla.pose_paths import pose_rows, poses_at
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, gripper_of
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction

Array = NDArray[np.float64]

_SETTLING: Final = 1
"""States at the end of a rollout in which the arm only rests."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedExpert:
    """A successful expert.

    Attributes:
        start: State before the first motion.
        T_base_tool: ``(4, 4)``, the tool there (m).
        duration_s: Of the motion.
        steps: ``(n, 7)``: x, y, z, roll, pitch, yaw, commanded gripper, at even times; the last at the end.
        measured_gripper: ``(n,)``, in [0, 1].
        snapshots: The state at each step, to within a servo period (8 ms).
    """

    start: WorldSnapshot
    T_base_tool: Array
    duration_s: float
    steps: Array
    measured_gripper: Array
    snapshots: tuple[WorldSnapshot, ...]


class _RecordedWorld(World):
    """A world that keeps its state after each advance."""

    def __init__(self, scene: Scene) -> None:
        self.poses: list[Array] = []
        self.snapshots: list[WorldSnapshot] = []
        self.commands: list[float] = []
        self._commanded = 0.0
        super().__init__(scene)
        self._keep()

    def set_gripper_target(self, gripper: float, speed_per_s: float = 1.0) -> None:
        super().set_gripper_target(gripper, speed_per_s)
        self._commanded = gripper

    def advance(self, duration_ns: int) -> None:
        super().advance(duration_ns)
        self._keep()

    def _keep(self) -> None:
        self.poses.append(self.T_base_tool)
        self.snapshots.append(self.snapshot())
        self.commands.append(self._commanded)


def record_expert(scene: Scene, instruction: Instruction, steps: int) -> RecordedExpert | None:
    """Let the expert do a task in contact physics; None if it fails.

    Args:
        scene: What is on the table.
        instruction: The task.
        steps: Number of samples.
    """
    world = _RecordedWorld(scene)
    start, T_base_tool = world.snapshots[0], world.poses[0]
    result = rollout(world, expert_chunk(scene, start, instruction, T_base_tool).increments)
    if result.stopped is not None or not task_success(scene, instruction, start, result.end):
        return None
    moving = len(world.poses) - _SETTLING
    known_s = np.array([snapshot.time_ns for snapshot in world.snapshots[:moving]]) / SECOND_NS
    at_s = np.arange(1, steps + 1) * (known_s[-1] / steps)
    poses = poses_at(known_s, np.stack(world.poses[:moving]), at_s)
    nearest = np.minimum(np.searchsorted(known_s, at_s - 1e-9), moving - 1)
    snapshots = tuple(world.snapshots[index] for index in nearest)
    commands = np.array(world.commands)[nearest]
    measured = np.array([gripper_of(snapshot) for snapshot in snapshots])
    return RecordedExpert(
        start, T_base_tool, float(known_s[-1]), pose_rows(poses, commands), measured, snapshots
    )
