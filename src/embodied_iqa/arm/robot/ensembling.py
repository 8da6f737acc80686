"""Temporal ensembling: each step of a chunk is averaged with what earlier chunks predicted for its time.

After ACT (Zhao et al. 2023, arXiv:2304.13705, Algorithm 2): prediction i of one time, the oldest first, has
the weight ``exp(-decay i)``. Here predictions are poses of the tool in the base, tied to times. Positions
are averaged; of rotations, the unit quaternions on one side of the newest, which for predictions near each
other is their mean (Markley et al. 2007, Averaging Quaternions). The gripper takes the weighted median: the
average of open and closed is no state that any of them meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from embodied_iqa.arm.robot.path import continuous_quaternions
from embodied_iqa.arm.robot.timing import joining_kernels
from embodied_iqa.base.kinematics import increments_between
from embodied_iqa.base.units import SECOND_NS

Array = NDArray[np.float64]

_OF_TOOL: Final = 7
_BEGINS: Final = 1e-6
"""In steps: a chunk predicts nothing before, as where the arm began it late, after the newer one's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """A chunk as the policy predicted it.

    Attributes:
        begin_ns: When its first step begins; step k ends k periods later.
        points: ``(K + 1, 7)``, position (m) and unit quaternion of the tool there and after each step; or
            ``(K + 1, 6)``, joints (rad), of a policy that commands joints.
        gripper: ``(K,)``, after each step.
    """

    begin_ns: int
    points: Array
    gripper: Array

    @classmethod
    def of(cls, increments: Array, T_base_tool: Array, begin_ns: int) -> Predicted:
        """Return what increments ``(K, 7)`` predict from a pose of the tool ``(4, 4)``."""
        poses = joining_kernels().chained(T_base_tool, increments)
        turns = continuous_quaternions(Rotation.from_matrix(poses[:, :3, :3]).as_quat())
        return cls(begin_ns, np.hstack([poses[:, :3, 3], turns]), increments[:, 6])

    def steps_at(self, other: Predicted, period_s: float) -> Array:
        """Return ``(K,)``: the ends of another one's steps, in steps of this one."""
        ahead = (other.begin_ns - self.begin_ns) / SECOND_NS / period_s
        steps: Array = ahead + np.arange(1.0, len(other.points))
        return steps

    def reaches(self, other: Predicted, period_s: float) -> bool:
        """Whether it predicts something about a later one's steps."""
        is_alike = self.points.shape[1] == other.points.shape[1]
        return is_alike and bool(self.steps_at(other, period_s)[0] <= len(self.gripper))


def ensembled(
    new: Predicted, past: tuple[Predicted, ...], period_s: float, decay: float
) -> tuple[Array, Array]:
    """Return points and gripper, as of `Predicted`, of the newest prediction averaged with earlier ones.

    Args:
        new: The newest prediction.
        past: Earlier ones, the oldest first.
        period_s: Between two steps.
        decay: Of the weights, from one prediction of a time to the next newer one.
    """
    count = len(new.gripper)
    points = np.full((len(past) + 1, *new.points[1:].shape), np.nan)
    gripper = np.zeros((len(past) + 1, count))
    for row, earlier in zip(range(len(past)), past, strict=True):
        at = earlier.steps_at(new, period_s)
        known = (at > _BEGINS) & (at <= len(earlier.gripper))
        points[row, known] = _between(earlier.points, at[known])
        gripper[row, known] = earlier.gripper[np.ceil(at[known] - _BEGINS).astype(np.intp) - 1]
    points[-1], gripper[-1] = new.points[1:], new.gripper
    known = np.isfinite(points[..., 0])
    age = np.cumsum(known, axis=0) - 1
    weights = np.where(known, np.exp(-decay * age), 0.0)
    weights /= weights.sum(axis=0)
    mean = _mean(np.nan_to_num(points), weights)
    return np.concatenate([new.points[:1], mean]), _median(gripper, weights)


def increments_of(points: Array, gripper: Array) -> Array:
    """Return the increments ``(K, 7)`` along points of the tool ``(K + 1, 7)``."""
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = Rotation.from_quat(points[:, 3:]).as_matrix(), points[:, :3]
    return np.hstack([increments_between(poses), gripper[:, None]])


def _between(points: Array, at: Array) -> Array:
    """Return points between neighbours, linear in position or joints and, normalised, in the quaternion."""
    low = np.minimum(at.astype(np.intp), len(points) - 2)
    share = (at - low)[:, None]
    found: Array = (1.0 - share) * points[low] + share * points[low + 1]
    if found.shape[1] == _OF_TOOL:
        found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return found


def _mean(points: Array, weights: Array) -> Array:
    """Return the mean over the first axis, whose last row is the newest."""
    if points.shape[2] == _OF_TOOL:
        same_side = np.einsum("nki,ki->nk", points[..., 3:], points[-1, :, 3:]) >= 0.0
        points[..., 3:] *= np.where(same_side, 1.0, -1.0)[..., None]
    mean: Array = np.einsum("nk,nki->ki", weights, points)
    return mean


def _median(values: Array, weights: Array) -> Array:
    """Return ``(K,)``: the weighted median over the first axis; where two halves are equal, the lower one."""
    order = np.argsort(values, axis=0, kind="stable")
    below = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    middle = np.argmax(below >= 0.5 - 1e-12, axis=0)
    place = np.take_along_axis(order, middle[None], axis=0)
    median: Array = np.take_along_axis(values, place, axis=0)[0]
    return median
