"""Success of a task, judged from the physical state before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.manipulation.planner import PUSH_DIRECTION
from embodied_iqa.world.manipulation.shapes import (
    LID_BOSS_HEIGHT_M,
    SOCKET_HOLE_HALF_M,
    STROKE_M,
    ObjectShape,
)
from embodied_iqa.world.scenes.dimensions import TABLE_X_M, TABLE_Y_M, cell_kinematics
from embodied_iqa.world.scenes.scene import Scene, find_destination, find_object
from embodied_iqa.world.scenes.snapshot import (
    WorldSnapshot,
    bead_positions_m,
    check_qpos,
    gripper_of,
    inner_position,
    object_axis,
    object_position_m,
    object_yaw_rad,
)
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

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


_Conditions: TypeAlias = Iterator[tuple[bool, str]]
"""Whether each condition is met, and in words what is missing if not."""


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
    def name(self) -> str:
        """What the object is, such as cube."""
        return str(self.scene.objects[self.index].kind)

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
    """Return whether ``instruction`` is done at ``end``; see `task_missing`."""
    return not task_missing(scene, instruction, start, end)


def task_missing(scene: Scene, instruction: Instruction, start: WorldSnapshot, end: WorldSnapshot) -> str:
    """Return what ``instruction`` lacks at ``end``, such as "cube raised 0.0 of 5 cm"; empty if it is done.

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
        cell_kinematics(scene.arm).forward(end.qpos[:6])[:3, 3],
    )
    return "; ".join(text for is_met, text in _JUDGES[instruction.verb](outcome) if not is_met)


def _body(scene: Scene, end: WorldSnapshot, index: int) -> _Body:
    return _Body(
        scene.objects[index].shape,
        object_position_m(scene, end, index),
        object_axis(scene, end, index),
        object_yaw_rad(scene, end, index),
    )


def _covered(outcome: _Outcome) -> _Conditions:
    lid, pot = outcome.object, outcome.goal
    offset = lid.centre_m - pot.centre_m
    seat_m = pot.shape.height_m / 2 - LID_BOSS_HEIGHT_M + lid.shape.height_m / 2
    high_m, off_m = abs(offset[2] - seat_m), np.hypot(*offset[:2])
    yield off_m <= _SEATED_WITHIN_M, f"lid {_cm(off_m)} off the centre of the pot, at most 2 cm"
    yield high_m <= _SEATED_HEIGHT_M, f"lid {_cm(high_m)} from its seat on the rim, at most 0.6 cm"
    yield from (_upright("lid", lid), _upright("pot", pot), _released(outcome, "lid"))


def _inserted(outcome: _Outcome) -> _Conditions:
    peg, socket = outcome.object, outcome.goal
    foot = peg.centre_m - peg.axis * peg.shape.height_m / 2
    deep_m, off_m = socket.shape.height_m - foot[2], socket.square_around(foot)
    yield off_m <= SOCKET_HOLE_HALF_M, f"foot of the peg {_cm(off_m)} off the centre of the hole"
    yield (
        bool(foot[2] <= socket.shape.height_m - _INSERTED_M),
        f"peg {_cm(max(0.0, deep_m))} deep in the hole, of 2 cm",
    )
    yield _released(outcome, "peg")


def _moved(outcome: _Outcome) -> _Conditions:
    name, off_m = outcome.name, outcome.goal.square_around(outcome.object.centre_m)
    half_m = outcome.goal.shape.width_m / 2
    yield off_m <= half_m, f"{name} {_cm(off_m)} off the centre of the mat, at most {_cm(half_m)}"
    yield abs(outcome.rise_m) <= _ON_MAT_HEIGHT_M, f"{name} {_cm(outcome.rise_m)} above its old height"
    yield _released(outcome, name)


def _picked(outcome: _Outcome) -> _Conditions:
    yield outcome.rise_m >= RAISED_M, f"{outcome.name} raised {100 * max(0.0, outcome.rise_m):.1f} of 5 cm"
    if outcome.rise_m < RAISED_M:
        return
    away_m = float(np.linalg.norm(outcome.object.centre_m - outcome.tool_m))
    yield away_m <= _HELD_WITHIN_M, f"{outcome.name} {_cm(away_m)} from the tool, at most 5 cm"


def _placed(outcome: _Outcome) -> _Conditions:
    name, item, bowl = outcome.name, outcome.object, outcome.goal
    off_m, rim_m = np.hypot(*(item.centre_m - bowl.centre_m)[:2]), bowl.shape.width_m / 2
    yield off_m <= rim_m, f"{name} {_cm(off_m)} off the centre of the bowl, at most {_cm(rim_m)}"
    low = item.centre_m[2] <= bowl.shape.height_m + item.shape.height_m / 2
    yield bool(low), f"{name} above the bowl"
    yield from (_upright("bowl", bowl), _released(outcome, name))


def _poured(outcome: _Outcome) -> _Conditions:
    bowl = outcome.goal
    beads_m = bead_positions_m(outcome.scene, outcome.end, outcome.index)
    near = np.hypot(*(beads_m - bowl.centre_m)[:, :2].T) <= bowl.shape.width_m / 2
    inside = near & (beads_m[:, 2] <= bowl.shape.height_m)
    yield bool(inside.mean() >= _POURED_PART), f"{100 * inside.mean():.0f} of 60 % of the beads in the bowl"
    yield _upright("bowl", bowl)


def _pressed(outcome: _Outcome) -> _Conditions:
    yield outcome.index in outcome.end.pressed, "button never pressed down by 0.5 cm"


def _pulled(outcome: _Outcome) -> _Conditions:
    out_m = outcome.inner_motion
    yield out_m >= PULLED_M, f"drawer pulled out {100 * max(0.0, out_m):.1f} of 5 cm"


def _pushed(outcome: _Outcome) -> _Conditions:
    name = outcome.name
    x, y, _ = outcome.object.centre_m
    way_m = float((outcome.object.centre_m - outcome.before_m)[:2] @ np.array(PUSH_DIRECTION))
    on_table = TABLE_X_M[0] < x < TABLE_X_M[1] and TABLE_Y_M[0] < y < TABLE_Y_M[1]
    yield way_m >= PUSHED_M, f"{name} pushed {100 * max(0.0, way_m):.1f} of 5 cm"
    yield bool(on_table), f"{name} not on the table"
    yield abs(outcome.rise_m) <= _STILL_STANDS_M, f"{name} {_cm(outcome.rise_m)} above its old height"


def _twisted(outcome: _Outcome) -> _Conditions:
    turned_rad = abs(outcome.inner_motion)
    yield turned_rad >= float(TWISTED_RAD), f"knob turned {np.rad2deg(turned_rad):.0f} of 60 degrees"


def _upright(name: str, body: _Body) -> tuple[bool, str]:
    return body.upright, f"{name} tilted by more than 12 degrees"


def _released(outcome: _Outcome, name: str) -> tuple[bool, str]:
    return outcome.released, f"{name} not released"


def _cm(length_m: float) -> str:
    return f"{100 * length_m:.1f} cm"


_JUDGES: Final[dict[Verb, Callable[[_Outcome], _Conditions]]] = {
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
