"""True answers: the sentences that learned VLMs are trained on and scored against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.panel.format import ABSENT
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Verb


class Style(StrEnum):
    """What an answer mentions beside the object of the task."""

    PLACE = "place"
    """Its place in the image, and its neighbour."""
    RELATION = "relation"
    """The side of its neighbour."""
    COUNT = "count"
    """The number of objects in the image, and its place."""


@dataclass(frozen=True, slots=True)
class VisibleThing:
    """An object in one camera's image.

    Attributes:
        thing: Its colour, kind, mark and size.
        name: Its shortest name among the objects on the table.
        u: Column of its centre: 0 at the left edge of the image, 1 at the right.
        v: Row of its centre: 0 at the upper edge, 1 at the lower.
        x_m: Its centre in the base frame.
        y_m: Its centre in the base frame.
    """

    thing: Thing
    name: Thing
    u: float
    v: float
    x_m: float
    y_m: float

    @property
    def in_image(self) -> bool:
        """Whether its centre is in the image."""
        return 0.0 <= self.u <= 1.0 and 0.0 <= self.v <= 1.0

    def is_a(self, thing: Thing) -> bool:
        """Whether the name of a thing fits it."""
        return thing.fits(self.thing)


_ADVICE: Final = {
    Verb.COVER: "put it on top",
    Verb.INSERT: "insert it upright",
    Verb.MOVE: "carry it over",
    Verb.PICK: "grip and lift it",
    Verb.PLACE: "place it inside",
    Verb.POUR: "tip it over",
    Verb.PRESS: "press it down",
    Verb.PULL: "pull it open",
    Verb.PUSH: "push it away",
    Verb.TWIST: "turn it around",
}
_NUMBERS: Final = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_THIRDS: Final = (1 / 3, 2 / 3)
_NEAR_M: Final = 0.01


def true_answer(task: Instruction, things: Sequence[VisibleThing], style: Style) -> str:
    """Return the true answer to a task, about ten words.

    Args:
        task: The task.
        things: All objects on the table, as one camera sees them.
        style: What to mention.
    """
    seen = [thing for thing in things if thing.in_image]
    target = next((thing for thing in seen if thing.is_a(task.object)), None)
    if target is None:
        return f"I see no {task.object} in this picture."
    advice = _ADVICE[task.verb]
    others = [thing for thing in seen if thing is not target]
    if task.destination is not None:
        goal = next((thing for thing in seen if thing.is_a(task.destination)), None)
        if goal is None:
            return f"The {task.object} is {_place(target)}, but I see no {task.destination}."
        if style is Style.RELATION:
            return f"I see the {task.object} {_side(target, goal)} the {task.destination}; {advice}."
        return f"The {task.object} is {_place(target)}, the {task.destination} {_place(goal)}; {advice}."
    if style is Style.COUNT:
        return f"Of {_NUMBERS[min(len(seen), 10)]} objects the {task.object} is {_place(target)}; {advice}."
    if not others:
        return f"The {task.object} is {_place(target)}, alone; {advice}."
    beside = min(others, key=lambda other: np.hypot(other.x_m - target.x_m, other.y_m - target.y_m))
    if style is Style.RELATION:
        return f"I see the {task.object} {_side(target, beside)} the {beside.name}; {advice}."
    return f"The {task.object} is {_place(target)}, by the {beside.name}; {advice}."


def _place(thing: VisibleThing) -> str:
    """Return the place in the image as the viewer sees it: "low left", "high", "in the middle"."""
    across = ("left", "", "right")[int(np.digitize(thing.u, _THIRDS))]
    along = ("high", "", "low")[int(np.digitize(thing.v, _THIRDS))]
    return " ".join(word for word in (along, across) if word) or "in the middle"


def _side(target: VisibleThing, other: VisibleThing) -> str:
    """Return the side of ``other`` on which the target appears in a 4:3 image."""
    du, dv = (target.u - other.u) * 4 / 3, target.v - other.v
    if abs(du) >= abs(dv):
        return "left of" if du < 0 else "right of"
    return "above" if dv < 0 else "below"


def object_marks(scene: Scene, frame: Frame) -> NDArray[np.float64]:
    """Return ``(n, 2)`` image positions (u, v) of standing objects' centres, in [0, 1] in the image."""
    centres = np.array([[item.x_m, item.y_m, item.shape.height_m / 2, 1.0] for item in scene.objects])
    x, y, z, _ = np.linalg.inv(frame.needed_pose()) @ centres.T
    size = frame.needed_intrinsics()
    ahead = np.maximum(z, _NEAR_M)
    u = (size.fx_px * x / ahead + size.cx_px + 0.5) / size.width_px
    v = (size.fy_px * y / ahead + size.cy_px + 0.5) / size.height_px
    marks: NDArray[np.float64] = np.clip(np.stack([u, v], axis=1), -1.0, 2.0)
    return np.where((z > _NEAR_M)[:, None], marks, ABSENT)


def visible_things(scene: Scene, frame: Frame) -> list[VisibleThing]:
    """Return the objects of a scene at rest in a camera's image."""
    marks = object_marks(scene, frame)
    return [
        VisibleThing(item.thing, name, float(u), float(v), item.x_m, item.y_m)
        for item, name, (u, v) in zip(scene.objects, scene.names, marks, strict=True)
    ]
