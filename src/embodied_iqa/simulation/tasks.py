"""Whether a task was done, judged by the physical state at the end and nothing else."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import Kinematics
from embodied_iqa.simulation.dimensions import TABLE_X_M, TABLE_Y_M, T_flange_tool
from embodied_iqa.simulation.scene import Scene, find_object
from embodied_iqa.simulation.snapshot import WorldSnapshot, check_qpos, object_position_m
from embodied_iqa.subjects.instruction import Instruction, Verb
from embodied_iqa.subjects.manipulation import PUSH_DIRECTION

__all__ = ["PUSHED_M", "RAISED_M", "task_success"]

RAISED_M: Final = 0.05
PUSHED_M: Final = 0.05
_HELD_WITHIN_M: Final = 0.05
_STILL_STANDS_M: Final = 0.03
_KINEMATICS: Final = Kinematics(np.asarray(T_flange_tool))


def task_success(scene: Scene, instruction: Instruction, start: WorldSnapshot, end: WorldSnapshot) -> bool:
    """Say whether ``instruction`` is done at ``end``.

    - Pick: the object's centre is at least 5 cm above where it was, and within 5 cm of the tool centre point:
      held by the gripper, not thrown.
    - Push: the object's centre moved at least 5 cm along the base frame's -x (away from the robot; sideways
      motion counts neither way), and it is still on the table: between its edges, not more than 3 cm above or
      below the height it had.
    - Press: the button's cap was at least 5 mm down at any time since the reset (`WorldSnapshot.pressed`).

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
    index = find_object(scene, instruction)
    if instruction.verb is Verb.PRESS:
        return index in end.pressed
    before, after = object_position_m(scene, start, index), object_position_m(scene, end, index)
    if instruction.verb is Verb.PICK:
        tool = _KINEMATICS.forward(end.qpos[:6])[:3, 3]
        raised = after[2] - before[2] >= RAISED_M
        return bool(raised and np.linalg.norm(after - tool) <= _HELD_WITHIN_M)
    way_m = float((after[:2] - before[:2]) @ np.array(PUSH_DIRECTION))
    return way_m >= PUSHED_M and _on_table(before, after)


def _on_table(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    x, y, z = after
    inside = TABLE_X_M[0] < x < TABLE_X_M[1] and TABLE_Y_M[0] < y < TABLE_Y_M[1]
    return bool(inside and abs(z - before[2]) <= _STILL_STANDS_M)
