"""Scores of a VLA: the distance of its poses from an expert's, step by step (StaticEmbodiedBench-VLA).

Source: arXiv 2508.06553. The paper does not say whether errors are averaged before or after the logarithm,
nor how differences of angles are taken; each choice is an enum here, and results state theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.actions.rotations import euler_xyz_to_rotation

Array = NDArray[np.float64]

POSE: Final = 7
"""Numbers of a step: x, y, z (base frame, m), roll, pitch, yaw about fixed axes (rad), gripper in [0, 1]."""
_DECADES: Final = 3.0
_DEGREES_OF_FREEDOM: Final = (3, 3, 1)


class Order(StrEnum):
    """Order of the mean over steps and the logarithm."""

    MEAN_FIRST = "mean-first"
    """Mean of the errors, then points of the mean."""
    LOG_FIRST = "log-first"
    """Points of each step, then their mean."""


class AngleError(StrEnum):
    """How the error of an orientation is taken."""

    WRAPPED = "wrapped"
    """Euclidean norm of the differences of roll, pitch and yaw, each in (-pi, pi]."""
    GEODESIC = "geodesic"
    """Angle of the rotation from one orientation to the other, in [0, pi]."""


@dataclass(frozen=True, slots=True, eq=False)
class StepErrors:
    """Errors of ``n`` steps; lower is better.

    Attributes:
        position_m: ``(n,)`` distance of the tool centre points.
        wrapped_rad: ``(n,)`` error of the orientation, `AngleError.WRAPPED`.
        geodesic_rad: ``(n,)`` error of the orientation, `AngleError.GEODESIC`.
        gripper: ``(n,)`` difference of the gripper states.
    """

    position_m: Array
    wrapped_rad: Array
    geodesic_rad: Array
    gripper: Array


@dataclass(frozen=True, slots=True)
class VlaScore:
    """Score of a task or mean of several; every number in [0, 100], higher is better.

    Attributes:
        position: Points of the position.
        orientation: Points of the orientation.
        end_effector: Points of the gripper.
    """

    position: float
    orientation: float
    end_effector: float

    @property
    def overall(self) -> float:
        """The three parts weighted by degrees of freedom, ``(3 p + 3 o + e) / 7``."""
        return overall(self.position, self.orientation, self.end_effector)


def overall(position: float, orientation: float, end_effector: float) -> float:
    """Return the weighted mean of the parts by degrees of freedom: 3, 3 and 1 of 7."""
    parts = (position, orientation, end_effector)
    weighted = sum(weight * part for weight, part in zip(_DEGREES_OF_FREEDOM, parts, strict=True))
    return weighted / sum(_DEGREES_OF_FREEDOM)


def points(error: ArrayLike) -> Array:
    """Return ``100 clip(-log10(e) / 3, 0, 1)``: 100 for 0.001 or less (also 0), 0 for 1 or more.

    Args:
        error: In m, rad or as a part of the gripper's stroke; 0 or more.

    Raises:
        InputError: An error is negative, NaN or infinite.
    """
    values = np.asarray(error, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise InputError("an error of a step is not a number", expected="finite, 0 or more")
    least = 10.0**-_DECADES
    return np.asarray(100.0 * np.clip(-np.log10(np.maximum(values, least)) / _DECADES, 0.0, 1.0) + 0.0)


def wrap_angle_rad(angle_rad: ArrayLike) -> Array:
    """Return angles in (-pi, pi]."""
    turned = np.pi - np.asarray(angle_rad, dtype=np.float64)
    return np.asarray(np.pi - np.mod(turned, 2.0 * np.pi))


def step_errors(poses: ArrayLike, expert: ArrayLike) -> StepErrors:
    """Hold poses against an expert's, row by row.

    Args:
        poses: ``(n, 7)`` as in `POSE`, in the base frame.
        expert: ``(n, 7)``, likewise.

    Raises:
        UsageError: Other shapes, or no rows.
        InputError: A number is not finite.
    """
    own, other = (np.asarray(rows, dtype=np.float64) for rows in (poses, expert))
    if own.shape != other.shape or own.ndim != 2 or own.shape[1] != POSE or not len(own):
        raise UsageError("wrong poses", expected="(n, 7) twice, n of 1 or more", got=(own.shape, other.shape))
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        raise InputError("a pose has a number that is not finite", expected="7 finite numbers a step")
    turned = wrap_angle_rad(own[:, 3:6] - other[:, 3:6])
    return StepErrors(
        np.linalg.norm(own[:, :3] - other[:, :3], axis=1),
        np.linalg.norm(turned, axis=1),
        geodesic_rad(own[:, 3:6], other[:, 3:6]),
        np.abs(own[:, 6] - other[:, 6]),
    )


def geodesic_rad(first_rad: ArrayLike, second_rad: ArrayLike) -> Array:
    """Return the angle ``(n,)`` of the rotation between ``(n, 3)`` roll, pitch, yaw, in [0, pi].

    From the Frobenius distance of the matrices, ``2 asin(|A - B| / sqrt 8)``: exact near 0, where the
    arccosine of the trace is not.
    """
    first, second = (
        euler_xyz_to_rotation(np.asarray(rows, dtype=np.float64)) for rows in (first_rad, second_rad)
    )
    chord = np.linalg.norm(first - second, axis=(-2, -1)) / np.sqrt(8.0)
    return np.asarray(2.0 * np.arcsin(np.clip(chord, 0.0, 1.0)))


def task_score(errors: StepErrors, order: Order, angles: AngleError) -> VlaScore:
    """Return the score of one task from the errors of its steps."""
    turned = errors.wrapped_rad if angles is AngleError.WRAPPED else errors.geodesic_rad
    parts = (errors.position_m, turned, errors.gripper)
    if order is Order.MEAN_FIRST:
        return VlaScore(*(float(points(part.mean())) for part in parts))
    return VlaScore(*(float(points(part).mean()) for part in parts))
