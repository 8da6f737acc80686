"""State of the simulated world at one instant: the layout of its positions, and how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.dimensions import cell_home_q_rad
from embodied_iqa.world.scenes.scene import Scene, SceneObject
from embodied_iqa.world.tasks.vocabulary import Kind

Array = NDArray[np.float64]

FIXED_KINDS: Final = frozenset({Kind.SOCKET, Kind.MAT, Kind.KNOB, Kind.DRAWER})
"""Fixed to the table: without a free joint."""

_INNER_KINDS: Final = frozenset({Kind.BUTTON, Kind.KNOB, Kind.DRAWER})
"""With a joint of their own: a cap's depth (m), a knob's turn (rad), a drawer's travel (m)."""

_ARM, _FINGERS = 6, 2
FREE: Final = 7
"""Positions of a free body: three of its centre (m), four of its quaternion (w x y z)."""

BEADS: Final = 10
"""Beads in a cup."""
_BEADS_PER_RING: Final = 5
_BEAD_RING_M: Final = 0.0112
_BEAD_STEP_M: Final = 0.0125


@dataclass(frozen=True, slots=True, eq=False)
class WorldSnapshot:
    """Positions only: enough to draw the world again, bit for bit, in another process.

    Attributes:
        time_ns: Simulated time since the reset.
        qpos: float64: six arm joints (rad), two finger positions (m), then for each object: unless it is
            fixed to the table, its centre (m) and quaternion (w x y z); the position of its own joint if
            its kind has one (a cap's depth in m, negative when pressed; a knob's turn in rad; a drawer's
            travel in m); for a cup, centre and quaternion of each bead.
        pressed: Indices of the buttons pressed since the reset.
    """

    time_ns: int
    qpos: Array
    pressed: frozenset[int] = frozenset()


def positions_of(kind: Kind) -> int:
    """Return how many positions an object of this kind has; a cup's beads come after it."""
    beads = BEADS * FREE if kind is Kind.CUP else 0
    return _inner_offset(kind) + (kind in _INNER_KINDS) + beads


def object_address(scene: Scene, index: int) -> int:
    """Return where object ``index`` starts in ``qpos``."""
    return _ARM + _FINGERS + sum(positions_of(item.kind) for item in scene.objects[:index])


def qpos_size(scene: Scene) -> int:
    """Return the length of ``qpos`` for this scene."""
    return object_address(scene, len(scene.objects))


def check_qpos(scene: Scene, snapshot: WorldSnapshot) -> None:
    """Check that a snapshot belongs to a scene.

    Raises:
        InputError: The snapshot belongs to another scene.
    """
    if snapshot.qpos.shape != (qpos_size(scene),):
        raise InputError(
            "the snapshot does not belong to the scene",
            expected=f"{qpos_size(scene)} positions",
            got=snapshot.qpos.shape,
        )


def object_position_m(scene: Scene, snapshot: WorldSnapshot, index: int) -> Array:
    """Return the ``(3,)`` position of the centre of object ``index`` in the base frame."""
    item = scene.objects[index]
    if item.kind in FIXED_KINDS:
        return np.array([item.x_m, item.y_m, item.shape.height_m / 2])
    start = object_address(scene, index)
    return snapshot.qpos[start : start + 3].copy()


def object_yaw_rad(scene: Scene, snapshot: WorldSnapshot, index: int) -> float:
    """Return the yaw of object ``index``."""
    w, x, y, z = _quaternion(scene, snapshot, index)
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def object_axis(scene: Scene, snapshot: WorldSnapshot, index: int) -> Array:
    """Return ``(3,)``, the axis of object ``index`` that points up when it is upright (base frame)."""
    w, x, y, z = _quaternion(scene, snapshot, index)
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def inner_position(scene: Scene, snapshot: WorldSnapshot, index: int) -> float:
    """Return the position of the own joint of object ``index``: a cap, a knob or a drawer (m or rad).

    Raises:
        UsageError: Its kind has no such joint.
    """
    kind = scene.objects[index].kind
    if kind not in _INNER_KINDS:
        raise UsageError(f"a {kind} has no joint", available=sorted(_INNER_KINDS))
    return float(snapshot.qpos[object_address(scene, index) + _inner_offset(kind)])


