"""Classical-vision baseline policy: plans one chunk for the whole task, then checks the outcome."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.classical.perception import SeenObject, Sight, look
from embodied_iqa.models.subjects.backends.classical.shapes import ShapeFit
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.world.manipulation.planner import (
    PUSH_DIRECTION,
    ObjectPose,
    closing,
    plan_chunk,
    pushed_ahead_m,
)
from embodied_iqa.world.manipulation.shapes import SCALE_OF_SIZE, shape_of
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.world.tasks.instruction import Instruction, Thing, parse_instruction
from embodied_iqa.world.tasks.vocabulary import Verb

Array = NDArray[np.float64]

_HOLDING_TOLERANCE: Final = 0.07
_HOLDING_HEIGHT_M: Final = 0.09
_HELD_WITHIN_M: Final = 0.05
_PUSHED_WITHIN_M: Final = (-0.03, 0.10)
_PUSHED_SIDEWAYS_M: Final = 0.04
_PRESSED_WITHIN_M: Final = 0.025


def make(_request: VlaRequest) -> ClassicalVla:
    """Make the baseline; it has no options."""
    return ClassicalVla()


class ClassicalVla:
    """Colour and shape segmentation, camera geometry, and one planned chunk per verb.

    Its only input is the observation: an image that hides or shifts the object misleads it. Stateless; after
    the first chunk it judges from image and joint state whether the task looks done, and retries if not.
    """

    info: Final = SubjectInfo(
        name="classical-vla",
        version="2",
        description=(
            "Finds the object of the task by colour and outline in the top view and plans straight motions "
            "to it; reads sizes but no marks; nothing is learned."
        ),
        views=(View.TOP,),
    )

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk; NO_TARGET for a task that it cannot parse.

        Raises:
            UsageError: The top view is missing.
        """
        (frame,) = observation.frames_of(self.info.views)
        try:
            task = parse_instruction(observation.instruction)
        except UsageError as error:
            return ActionChunk.still(ChunkStatus.NO_TARGET, f"does not understand the task: {error}")
        if task.verb not in _DONE_WORDS:
            return ActionChunk.still(ChunkStatus.NO_TARGET, f"does not know how to {task.verb}")
        sight = look(frame)
        if observation.step > 0 and _looks_done(task, sight, observation):
            return ActionChunk.still(ChunkStatus.DONE, f"the {task.object} looks {_DONE_WORDS[task.verb]}")
        found = sight.named(task.object)
        if len(found) != 1:
            return ActionChunk.still(ChunkStatus.NO_TARGET, _why_not(task.object, len(found), sight))
        ((seen, fit),) = found
        target = ObjectPose(task.kind, fit.x_m, fit.y_m, fit.yaw_rad, fit.size)
        increments = plan_chunk(task.verb, target, observation.T_base_tool)
        reason = f"sees the {task.object} at ({fit.x_m:.3f}, {fit.y_m:.3f}) m"
        return ActionChunk(ChunkStatus.ACT, increments, reason, seen.centre_px)


_DONE_WORDS: Final = {Verb.PICK: "held", Verb.PUSH: "pushed away", Verb.PRESS: "pressed"}


def _why_not(wanted: Thing, seen: int, sight: Sight) -> str:
    if seen:
        several = f"sees {seen} things that may be the {wanted}"
        return f"{several}: it cannot read marks" if wanted.mark is not None else several
    alike = [_article(item) for item in sight.objects if item.colour is wanted.colour]
    if alike:
        return f"sees no {wanted}: the {wanted.colour} thing looks like {' or '.join(alike)}"
    others = ", ".join(f"{item.colour} {item.kind or 'thing'}" for item in sight.objects)
    return f"sees no {wanted}, only: {others}" if others else f"sees no {wanted}, nor anything else"


def _article(seen: SeenObject) -> str:
    return f"a {seen.kind}" if seen.kind is not None else "nothing known"


def _looks_done(task: Instruction, sight: Sight, observation: VlaObservation) -> bool:
    """Judge by image and joint state; the gripper may hide a part of the object's outline."""
    if task.verb is Verb.PICK:
        tool_m = observation.T_base_tool[:3, 3]
        return _looks_held(task, sight, tool_m, observation.gripper)
    coloured = [item for item in sight.objects if item.colour is task.colour]
    fits = [next((fit for fit in item.fits if fit.kind is task.kind), None) for item in coloured]
    return any(_looks_moved(task, fit, observation) for fit in fits if fit is not None)


def _looks_moved(task: Instruction, fit: ShapeFit, observation: VlaObservation) -> bool:
    """Whether an object is where the tool has pushed or pressed it."""
    tool_m = observation.T_base_tool[:3, 3]
    offset = np.array([fit.x_m, fit.y_m]) - tool_m[:2]
    if task.verb is Verb.PRESS:
        return bool(np.linalg.norm(offset) <= _PRESSED_WITHIN_M) and observation.gripper > 0.9
    along = np.array(PUSH_DIRECTION)
    ahead = float(offset @ along)
    aside = float(np.linalg.norm(offset - ahead * along))
    low, high = _PUSHED_WITHIN_M
    return low <= ahead - pushed_ahead_m(task.kind) <= high and aside <= _PUSHED_SIDEWAYS_M


def _looks_held(task: Instruction, sight: Sight, tool_m: Array, gripper: float) -> bool:
    """Whether something as wide as the object is between the fingers, off the table, in its colour."""
    sizes = tuple(SCALE_OF_SIZE) if task.object.size is None else (task.object.size,)
    widths_m = [shape_of(task.kind, size).width_m for size in sizes]
    filled = any(abs(gripper - closing(width_m)) <= _HOLDING_TOLERANCE for width_m in widths_m)
    raised = bool(tool_m[2] >= _HOLDING_HEIGHT_M)
    return filled and raised and sight.shows(task.colour, tool_m, _HELD_WITHIN_M)
