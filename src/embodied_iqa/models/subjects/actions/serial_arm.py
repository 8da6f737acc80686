"""Forward and inverse kinematics of any serial arm, for policies that command the joints of another arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import rotation_to_rotvec, rotvec_to_rotation

Array = NDArray[np.float64]

_ITERATIONS = 100
_DAMPING = 1e-3
_LONGEST_STEP_RAD = 0.5
_CLOSE = 1e-7
_SEEDS = 12


@dataclass(frozen=True, slots=True, eq=False)
class SerialArm:
    """A chain of revolute joints: ``T_base_tool = prod_i (T_i Rot(axis_i, q_i)) T_end``.

    Attributes:
        name: Of the arm.
        T_links: ``(N, 4, 4)`` float64, from the frame after the previous joint to this joint (m).
        axes: ``(N, 3)`` float64, unit axes in that frame.
        T_end: ``(4, 4)``, the tool centre point after the last joint (m); z points out of the gripper.
        q_min_rad: ``(N,)``.
        q_max_rad: ``(N,)``.
        q_home_rad: ``(N,)``, start of the policy's demonstrations.
    """

    name: str
    T_links: Array
    axes: Array
    T_end: Array
    q_min_rad: Array
    q_max_rad: Array
    q_home_rad: Array

    def forward(self, q_rad: Array) -> Array:
        """Return ``T_base_tool``: ``(..., N) -> (..., 4, 4)``."""
        q = np.asarray(q_rad, dtype=np.float64)
        if q.shape[-1] != len(self.axes):
            raise UsageError(f"wrong joints of {self.name}", expected=f"{len(self.axes)}", got=q.shape[-1])
        T = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for turned in np.moveaxis(self._turned(q), -3, 0):
            T = T @ turned
        tool: Array = T @ self.T_end
        return tool

    def inverse(self, T_base_tool: Array) -> Array:
        """Return joints ``(N,)`` (rad) that reach a pose.

        Damped least squares (Nakamura and Hanafusa 1986) within the limits, started at the home position and
        then at seeded random joints: the same pose always gives the same joints.

        Raises:
            InputError: The pose is out of the arm's reach.
        """
        random = np.random.default_rng(0)
        starts = random.uniform(self.q_min_rad, self.q_max_rad, (_SEEDS, len(self.axes)))
        for start in (self.q_home_rad, *starts):
            q = self._descend(start, T_base_tool)
            if q is not None:
                return q
        raise InputError(
            f"the tool is out of reach of {self.name}, the policy's own arm",
            got=[round(float(value), 3) for value in T_base_tool[:3, 3]],
        )

    def _descend(self, start: Array, T_goal: Array) -> Array | None:
        q = start.copy()
        for _ in range(_ITERATIONS):
            J, T = self._jacobian(q)
            error = np.concatenate(
                [T_goal[:3, 3] - T[:3, 3], rotation_to_rotvec(T_goal[:3, :3] @ T[:3, :3].T)]
            )
            if float(np.linalg.norm(error)) < _CLOSE:
                return q
            damping = _DAMPING * float(np.linalg.norm(error)) * np.eye(6)
            step = J.T @ np.linalg.solve(J @ J.T + damping, error)
            longest = float(np.abs(step).max())
            q = np.clip(q + step * min(1.0, _LONGEST_STEP_RAD / longest), self.q_min_rad, self.q_max_rad)
        return None

    def _jacobian(self, q: Array) -> tuple[Array, Array]:
        """Return ``(6, N)`` in base axes, and ``T_base_tool``."""
        T = np.eye(4)
        axes, points = [], []
        for link, turned, axis in zip(self.T_links, self._turned(q), self.axes, strict=True):
            before = T @ link
            axes.append(before[:3, :3] @ axis)
            points.append(before[:3, 3])
            T = T @ turned
        T = T @ self.T_end
        directions = np.array(axes)
        linear = np.cross(directions, T[:3, 3] - np.array(points))
        return np.concatenate([linear, directions], axis=1).T, T

    def _turned(self, q: Array) -> Array:
        """Return each joint's ``T_i Rot(axis_i, q_i)``: ``(..., N) -> (..., N, 4, 4)``."""
        turn = np.zeros((*q.shape, 4, 4))
        turn[..., :3, :3] = rotvec_to_rotation(q[..., None] * self.axes)
        turn[..., 3, 3] = 1.0
        product: Array = self.T_links @ turn
        return product
