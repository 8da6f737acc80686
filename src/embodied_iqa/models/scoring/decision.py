"""Decision score: agreement of a VLA's actions on the distorted and the reference image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import chain_increments, rotation_to_rotvec

Array = NDArray[np.float64]

DECISION_RECIPE: Final = (
    "poses after the whole chunk, increments chained from the same start; position 1 - clip(d / d_max), "
    "d_max the 95th percentile of distances between random pairs of the subject's reference actions; "
    "rotation (1 + cos) / 2 of the rotation vectors, the opposite one too near half a turn, below 0.001 rad "
    "no direction; state 1 - |dg|; score = mean of the three"
)
"""Choices that the paper leaves open, stated in every result file."""

_STILL_RAD: Final = 1e-3
_SCALE_PERCENTILE: Final = 95.0


@dataclass(frozen=True, slots=True)
class StepError:
    """Difference of two chunks after the same number of increments; a finished chunk stays where it is.

    Attributes:
        position_mm: Distance of the points reached.
        rotation_rad: Angle between the orientations reached, in [0, pi].
        state: Absolute difference of the gripper states, in [0, 1].
    """

    position_mm: float
    rotation_rad: float
    state: float


@dataclass(frozen=True, slots=True)
class DecisionScore:
    """The score of one task; higher is better.

    Attributes:
        position: In [0, 1].
        rotation: In [0, 1].
        state: In [0, 1].
        score: The mean of the three.
        position_error_mm: Distance of the points reached after the whole chunk.
        steps: The errors after every increment, as many as the longer chunk has.
    """

    position: float
    rotation: float
    state: float
    score: float
    position_error_mm: float
    steps: tuple[StepError, ...]


@dataclass(frozen=True, slots=True)
class _Poses:
    """Poses of the tool after 0, 1, ... N increments of chunks, in the frame of the tool at the start.

    Attributes:
        T_start_tool: ``(chunks, N + 1, 4, 4)``, in m.
        grippers: ``(chunks, N + 1)``, in [0, 1].
    """

    T_start_tool: Array
    grippers: Array


def score_decision(
    increments: Array,
    reference_increments: Array,
    d_max_m: float,
    *,
    gripper: float = 0.0,
) -> DecisionScore:
    """Score a VLA's chunk on the distorted image against its own on the reference image.

    An empty chunk (the subject sees no target, or has finished) moves neither the tool nor the gripper.

    Args:
        increments: ``(K, 7)`` rows ``(x, y, z, rx, ry, rz, g)`` in m, rad and [0, 1], as in ``ActionChunk``.
        reference_increments: ``(L, 7)``, on the reference image, from the same subject for the same task.
        d_max_m: The distance that scores 0, above 0; see :func:`position_scale_m`.
        gripper: State of the gripper before the chunk, in [0, 1].

    Raises:
        InputError: A chunk has a wrong shape or a number that is not finite.
        UsageError: ``d_max_m`` is not above 0.
    """
    (score,) = score_decisions([increments], reference_increments, d_max_m, gripper=gripper)
    return score


def score_decisions(
    chunks: Sequence[Array],
    reference_increments: Array,
    d_max_m: float,
    *,
    gripper: float = 0.0,
) -> list[DecisionScore]:
    """Score chunks on several distorted images of one reference; each as `score_decision`, in less time.

    Args:
        chunks: Each ``(K, 7)``, of any length.
        reference_increments: See `score_decision`.
        d_max_m: See `score_decision`.
        gripper: See `score_decision`.

    Raises:
        InputError: A chunk has a wrong shape or a number that is not finite.
        UsageError: ``d_max_m`` is not above 0.
    """
    if not (np.isfinite(d_max_m) and d_max_m > 0):
        raise UsageError("the position scale d_max_m is wrong", expected="a length above 0 m", got=d_max_m)
    poses = _poses([*chunks, reference_increments], gripper)
    distances_m, states = _distances(poses)
    turns_rad, last_rad = _rotvecs(poses)
    angles_rad = np.linalg.norm(turns_rad, axis=-1)
    scores: list[DecisionScore] = []
    for index, chunk in enumerate(chunks):
        position = 1.0 - min(1.0, float(distances_m[index, -1]) / d_max_m)
        rotation = _direction_agreement(last_rad[index], last_rad[-1])
        state = 1.0 - float(states[index, -1])
        end = 1 + max(len(chunk), len(reference_increments))
        errors = ((1e3 * distances_m[index]).tolist(), angles_rad[index].tolist(), states[index].tolist())
        steps = tuple(StepError(*error) for error in zip(*(column[1:end] for column in errors), strict=True))
        score = (position + rotation + state) / 3
        error_mm = 1e3 * float(distances_m[index, -1])
        scores.append(DecisionScore(position, rotation, state, score, error_mm, steps))
    return scores


def is_still(increments: Array) -> bool:
    """Return whether a chunk turns the tool by less than 0.001 rad: too little for a direction.

    Args:
        increments: ``(K, 7)`` finite numbers, see `score_decision`.
    """
    end_rad = rotation_to_rotvec(_poses([increments], 0.0).T_start_tool[0, -1, :3, :3])
    return bool(np.linalg.norm(end_rad) < _STILL_RAD)


def position_scale_m(chunks: Sequence[Array], *, seed: int = 0, n_pairs: int = 10_000) -> float:
    """Measure ``d_max_m``: 95th percentile of the distances between the end points of random pairs of chunks.

    Args:
        chunks: The subject's own actions on reference images, each ``(K, 7)``; at least two.
        seed: Seed of the pairs.
        n_pairs: Number of pairs of two different chunks.

    Returns:
        In m, above 0.

    Raises:
        InputError: There are fewer than two chunks, or all reach the same point.
    """
    if len(chunks) < 2:
        raise InputError("too few reference actions for a scale", expected="at least 2", got=len(chunks))
    points_m = np.stack([_poses([chunk], 0.0).T_start_tool[0, -1, :3, 3] for chunk in chunks])
    generator = np.random.default_rng(seed)
    first = generator.integers(len(chunks), size=n_pairs)
    second = (first + generator.integers(1, len(chunks), size=n_pairs)) % len(chunks)
    distances_m = np.linalg.norm(points_m[first] - points_m[second], axis=1)
    scale_m = float(np.percentile(distances_m, _SCALE_PERCENTILE))
    if scale_m <= 0.0:
        raise InputError(
            "the reference actions all reach the same point: such a policy has no decision score",
            expected="different actions",
        )
    return scale_m


def _distances(poses: _Poses) -> tuple[Array, Array]:
    """Return distances (m) from the last chunk and differences of the gripper's state."""
    offsets_m = poses.T_start_tool[:-1, :, :3, 3] - poses.T_start_tool[-1, :, :3, 3]
    states = np.minimum(1.0, np.abs(poses.grippers[:-1] - poses.grippers[-1]))
    return np.linalg.norm(offsets_m, axis=-1), states


