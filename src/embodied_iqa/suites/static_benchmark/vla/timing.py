"""Which poses of a chunk are held against which steps of an expert's trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.suites.static_benchmark.vla.pose_paths import arm_poses, pose_rows, poses_at, row_poses
from embodied_iqa.suites.static_benchmark.vla.scores import StepErrors, step_errors
from embodied_iqa.suites.static_benchmark.vla.trajectories import Trajectory

Array = NDArray[np.float64]


class Timing(StrEnum):
    """Times of a chunk's rows; the paper does not say which it takes."""

    STEPS = "steps"
    """Row k of the chunk is held against step k of the expert, as many as both have."""
    RATE = "rate"
    """The chunk's rows follow each other at the subject's rate; the steps in their time count."""
    ARM = "arm"
    """The arm of this package follows the chunk at its speed limits, then rests; every step counts."""


WORDS: Final = {
    Timing.STEPS: "row k of the chunk against step k of the expert",
    Timing.RATE: "chunk resampled at the expert's times, rows at the rate that the subject names",
    Timing.ARM: "path of the arm through the chunk at its speed limits, at the expert's times; then rest",
}
"""Each in words, for results."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldSteps:
    """Poses held against those of an expert.

    Attributes:
        poses: ``(n, 7)``, the subject's.
        expert: ``(n, 7)``, the expert's at the same times.
    """

    poses: Array
    expert: Array

    @property
    def errors(self) -> StepErrors:
        """Errors of the ``n`` steps."""
        return step_errors(self.poses, self.expert)


def timings_of(rate_hz: float | None) -> tuple[Timing, ...]:
    """Return the timings of a subject, the one of its main score first."""
    return (Timing.STEPS, Timing.ARM) if rate_hz is None else (Timing.RATE, Timing.STEPS, Timing.ARM)


def held_steps(
    increments: Array, trajectory: Trajectory, timing: Timing, rate_hz: float | None = None
) -> HeldSteps:
    """Chain a chunk onto the start pose and hold it against the expert.

    Args:
        increments: ``(K, 7)`` as in `ActionChunk`, K of 1 or more.
        trajectory: The expert's.
        timing: Times of the rows.
        rate_hz: Rate of the rows, for `Timing.RATE`.

    Raises:
        InputError: A number is not finite, there are no rows, or no positive rate where one is needed.
    """
    increments = np.asarray(increments, dtype=np.float64)
    if increments.ndim != 2 or increments.shape[1] != 7 or not len(increments):
        raise InputError("a chunk has no increments", expected="(K, 7), K of 1 or more", got=increments.shape)
    if not np.isfinite(increments).all():
        raise InputError("a chunk has a number that is not finite", expected="7 finite numbers a row")
    if timing is Timing.ARM:
        poses, states = arm_poses(trajectory.start, trajectory.gripper, increments, trajectory.times_s)
        return HeldSteps(pose_rows(poses, states), trajectory.rows)
    if timing is Timing.RATE:
        return _at_rate(increments, trajectory, rate_hz)
    count = min(len(increments), len(trajectory.steps))
    states = np.clip(increments[:count, 6], 0.0, 1.0)
    poses = chain_increments(trajectory.start, increments[:count])
    return HeldSteps(pose_rows(poses, states), trajectory.rows[:count])


def _at_rate(increments: Array, trajectory: Trajectory, rate_hz: float | None) -> HeldSteps:
    """Resample at the expert's times; a chunk shorter than a step is held against the expert at its end."""
    if rate_hz is None or not 0.0 < rate_hz < np.inf:
        raise InputError("no rate of the chunk", expected="above 0 Hz", got=rate_hz)
    own_s = np.arange(len(increments) + 1) / rate_hz
    at_s = trajectory.times_s[trajectory.times_s <= own_s[-1] + 1e-9]
    if not len(at_s):
        at_s = own_s[-1:]
    own = np.concatenate([trajectory.start[None], chain_increments(trajectory.start, increments)])
    own_states = np.concatenate([[trajectory.gripper], np.clip(increments[:, 6], 0.0, 1.0)])
    expert_s = np.concatenate([[0.0], trajectory.times_s])
    expert = np.concatenate([trajectory.start[None], row_poses(trajectory.rows)])
    expert_states = np.concatenate([[trajectory.gripper], trajectory.rows[:, 6]])
    return HeldSteps(
        pose_rows(poses_at(own_s, own, at_s), _state_at(own_s, own_states, at_s)),
        pose_rows(poses_at(expert_s, expert, at_s), _state_at(expert_s, expert_states, at_s)),
    )


def _state_at(known_s: Array, states: Array, at_s: Array) -> Array:
    """Return the commanded gripper at times: a row's state is commanded from the row before it on."""
    index = np.searchsorted(known_s, at_s - 1e-9)
    return np.asarray(states[np.minimum(index, len(states) - 1)])
