"""What a task's success is judged from: where its objects were and are, and where the gripper is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import Kinematics
from embodied_iqa.manipulation.object_shapes import SHAPES
from embodied_iqa.scenes.dimensions import STROKE_M, TABLE_X_M, TABLE_Y_M, T_flange_tool
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.snapshot import (
    WorldSnapshot,
    gripper_of,
    object_axis,
    object_position_m,
    object_yaw_rad,
)
from embodied_iqa.tasks.instruction import Kind

__all__ = ["Outcome", "bring_out", "released", "turned_square", "upright"]

Array = NDArray[np.float64]

_KINEMATICS: Final = Kinematics(np.asarray(T_flange_tool))
_UPRIGHT: Final = float(np.cos(np.deg2rad(12.0)))
_FREE_M: Final = 0.004
_FAR_M: Final = 0.08


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The state before and after, as far as one task is concerned; positions in the base frame (m).

    Attributes:
        scene: What stands on the table.
        start: Before the first motion.
        end: After the last motion.
        index: What was handled.
        before_m: ``(3,)``, where it was.
        after_m: ``(3,)``, where it is.
        axis: ``(3,)``, where the direction that pointed up points now.
        goal: Index of the destination; of the object itself where the verb has none.
        goal_m: ``(3,)``, where the destination is.
        goal_axis: ``(3,)``, where the direction that pointed up points now.
        goal_yaw_rad: The destination's turn about the vertical.
        tool_m: ``(3,)``, the tool centre point.
    """

    scene: Scene
    start: WorldSnapshot
    end: WorldSnapshot
    index: int
    before_m: Array
    after_m: Array
    axis: Array
    goal: int
    goal_m: Array
    goal_axis: Array
    goal_yaw_rad: float
    tool_m: Array

    @property
    def kind(self) -> Kind:
        """The kind of what was handled."""
        return self.scene.objects[self.index].kind

    @property
    def goal_kind(self) -> Kind:
        """The kind of the destination."""
        return self.scene.objects[self.goal].kind

    @property
    def on_table(self) -> bool:
        """Whether the object is between the table's edges."""
        x, y, _ = self.after_m
        return bool(TABLE_X_M[0] < x < TABLE_X_M[1] and TABLE_Y_M[0] < y < TABLE_Y_M[1])


def bring_out(
    scene: Scene, snapshots: tuple[WorldSnapshot, WorldSnapshot], index: int, destination: int | None
) -> Outcome:
    """Gather what matters for a task from the snapshots before and after."""
    start, end = snapshots
    goal = index if destination is None else destination
    return Outcome(
        scene,
        start,
        end,
        index,
        object_position_m(scene, start, index),
        object_position_m(scene, end, index),
        object_axis(scene, end, index),
        goal,
        object_position_m(scene, end, goal),
        object_axis(scene, end, goal),
        object_yaw_rad(scene, end, goal),
        _KINEMATICS.forward(end.qpos[:6])[:3, 3],
    )


def released(outcome: Outcome) -> bool:
    """Say whether the gripper holds the object no longer: open wider than it is, or far away."""
    opening_m = (1.0 - gripper_of(outcome.end)) * STROKE_M
    far = np.linalg.norm(outcome.after_m - outcome.tool_m) > _FAR_M
    return bool(far or opening_m > SHAPES[outcome.kind].width_m + _FREE_M)


def upright(axis: Array) -> bool:
    """Say whether an object stands within 12 degrees of the vertical."""
    return bool(axis[2] >= _UPRIGHT)


def turned_square(offset_m: Array, yaw_rad: float) -> float:
    """Return the half width of the square, turned by ``yaw_rad``, on whose edge a point of its plane lies."""
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    along, across = cosine * offset_m[0] + sine * offset_m[1], cosine * offset_m[1] - sine * offset_m[0]
    return float(max(abs(along), abs(across)))
