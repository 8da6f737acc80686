"""A scripted expert for libero_object: it picks by the true poses of the objects, and looks at no image.

Its subject is ``python:embodied_iqa:LiberoExpert``. It shows that world, controller and
success check work on this machine, and is the upper bound for policies that use images.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import increments_between
from embodied_iqa.world.libero.suites import AGENTVIEW, RATE_HZ, REPLAN_STEPS
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

Array = NDArray[np.float64]

_TASK: Final = re.compile(r"pick up the (?P<what>[a-z ]+) and place it in the basket")
_OPEN, _CLOSED = 0.0, 1.0
_OPEN_FROM: Final = 0.15
"""Below this state of the gripper its fingers are open: around a can of 63 mm it is 0.21."""
_LOWEST_M: Final = 0.012
"""Of the tool above the floor, for flat boxes."""
_TALL_M: Final = 0.05
"""Objects whose centre is higher are bottles and cartons."""
_ABOVE_CENTRE_M: Final = 0.04
"""Where a tall object is grasped: its top would touch the palm before the fingers reach its centre."""
_APPROACH_M: Final = 0.12
_TRAVEL_M: Final = 0.28
"""Height of the tool above the floor on its way to the basket."""
_BASKET_M: Final = 0.08
_NEAR_M: Final = 0.012
_HELD_XY_M: Final = 0.03
_HELD_Z_M: Final = (-0.03, 0.065)
_STEP_M: Final = 0.05
"""Longest commanded step, one unit of the controller."""
_GAIN: Final = 1.5
"""Commanded part of the way: in a step the controller does about an eighth of what it is told."""
_SQUEEZE_STEPS: Final = 2


class LiberoExpert:
    """The expert, a `Vla`. Stateless: what comes next follows from where tool, fingers and objects are."""

    def __init__(self) -> None:
        self.info = SubjectInfo(
            name="libero-expert",
            version="1",
            description="Picks an object of libero_object by its true pose and drops it in the basket.",
            views=(AGENTVIEW,),
            simulation_only=True,
            rate_hz=RATE_HZ,
            privileged=True,
            worlds=("libero_object",),
        )

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next five steps.

        Raises:
            UsageError: Another task than of libero_object, or the poses of the objects are not known.
        """
        found = _TASK.fullmatch(observation.instruction)
        name = "" if found is None else f"{found['what'].replace(' ', '_')}_1"
        objects = observation.objects or {}
        if name not in objects or "basket_1" not in objects:
            raise UsageError(
                "the scripted expert knows libero_object only",
                expected="pick up the ... and place it in the basket, and the poses of the objects",
                got=observation.instruction,
            )
        reason, waypoint, gripper, pause = _next(observation, objects, name)
        return ActionChunk(ChunkStatus.ACT, _rows(observation.T_base_tool, waypoint, gripper, pause), reason)


def _next(
    observation: VlaObservation, objects: Mapping[str, Array], name: str
) -> tuple[str, Array, float, int]:
    """Return what to do in words, where to (m), with which gripper, and after how many steps at rest."""
    tool, target, basket = (T[:3, 3] for T in (observation.T_base_tool, objects[name], objects["basket_1"]))
    grasp_m = max(_LOWEST_M, target[2] + (_ABOVE_CENTRE_M if target[2] > _TALL_M else 0.0))
    is_open = observation.gripper < _OPEN_FROM
    aside = float(np.linalg.norm((target - tool)[:2]))
    if not is_open and aside < _HELD_XY_M and _HELD_Z_M[0] < tool[2] - target[2] < _HELD_Z_M[1]:
        return _carry(tool, basket)
    if np.linalg.norm((target - basket)[:2]) < _BASKET_M:
        return "the object is in the basket", tool, _OPEN, 0
    if aside > _NEAR_M:
        height_m = max(tool[2], target[2] + _APPROACH_M) if aside > _HELD_XY_M else tool[2]
        return f"above {name}", np.array([*target[:2], height_m]), _OPEN, 0
    if is_open and tool[2] > grasp_m + _NEAR_M:
        return f"down to {name}", np.array([*target[:2], grasp_m]), _OPEN, 0
    return f"grasp {name}", np.array([*target[:2], grasp_m]), _CLOSED, 0


def _carry(tool: Array, basket: Array) -> tuple[str, Array, float, int]:
    aside = float(np.linalg.norm((basket - tool)[:2]))
    if aside < _NEAR_M:
        return "let go", tool, _OPEN, 0
    if tool[2] < _TRAVEL_M - 2 * _NEAR_M:
        return "lift", np.array([*tool[:2], _TRAVEL_M]), _CLOSED, _SQUEEZE_STEPS
    return "to the basket", np.array([*basket[:2], _TRAVEL_M]), _CLOSED, 0


def _rows(T_base_tool: Array, waypoint: Array, gripper: float, pause: int) -> Array:
    """Return increments ``(5, 7)`` towards a waypoint (m), without a turn."""
    way = waypoint - T_base_tool[:3, 3]
    step = way * min(_GAIN, _STEP_M / max(float(np.linalg.norm(way)), 1e-9))
    poses = np.repeat(np.asarray(T_base_tool)[None], REPLAN_STEPS + 1, axis=0)
    poses[:, :3, 3] += np.maximum(0, np.arange(REPLAN_STEPS + 1) - pause)[:, None] * step
    return np.concatenate([increments_between(poses), np.full((REPLAN_STEPS, 1), gripper)], axis=1)
