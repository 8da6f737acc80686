"""Conversion of a policy's action rows to increments."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import T_BASE_LINK_BASE, increments_between, rotation_to_rotvec
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.models.subjects.actions.arms import arm_of
from embodied_iqa.models.subjects.actions.convention import (
    ActionConvention,
    ActionFrame,
    ActionKind,
    GripperForm,
    Motion,
)
from embodied_iqa.models.subjects.actions.rotations import rotations_of
from embodied_iqa.world.protocols import VlaObservation

Array = NDArray[np.float64]

LONGEST_CHUNK: Final = 1000
_LONGEST_STEP_M: Final = 2.0
"""A longer step of a table-top arm means that the convention is wrong."""


def to_increments(
    rows: Array, convention: ActionConvention, T_base_tool: Array, gripper: float, q_rad: Array | None = None
) -> Array:
    """Return the increments of an action chunk.

    Args:
        rows: ``(K, D)``, in the policy's units, with at least the numbers of the convention.
        convention: Convention of the policy.
        T_base_tool: ``(4, 4)``, the tool in the base frame at the decision (m).
        gripper: Gripper state at the decision, for policies that command changes.
        q_rad: Joints in the policy's observation, for policies that command joints; None to compute them.

    Returns:
        ``(K, 7)`` float64, see `ActionChunk`.

    Raises:
        InputError: The rows do not match the convention, or the pose is out of reach.
    """
    values = checked_rows(rows, convention)
    parts = [values[:, k * convention.width : (k + 1) * convention.width] for k in range(convention.arms)]
    candidates = [_increments(part, convention, T_base_tool, gripper, q_rad) for part in parts]
    chosen = max(candidates, key=_movement)
    steps_m = np.linalg.norm(chosen[:, :3], axis=1)
    if len(chosen) and float(steps_m.max()) > _LONGEST_STEP_M:
        raise InputError(
            f"a step of the policy does not fit the convention {convention.name}",
            expected=f"at most {_LONGEST_STEP_M} m",
            got=round(float(steps_m.max()), 3),
        )
    return chosen


def checked_rows(rows: Any, convention: ActionConvention) -> Array:
    """Return rows as ``(K, D)`` float64; a single row may be flat.

    Raises:
        InputError: They are not finite numbers of this shape, or there are none.
    """
    try:
        array = np.asarray(rows)
    except ValueError:
        raise InputError("the policy's actions are not numbers", got="rows of different lengths") from None
    if array.dtype.kind not in "iuf":
        raise InputError("the policy's actions are not numbers", got=str(array.dtype))
    values = np.atleast_2d(array.astype(np.float64))
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if array.shape[:1] == (0,) or values.shape[:1] == (0,):
        raise InputError("the policy gives a chunk of zero steps", got=array.shape)
    if values.ndim != 2 or values.shape[1] < convention.numbers or len(values) > LONGEST_CHUNK:
        raise InputError(
            f"the policy's actions are not {convention.name}",
            expected=f"up to {LONGEST_CHUNK} rows of at least {convention.numbers} numbers",
            got=array.shape,
        )
    if not np.isfinite(values[:, : convention.numbers]).all():
        raise InputError("the policy's actions are not finite")
    return values


def arm_joints(convention: ActionConvention, T_base_tool: Array) -> Array:
    """Return the joints of a policy's own arm with its base and tool where ours are.

    Raises:
        InputError: The pose is out of its reach.
    """
    return arm_of(convention.arm).inverse(T_BASE_LINK_BASE @ T_base_tool)


def joints_seen(convention: ActionConvention, observation: VlaObservation) -> Array | None:
    """Return the joints to show a policy that commands joints: ours where it is for our arm; else None.

    Raises:
        InputError: The pose is out of the reach of its own arm.
    """
    if convention.kind is not ActionKind.JOINTS:
        return None
    if convention.arm == ArmModel.UR5 and observation.q_rad is not None:
        return observation.q_rad
    return arm_joints(convention, observation.T_base_tool)


def joint_targets(rows: Array, convention: ActionConvention, observation: VlaObservation) -> Array | None:
    """Return our arm's joints ``(K, 6)`` after each row; None where a policy does not command those.

    Also None where the joints that it was shown are not the measured ones.
    """
    if convention.arm != ArmModel.UR5 or convention.arms != 1 or observation.q_rad is None:
        return None
    return _joint_angles(rows[:, : convention.joints], convention, observation.q_rad)


def _increments(
    rows: Array, convention: ActionConvention, T_base_tool: Array, gripper: float, q_rad: Array | None
) -> Array:
    if convention.kind is ActionKind.JOINTS:
        q = arm_joints(convention, T_base_tool) if q_rad is None else np.asarray(q_rad, dtype=np.float64)
        angles = _joint_angles(rows[:, :-1], convention, q)
        T = arm_of(convention.arm).forward(np.concatenate([q[None], angles]))
    else:
        is_own = convention.frame is ActionFrame.OWN_BASE
        T = _cartesian_poses(
            rows[:, :-1], convention, T_base_tool if is_own else T_BASE_LINK_BASE @ T_base_tool
        )
    states = _gripper_states(rows[:, -1], convention.gripper, gripper)
    return np.concatenate([increments_between(T), states[:, None]], axis=1)


def _joint_angles(values: Array, convention: ActionConvention, q_rad: Array) -> Array:
    """Return ``(K, N)`` joints after each row (rad)."""
    values_rad: Array = values * convention.joint_scale_rad
    if convention.motion is Motion.DELTA:
        return q_rad + np.cumsum(values_rad, axis=0)
    return q_rad + values_rad if convention.motion is Motion.FROM_START else values_rad


def _cartesian_poses(values: Array, convention: ActionConvention, T_policy_tool: Array) -> Array:
    """Return ``(K + 1, 4, 4)`` in the base of ``T_policy_tool``: REP-103 (x forward, z up), or our own."""
    positions_m = values[:, :3] * convention.position_scale_m
    rotations = rotations_of(values[:, 3:] * _rotation_scale(convention), convention.rotation)
    poses = np.empty((len(values) + 1, 4, 4))
    poses[0] = T = T_policy_tool
    for k, (p, R) in enumerate(zip(positions_m, rotations, strict=True), start=1):
        T = _step(T, p, R, convention)
        poses[k] = T
    return poses


def _rotation_scale(convention: ActionConvention) -> float:
    return convention.rotation_scale_rad if convention.rotation.width == 3 else 1.0


def _step(T: Array, p_m: Array, R: Array, convention: ActionConvention) -> Array:
    after = np.eye(4)
    if convention.motion is Motion.ABSOLUTE:
        after[:3, :3], after[:3, 3] = R, p_m
    elif convention.frame is ActionFrame.TOOL:
        after[:3, :3], after[:3, 3] = T[:3, :3] @ R, T[:3, 3] + T[:3, :3] @ p_m
    else:
        after[:3, :3], after[:3, 3] = R @ T[:3, :3], T[:3, 3] + p_m
    return after


def _gripper_states(values: Array, form: GripperForm, now: float) -> Array:
    states = np.clip((values - form.open_at) / (form.closed_at - form.open_at), 0.0, 1.0)
    if form.keeps_within is None:
        return states
    kept = np.empty_like(states)
    for k, (value, state) in enumerate(zip(values, states, strict=True)):
        if abs(float(value)) > form.keeps_within:
            now = 1.0 if state > 0.5 else 0.0
        kept[k] = now
    return kept


def _movement(increments: Array) -> tuple[float, float]:
    """Return translation (m) and rotation (rad) of the tool, to choose the arm that moves more."""
    turned = np.linalg.norm(increments[:, 3:6], axis=1)
    return float(np.linalg.norm(increments[:, :3], axis=1).sum()), float(turned.sum())


def pose_vector(T_base_tool: Array) -> Array:
    """Return the tool in the policy's base as ``(6,)``: position (m) and rotation vector (rad)."""
    T = T_BASE_LINK_BASE @ T_base_tool
    return np.concatenate([T[:3, 3], rotation_to_rotvec(T[:3, :3])])
