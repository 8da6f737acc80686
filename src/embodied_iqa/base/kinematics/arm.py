"""Forward and inverse kinematics and Jacobian of a UR arm with a tool."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import UR5, UrGeometry
from embodied_iqa.base.kinematics.inverse import InverseBatch, InverseResult, Reach
from embodied_iqa.base.kinematics.se3 import invert
from embodied_iqa.base.kinematics.singularity import SingularityMargins, smallest_margins
from embodied_iqa.base.lazy import load

Array = NDArray[np.float64]


_kernels = functools.cache(functools.partial(load, "embodied_iqa.base.kinematics.kernels"))
"""Returns the compiled kernels; imported at the first computation because numba loads slowly."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Kinematics of a UR arm with a tool: ``T_base_tool = T_base_flange T_flange_tool``.

    Poses are in the controller's ``base`` frame (m); configurations are joint angles (rad). A single
    configuration or pose gives a single result; a batch of N gives a batch.

    Attributes:
        T_flange_tool: ``(4, 4)``, the tool centre point in the flange frame (m); identity by default.
        geometry: The arm's lengths.
    """

    T_flange_tool: Array = field(default_factory=functools.partial(np.eye, 4))
    geometry: UrGeometry = UR5
    _T_tool_flange: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        T = np.array(self.T_flange_tool, dtype=np.float64, order="C")
        if T.shape != (4, 4) or not np.isfinite(T).all():
            raise UsageError("wrong tool transform", expected="(4, 4), finite", got=T.tolist())
        if not np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-9) or np.linalg.det(T[:3, :3]) < 0.0:
            raise UsageError("the tool transform is not a rigid motion", got=T.tolist())
        object.__setattr__(self, "T_flange_tool", T)
        object.__setattr__(self, "_T_tool_flange", invert(T))

    def forward(self, q_rad: ArrayLike) -> Array:
        """Return ``T_base_tool``: ``(6,) -> (4, 4)``, ``(N, 6) -> (N, 4, 4)``."""
        q = _configurations(q_rad)
        kernel = _kernels().forward_one if q.ndim == 1 else _kernels().forward
        T_base_tool: Array = kernel(q, self.geometry.table, self.T_flange_tool)
        return T_base_tool

    def link_frames(self, q_rad: ArrayLike) -> Array:
        """Return frames 0 (base) to 6 (flange): ``(6,) -> (7, 4, 4)``, ``(N, 6) -> (N, 7, 4, 4)``."""
        q = _configurations(q_rad)
        frames: Array = _kernels().link_frames(q.reshape(-1, 6), self.geometry.table)
        return frames[0] if q.ndim == 1 else frames

    def jacobian(self, q_rad: ArrayLike) -> Array:
        """Return the geometric Jacobian: ``(6,) -> (6, 6)``, ``(N, 6) -> (N, 6, 6)``.

        ``J qd = (v, w)``: velocity of the tool centre point (m/s), angular velocity (rad/s), in base axes.
        """
        q = _configurations(q_rad)
        J: Array = _kernels().jacobian(q.reshape(-1, 6), self.geometry.table, self.T_flange_tool)
        return J[0] if q.ndim == 1 else J

    def inverse(self, T_base_tool: ArrayLike, q6_hold_rad: float = 0.0) -> InverseResult:
        """Return every solution of one pose in closed form (Hawkins 2013, "Analytic inverse kinematics").

        Args:
            T_base_tool: ``(4, 4)``. An unreachable or non-finite pose gives an empty result with the reason.
            q6_hold_rad: Theta6 to use if the wrist is singular and theta6 is free: pass the current angle.
        """
        T = np.ascontiguousarray(T_base_tool, dtype=np.float64)
        if T.shape != (4, 4):
            raise UsageError("wrong shape of a pose", expected="(4, 4)", got=T.shape)
        if not math.isfinite(q6_hold_rad):
            raise UsageError("wrong theta6 to hold", expected="a finite angle", got=q6_hold_rad)
        q, branches, status = _kernels().inverse_one(
            T, self.geometry.table, self._T_tool_flange, float(q6_hold_rad)
        )
        return InverseResult(q, branches, Reach(status))

    def inverse_batch(self, T_base_tool: ArrayLike, q6_hold_rad: ArrayLike = 0.0) -> InverseBatch:
        """Return every solution of N poses: ``(N, 4, 4) -> (N, 8, 6)`` with a mask.

        Args:
            T_base_tool: ``(N, 4, 4)``.
            q6_hold_rad: A number or ``(N,)``, see `inverse`.
        """
        T = np.ascontiguousarray(T_base_tool, dtype=np.float64)
        if T.ndim != 3 or T.shape[1:] != (4, 4):
            raise UsageError("wrong shape of poses", expected="(N, 4, 4)", got=T.shape)
        hold = np.ascontiguousarray(np.broadcast_to(np.asarray(q6_hold_rad, dtype=np.float64), T.shape[:1]))
        if not np.isfinite(hold).all():
            raise UsageError("wrong theta6 to hold", expected="finite angles")
        return InverseBatch(*_kernels().inverse(T, self.geometry.table, self._T_tool_flange, hold))

    def singularity_margins(self, q_rad: ArrayLike) -> SingularityMargins:
        """Return the distance of one configuration ``(6,)`` from each singularity."""
        q = _configurations(q_rad)
        if q.ndim != 1:
            raise UsageError("wrong shape of a configuration", expected="(6,)", got=q.shape)
        return smallest_margins(q[None], self.geometry)

    def smallest_margins(self, q_rad: ArrayLike) -> SingularityMargins:
        """Return the smallest distance of configurations ``(N, 6)`` from each singularity."""
        return smallest_margins(_configurations(q_rad).reshape(-1, 6), self.geometry)


def _configurations(q_rad: ArrayLike) -> Array:
    q = np.ascontiguousarray(q_rad, dtype=np.float64)
    if q.shape[-1:] != (6,) or q.ndim > 2:
        raise UsageError("wrong shape of configurations", expected="(6,) or (N, 6)", got=q.shape)
    if not np.isfinite(q).all():
        raise UsageError("wrong configuration", expected="finite angles", got=q.tolist())
    return q
