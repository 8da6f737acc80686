"""The state of the world at one instant, and how to read it without the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError
from embodied_iqa.simulation.dimensions import STROKE_M
from embodied_iqa.simulation.scene import Scene
from embodied_iqa.subjects.instruction import Kind

__all__ = [
    "WorldSnapshot",
    "cap_depth_m",
    "check_qpos",
    "gripper_of",
    "object_address",
    "object_position_m",
    "object_yaw_rad",
    "qpos_size",
]

_ARM, _FINGERS, _FREE = 6, 2, 7


@dataclass(frozen=True, slots=True, eq=False)
class WorldSnapshot:
    """Positions only: enough to draw the world again, bit for bit, in another process.

    Attributes:
        time_ns: Simulated time since the reset.
        qpos: float64: six arm joints (rad), two finger positions (m), then for each object its centre (m),
            its quaternion (w x y z) and, for a button, its cap's depth (m, negative when pressed).
        pressed: Indices of the buttons that were pressed since the reset.
    """

    time_ns: int
    qpos: NDArray[np.float64]
    pressed: frozenset[int] = frozenset()


def object_address(scene: Scene, index: int) -> int:
    """Return where object ``index`` begins in ``qpos``."""
    before = scene.objects[:index]
    return _ARM + _FINGERS + sum(_FREE + (item.kind is Kind.BUTTON) for item in before)


def qpos_size(scene: Scene) -> int:
    """Return the length of ``qpos`` for this scene."""
    return object_address(scene, len(scene.objects))


def check_qpos(scene: Scene, snapshot: WorldSnapshot) -> None:
    """Hold a snapshot against the scene that it is said to belong to.

    Raises:
        InputError: The snapshot belongs to another scene.
    """
    if snapshot.qpos.shape != (qpos_size(scene),):
        raise InputError(
            "the snapshot does not belong to the scene",
            expected=f"{qpos_size(scene)} positions",
            got=snapshot.qpos.shape,
        )


def object_position_m(scene: Scene, snapshot: WorldSnapshot, index: int) -> NDArray[np.float64]:
    """Return the ``(3,)`` position of the centre of object ``index`` in the base frame."""
    start = object_address(scene, index)
    return snapshot.qpos[start : start + 3].copy()


def object_yaw_rad(scene: Scene, snapshot: WorldSnapshot, index: int) -> float:
    """Return the turn of object ``index`` about the vertical."""
    start = object_address(scene, index) + 3
    w, x, y, z = snapshot.qpos[start : start + 4]
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def cap_depth_m(scene: Scene, snapshot: WorldSnapshot, index: int) -> float:
    """Return how far the cap of button ``index`` is below its rest."""
    return -float(snapshot.qpos[object_address(scene, index) + _FREE])


def gripper_of(snapshot: WorldSnapshot) -> float:
    """Return the gripper's measured state in [0, 1]: 0 open, 1 closed."""
    opening_m = float(snapshot.qpos[_ARM : _ARM + _FINGERS].sum())
    return float(np.clip(1.0 - opening_m / STROKE_M, 0.0, 1.0))