def _rotvecs(poses: _Poses) -> tuple[Array, Array]:
    """Return rotation vectors (rad) from the last chunk to each other at every step, and of all ends.

    In one call: its overhead exceeds its arithmetic.
    """
    R = poses.T_start_tool[..., :3, :3]
    turns = R[-1].transpose(0, 2, 1) @ R[:-1]
    rotvecs = rotation_to_rotvec(np.concatenate([turns.reshape(-1, 3, 3), R[:, -1]]))
    return rotvecs[: -len(R)].reshape(*turns.shape[:2], 3), rotvecs[-len(R) :]


def _poses(chunks: Sequence[Array], gripper: float) -> _Poses:
    """Chain ``T = dT_1 ... dT_k`` from the identity; the tool stays there until the longest chunk ends."""
    for chunk in chunks:
        if chunk.ndim != 2 or chunk.shape[1] != 7 or not np.isfinite(chunk).all():
            raise InputError("wrong action chunk", expected="(K, 7) finite numbers", got=chunk.shape)
    n_steps = max(map(len, chunks))
    increments = np.zeros((len(chunks), n_steps, 7))
    grippers = np.full((len(chunks), n_steps + 1), float(gripper))
    for row, states, chunk in zip(increments, grippers, chunks, strict=True):
        row[: len(chunk)] = chunk
        states[1 : len(chunk) + 1] = chunk[:, 6]
        states[len(chunk) + 1 :] = states[len(chunk)]
    start = np.broadcast_to(np.eye(4), (len(chunks), 1, 4, 4))
    return _Poses(np.concatenate([start, chain_increments(np.eye(4), increments)], axis=1), grippers)


def _direction_agreement(rotvec_rad: Array, reference_rad: Array) -> float:
    """``(1 + cos) / 2`` of two rotation vectors; 1 if neither turns noticeably, 0.5 if only one does.

    A turn just beyond half a turn has the opposite vector of one just below it. The opposite direction
    therefore counts too, the more the closer one of the two is to half a turn, and not at all where together
    they are less than half a turn: without a jump, and the same for both vectors of half a turn.
    """
    if np.array_equal(rotvec_rad, reference_rad):
        return 1.0
    norms = np.linalg.norm(rotvec_rad), np.linalg.norm(reference_rad)
    still = [bool(norm < _STILL_RAD) for norm in norms]
    if all(still):
        return 1.0
    if any(still):
        return 0.5
    cosine = min(1.0, max(-1.0, float(rotvec_rad @ reference_rad / (norms[0] * norms[1]))))
    if cosine >= 0.0:
        return (1.0 + cosine) / 2
    around = min(1.0, max(0.0, float((sum(norms) - np.pi) / min(norms))))
    return max((1.0 + cosine) / 2, (1.0 - cosine) / 2 * around)