def bead_positions_m(scene: Scene, snapshot: WorldSnapshot, index: int) -> Array:
    """Return the ``(BEADS, 3)`` centres of the beads that were in cup ``index`` (base frame).

    Raises:
        UsageError: It is not a cup.
    """
    kind = scene.objects[index].kind
    if kind is not Kind.CUP:
        raise UsageError(f"a {kind} has no beads", available=[Kind.CUP])
    start = object_address(scene, index) + FREE
    return snapshot.qpos[start : start + BEADS * FREE].reshape(BEADS, FREE)[:, :3].copy()


def gripper_of(snapshot: WorldSnapshot) -> float:
    """Return the gripper's measured state in [0, 1]: 0 open, 1 closed."""
    opening_m = float(snapshot.qpos[_ARM : _ARM + _FINGERS].sum())
    return float(np.clip(1.0 - opening_m / STROKE_M, 0.0, 1.0))


def nominal_snapshot(
    scene: Scene, q_rad: Sequence[float] | None = None, gripper: float = 0.0
) -> WorldSnapshot:
    """Return a scene's state as drawn, without physics: objects settle by less than a millimetre.

    Args:
        scene: What is on the table.
        q_rad: The arm's six joints; None for those at home.
        gripper: State of the gripper in [0, 1].
    """
    finger_m = (1.0 - gripper) * STROKE_M / 2
    joints_rad = cell_home_q_rad(scene.arm) if q_rad is None else q_rad
    parts: list[Array] = [np.array([*joints_rad, finger_m, finger_m])]
    for item in scene.objects:
        if item.kind not in FIXED_KINDS:
            parts.append(nominal_pose(item))
        if item.kind in _INNER_KINDS:
            parts.append(np.zeros(1))
        if item.kind is Kind.CUP:
            parts += [np.array([*place, 1.0, 0.0, 0.0, 0.0]) for place in beads_at_rest_m(item)]
    return WorldSnapshot(0, np.concatenate(parts))


def nominal_pose(item: SceneObject) -> Array:
    """Return ``(7,)``, centre (m) and quaternion (w x y z) of an object on the table."""
    half_rad = item.yaw_rad / 2
    height_m = item.shape.height_m / 2
    return np.array([item.x_m, item.y_m, height_m, np.cos(half_rad), 0.0, 0.0, np.sin(half_rad)])


def beads_at_rest_m(cup: SceneObject) -> list[tuple[float, float, float]]:
    """Return where the beads of a cup start: in rings above each other."""
    centres = []
    for bead in range(BEADS):
        ring, place = divmod(bead, _BEADS_PER_RING)
        turn = 2 * np.pi * (place + 0.5 * (ring % 2)) / _BEADS_PER_RING
        across_x, across_y = _BEAD_RING_M * float(np.cos(turn)), _BEAD_RING_M * float(np.sin(turn))
        centres.append((cup.x_m + across_x, cup.y_m + across_y, _BEAD_STEP_M * (1 + ring)))
    return centres


def _inner_offset(kind: Kind) -> int:
    return 0 if kind in FIXED_KINDS else FREE


def _quaternion(scene: Scene, snapshot: WorldSnapshot, index: int) -> tuple[float, float, float, float]:
    item = scene.objects[index]
    if item.kind in FIXED_KINDS:
        return float(np.cos(item.yaw_rad / 2)), 0.0, 0.0, float(np.sin(item.yaw_rad / 2))
    start = object_address(scene, index) + 3
    w, x, y, z = snapshot.qpos[start : start + 4].tolist()
    return w, x, y, z
