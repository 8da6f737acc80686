"""Success of a task, judged from the physical state before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import Kinematics
from embodied_iqa.manipulation.planner import PUSH_DIRECTION
from embodied_iqa.manipulation.shapes import (
    LID_BOSS_HEIGHT_M,
    SHAPES,
    SOCKET_HOLE_HALF_M,
    STROKE_M,
    ObjectShape,
)
from embodied_iqa.scenes.dimensions import TABLE_X_M, TABLE_Y_M, T_flange_tool
from embodied_iqa.scenes.scene import Scene, find_destination, find_object
from embodied_iqa.scenes.snapshot import (
    WorldSnapshot,
    bead_positions_m,
    check_qpos,
    gripper_of,
    inner_position,
    object_axis,
    object_position_m,
    object_yaw_rad,
)
from embodied_iqa.tasks.instruction import Instruction
from embodied_iqa.tasks.vocabulary import Verb

Array = NDArray[np.float64]

RAISED_M: Final = 0.05
PUSHED_M: Final = 0.05
PULLED_M: Final = 0.05
TWISTED_RAD: Final = np.deg2rad(60.0)
_HELD_WITHIN_M: Final = 0.05
_STILL_STANDS_M: Final = 0.03
_POURED_PART: Final = 0.6
_INSERTED_M: Final = 0.020
_SEATED_WITHIN_M: Final = 0.020
_SEATED_HEIGHT_M: Final = 0.006
_ON_MAT_HEIGHT_M: Final = 0.010
_UPRIGHT: Final = float(np.cos(np.deg2rad(12.0)))
_FREE_M: Final = 0.004
_FAR_M: Final = 0.08
_KINEMATICS: Final = Kinematics(np.asarray(T_flange_tool))


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """An object after the last motion; positions in the base frame."""

    shape: ObjectShape
    centre_m: Array
    axis: Array
    """Where the direction that pointed up at the start points now."""
    yaw_rad: float

    @property
    def upright(self) -> bool:
        """Whether it is within 12 degrees of the vertical."""
        return bool(self.axis[2] >= _UPRIGHT)

    def square_around(self, point_m: Array) -> float:
        """Return half the width of the square, turned like the body, on whose edge a point is from above."""
        offset_m = point_m - self.centre_m
        cosine, sine = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        along, across = cosine * offset_m[0] + sine * offset_m[1], cosine * offset_m[1] - sine * offset_m[0]
        return float(max(abs(along), abs(across)))


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """The states before and after; ``goal`` is the object itself for verbs without a destination."""

    scene: Scene
    start: WorldSnapshot
    end: WorldSnapshot
    index: int
    before_m: Array
    object: _Body
    goal: _Body
    tool_m: Array

    @property
    def released(self) -> bool:
        """Whether the gripper no longer holds the object: open wider than it is, or far away."""
        opening_m = (1.0 - gripper_of(self.end)) * STROKE_M
        far = np.linalg.norm(self.object.centre_m - self.tool_m) > _FAR_M
        return bool(far or opening_m > self.object.shape.width_m + _FREE_M)

    @property
    def rise_m(self) -> float:
        """By how much the object's centre rose."""
        return float(self.object.centre_m[2] - self.before_m[2])

    @property
    def inner_motion(self) -> float:
        """By how much the object's own joint moved (m or rad)."""
        after = inner_position(self.scene, self.end, self.index)
        return after - inner_position(self.scene, self.start, self.index)


def task_success(scene: Scene, instruction: Instruction, start: WorldSnapshot, end: WorldSnapshot) -> bool:
    """Return whether ``instruction`` is done at ``end``.

    - Cover: the lid is on the pot's rim, level, its centre within 2 cm of the pot's, and released.
    - Insert: the peg is in the hole, its foot at least 2 cm below the rim, and released.
    - Move: the object is on the mat, its centre within the mat's edges, and released.
    - Pick: the object's centre is at least 5 cm above where it was, and within 5 cm of the tool centre point:
      held by the gripper, not thrown.
    - Place: the object is within the bowl's rim and released, and the bowl is upright.
    - Pour: at least 60 % of the beads are in the bowl, and the bowl is upright.
    - Press: the button's cap was at least 5 mm down at any time since the reset (`WorldSnapshot.pressed`).
    - Pull: the drawer came at least 5 cm further out, towards the robot.
    - Push: the object's centre moved at least 5 cm along the base frame's -x (away from the robot; sideways
      motion counts neither way), and it is still on the table: between its edges, not more than 3 cm above or
      below the height it had.
    - Twist: the knob was turned by at least 60 degrees, either way.

    Args:
        scene: The scene of both snapshots.
        instruction: The task.
        start: Before the first motion.
        end: After the last motion.

    Raises:
        UsageError: The scene has no such object.
        InputError: A snapshot belongs to another scene.
    """
    check_qpos(scene, start)
    check_qpos(scene, end)
    index, goal = find_object(scene, instruction), find_destination(scene, instruction)
    outcome = _Outcome(
        scene,
        start,
        end,
        index,
        object_position_m(scene, start, index),
        _body(scene, end, index),
        _body(scene, end, index if goal is None else goal),
        _KINEMATICS.forward(end.qpos[:6])[:3, 3],
    )
    return bool(_JUDGES[instruction.verb](outcome))


