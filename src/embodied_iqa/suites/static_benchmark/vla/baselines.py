"""Subjects that know the expert's trajectory or do nothing: the ends of the scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import increments_between
from embodied_iqa.suites.static_benchmark.vla.pose_paths import row_poses
from embodied_iqa.suites.static_benchmark.vla.trajectories import Trajectory
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus

Array = NDArray[np.float64]

_SHIFT_M: Final = 0.01


def _chunk(trajectory: Trajectory, poses: Array, states: Array, reason: str) -> ActionChunk:
    steps = increments_between(np.concatenate([trajectory.start[None], poses]))
    return ActionChunk(ChunkStatus.ACT, np.concatenate([steps, states[:, None]], axis=1), reason)


def _expert(trajectory: Trajectory) -> ActionChunk:
    return _chunk(trajectory, row_poses(trajectory.rows), trajectory.rows[:, 6], "the expert's steps")


def _shifted(trajectory: Trajectory) -> ActionChunk:
    poses = row_poses(trajectory.rows)
    poses[:, 0, 3] += _SHIFT_M
    return _chunk(trajectory, poses, trajectory.rows[:, 6], "the expert's steps, 1 cm off")


def _still(trajectory: Trajectory) -> ActionChunk:
    count = len(trajectory.steps)
    states = np.full(count, trajectory.gripper)
    return _chunk(trajectory, np.tile(trajectory.start, (count, 1, 1)), states, "stays at the start")


BASELINES: Final[dict[str, Callable[[Trajectory], ActionChunk]]] = {
    "expert": _expert,
    "expert-1cm": _shifted,
    "still": _still,
}
"""Name to what it does: 100 in every part; 66.67 for the position; the score of doing nothing."""
