"""Whether a task was done, judged by the physical state at the end and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from embodied_iqa.manipulation.object_shapes import LID_BOSS_HEIGHT_M, SHAPES, SOCKET_HOLE_HALF_M
from embodied_iqa.manipulation.planner import PUSH_DIRECTION
from embodied_iqa.scenes.scene import Scene, find_destination, find_object
from embodied_iqa.scenes.snapshot import (
    WorldSnapshot,
    bead_positions_m,
    check_qpos,
    inner_position,
)
from embodied_iqa.simulation.outcome import Outcome, bring_out, released, turned_square, upright
from embodied_iqa.tasks.instruction import Instruction, Verb

__all__ = ["PULLED_M", "PUSHED_M", "RAISED_M", "TWISTED_RAD", "task_success"]

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


def task_success(scene: Scene, instruction: Instruction, start: WorldSnapshot, end: WorldSnapshot) -> bool:
    """Say whether ``instruction`` is done at ``end``.

    - Cover: the lid lies on the pot: level, its middle within 2 cm of the pot's, on the rim, let go.
    - Insert: the peg stands in the hole, its foot at least 2 cm below the rim, let go.
    - Move: the object's centre is within the mat's edges, the object stands or lies on it, let go.
    - Pick: the object's centre is at least 5 cm above where it was, and within 5 cm of the tool centre point:
      held by the gripper, not thrown.
    - Place: the object lies within the bowl's rim and the bowl stands upright; let go.
    - Pour: at least 60 % of the beads lie in the bowl, and the bowl stands upright.
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
    goal = find_destination(scene, instruction)
    outcome = bring_out(scene, (start, end), find_object(scene, instruction), goal)
    return bool(_JUDGES[instruction.verb](outcome))


def _covered(outcome: Outcome) -> bool:
    lid_shape, pot_shape = SHAPES[outcome.kind], SHAPES[outcome.goal_kind]
    offset = outcome.after_m - outcome.goal_m
    seat_m = pot_shape.height_m / 2 - LID_BOSS_HEIGHT_M + lid_shape.height_m / 2
    level = upright(outcome.axis) and upright(outcome.goal_axis)
    on_rim = abs(offset[2] - seat_m) <= _SEATED_HEIGHT_M
    return bool(np.hypot(*offset[:2]) <= _SEATED_WITHIN_M and on_rim and level and released(outcome))


def _inserted(outcome: Outcome) -> bool:
    foot = outcome.after_m - outcome.axis * SHAPES[outcome.kind].height_m / 2
    rim_m = SHAPES[outcome.goal_kind].height_m
    inside = turned_square(foot - outcome.goal_m, outcome.goal_yaw_rad) <= SOCKET_HOLE_HALF_M
    return inside and bool(foot[2] <= rim_m - _INSERTED_M) and released(outcome)


def _moved(outcome: Outcome) -> bool:
    edge_m = SHAPES[outcome.goal_kind].width_m / 2
    within = turned_square(outcome.after_m - outcome.goal_m, outcome.goal_yaw_rad) <= edge_m
    stands = abs(outcome.after_m[2] - outcome.before_m[2]) <= _ON_MAT_HEIGHT_M
    return within and bool(stands) and released(outcome)


def _picked(outcome: Outcome) -> bool:
    raised = outcome.after_m[2] - outcome.before_m[2] >= RAISED_M
    return bool(raised and np.linalg.norm(outcome.after_m - outcome.tool_m) <= _HELD_WITHIN_M)


def _placed(outcome: Outcome) -> bool:
    bowl = SHAPES[outcome.goal_kind]
    offset = outcome.after_m - outcome.goal_m
    within = np.hypot(*offset[:2]) <= bowl.width_m / 2
    low = outcome.after_m[2] <= bowl.height_m + SHAPES[outcome.kind].height_m / 2
    return bool(within and low and upright(outcome.goal_axis)) and released(outcome)


def _poured(outcome: Outcome) -> bool:
    bowl = SHAPES[outcome.goal_kind]
    beads_m = bead_positions_m(outcome.scene, outcome.end, outcome.index)
    near = np.hypot(*(beads_m - outcome.goal_m)[:, :2].T) <= bowl.width_m / 2
    inside = near & (beads_m[:, 2] <= bowl.height_m)
    return bool(inside.mean() >= _POURED_PART and upright(outcome.goal_axis))


def _pressed(outcome: Outcome) -> bool:
    return outcome.index in outcome.end.pressed


def _pulled(outcome: Outcome) -> bool:
    return _own_motion(outcome) >= PULLED_M


def _pushed(outcome: Outcome) -> bool:
    before_m, after_m = outcome.before_m, outcome.after_m
    way_m = float((after_m[:2] - before_m[:2]) @ np.array(PUSH_DIRECTION))
    return way_m >= PUSHED_M and outcome.on_table and bool(abs(after_m[2] - before_m[2]) <= _STILL_STANDS_M)


def _twisted(outcome: Outcome) -> bool:
    return bool(abs(_own_motion(outcome)) >= TWISTED_RAD)


def _own_motion(outcome: Outcome) -> float:
    """Return by how much the object's own joint moved (m or rad)."""
    after = inner_position(outcome.scene, outcome.end, outcome.index)
    return after - inner_position(outcome.scene, outcome.start, outcome.index)


_JUDGES: Final[dict[Verb, Callable[[Outcome], bool]]] = {
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