def _body(scene: Scene, end: WorldSnapshot, index: int) -> _Body:
    return _Body(
        SHAPES[scene.objects[index].kind],
        object_position_m(scene, end, index),
        object_axis(scene, end, index),
        object_yaw_rad(scene, end, index),
    )


def _covered(outcome: _Outcome) -> bool:
    lid, pot = outcome.object, outcome.goal
    offset = lid.centre_m - pot.centre_m
    seat_m = pot.shape.height_m / 2 - LID_BOSS_HEIGHT_M + lid.shape.height_m / 2
    on_rim = abs(offset[2] - seat_m) <= _SEATED_HEIGHT_M and np.hypot(*offset[:2]) <= _SEATED_WITHIN_M
    return bool(on_rim) and lid.upright and pot.upright and outcome.released


def _inserted(outcome: _Outcome) -> bool:
    peg, socket = outcome.object, outcome.goal
    foot = peg.centre_m - peg.axis * peg.shape.height_m / 2
    inside = socket.square_around(foot) <= SOCKET_HOLE_HALF_M
    return inside and bool(foot[2] <= socket.shape.height_m - _INSERTED_M) and outcome.released


def _moved(outcome: _Outcome) -> bool:
    within = outcome.goal.square_around(outcome.object.centre_m) <= outcome.goal.shape.width_m / 2
    return within and abs(outcome.rise_m) <= _ON_MAT_HEIGHT_M and outcome.released


def _picked(outcome: _Outcome) -> bool:
    held = np.linalg.norm(outcome.object.centre_m - outcome.tool_m) <= _HELD_WITHIN_M
    return bool(held) and outcome.rise_m >= RAISED_M


def _placed(outcome: _Outcome) -> bool:
    item, bowl = outcome.object, outcome.goal
    within = np.hypot(*(item.centre_m - bowl.centre_m)[:2]) <= bowl.shape.width_m / 2
    low = item.centre_m[2] <= bowl.shape.height_m + item.shape.height_m / 2
    return bool(within and low) and bowl.upright and outcome.released


def _poured(outcome: _Outcome) -> bool:
    bowl = outcome.goal
    beads_m = bead_positions_m(outcome.scene, outcome.end, outcome.index)
    near = np.hypot(*(beads_m - bowl.centre_m)[:, :2].T) <= bowl.shape.width_m / 2
    inside = near & (beads_m[:, 2] <= bowl.shape.height_m)
    return bool(inside.mean() >= _POURED_PART) and bowl.upright


def _pressed(outcome: _Outcome) -> bool:
    return outcome.index in outcome.end.pressed


def _pulled(outcome: _Outcome) -> bool:
    return outcome.inner_motion >= PULLED_M


def _pushed(outcome: _Outcome) -> bool:
    x, y, _ = outcome.object.centre_m
    way_m = float((outcome.object.centre_m - outcome.before_m)[:2] @ np.array(PUSH_DIRECTION))
    on_table = TABLE_X_M[0] < x < TABLE_X_M[1] and TABLE_Y_M[0] < y < TABLE_Y_M[1]
    return way_m >= PUSHED_M and bool(on_table) and abs(outcome.rise_m) <= _STILL_STANDS_M


def _twisted(outcome: _Outcome) -> bool:
    return abs(outcome.inner_motion) >= float(TWISTED_RAD)


_JUDGES: Final[dict[Verb, Callable[[_Outcome], bool]]] = {
    Verb.COVER: _covered,
    Verb.INSERT: _inserted,
    Verb.MOVE: _moved,
    Verb.PICK: _picked,
    Verb.PLACE: _placed,
    Verb.POUR: _poured,
    Verb.PRESS: _pressed,
    Verb.PULL: _pulled,
    Verb.PUSH: _pushed,
    Verb.TWIST: _twisted,
}
