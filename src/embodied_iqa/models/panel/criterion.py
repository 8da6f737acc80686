"""Geometric success criterion of plans, used where physics is too slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.tasks.vocabulary import Kind, Verb

_X, _Z, _YAW, _TILT, _GRIPPER = 0, 3, 3, 4, 5
_LOW_M: Final = 0.115
"""Waypoints below this height touch objects."""
_YAW_RAD: Final = float(np.deg2rad(15.0))
_TILT_RAD: Final = 0.35
_GRIPPER_STATE: Final = 0.2
_ANYWHERE_MM: Final = 50.0

TOLERANCE_MM: Final[dict[Verb, float]] = {
    Verb.COVER: 15.0,
    Verb.INSERT: 18.0,
    Verb.MOVE: 26.0,
    Verb.PICK: 20.0,
    Verb.PLACE: 20.0,
    Verb.POUR: 22.0,
    Verb.PRESS: 30.0,
    Verb.PULL: 24.0,
    Verb.PUSH: 24.0,
    Verb.TWIST: 22.0,
}
"""Tolerated error of the lowest waypoints by verb: about the shift of the expert's plan that still
succeeds in physics (benchmarks/bench_plan_tolerance.py)."""


@dataclass(frozen=True, slots=True)
class PlanError:
    """Differences between a plan and the expert's.

    Attributes:
        position_mm: Mean distance of the waypoints.
        low_mm: Largest distance of the waypoints that touch objects.
        largest_mm: Largest distance.
        yaw_rad: Largest difference of yaw.
        tilt_rad: Largest difference of tilts.
        gripper: Largest difference of gripper states.
        missing: Difference of the numbers of waypoints.
    """

    position_mm: float
    low_mm: float
    largest_mm: float
    yaw_rad: float
    tilt_rad: float
    gripper: float
    missing: int


def plan_error(plan: NDArray[np.float64], expert: NDArray[np.float64]) -> PlanError | None:
    """Compare waypoints ``(K, 6)`` with the expert's; return None if one of the plans is empty."""
    count = min(len(plan), len(expert))
    if count == 0:
        return None
    off = np.abs(plan[:count] - expert[:count])
    distance_mm = 1e3 * np.linalg.norm(off[:, _X:_Z], axis=1)
    low = expert[:count, 2] < _LOW_M
    return PlanError(
        position_mm=float(distance_mm.mean()),
        low_mm=float(distance_mm[low].max(initial=0.0)),
        largest_mm=float(distance_mm.max()),
        yaw_rad=float(off[:, _YAW].max()),
        tilt_rad=float(off[:, _TILT].max()),
        gripper=float(off[:, _GRIPPER].max()),
        missing=abs(len(plan) - len(expert)),
    )


def would_succeed(verb: Verb, kind: Kind, error: PlanError | None) -> bool:
    """Return whether a plan with this error would succeed; an empty plan (None) would not."""
    if error is None or error.missing:
        return False
    near = error.low_mm <= TOLERANCE_MM[verb] and error.largest_mm <= _ANYWHERE_MM
    turned = kind is not Kind.CUBE or verb is Verb.PUSH or error.yaw_rad <= _YAW_RAD
    return near and turned and error.tilt_rad <= _TILT_RAD and error.gripper <= _GRIPPER_STATE
