"""What a good answer says: the sentences that the learned VLMs are taught and judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from embodied_iqa.tasks.instruction import Instruction, Thing
from embodied_iqa.tasks.vocabulary import Colour, Kind, Verb

__all__ = ["Style", "VisibleThing", "true_answer"]


class Style(StrEnum):
    """What a member mentions beside the object of the task."""

    PLACE = "place"
    """Where in the picture it is, and what stands next to it."""
    RELATION = "relation"
    """On which side of its neighbour it is."""
    COUNT = "count"
    """How many objects are in the picture, and where it is."""


@dataclass(frozen=True, slots=True)
class VisibleThing:
    """An object as one camera has it.

    Attributes:
        colour: Its colour.
        kind: Its kind.
        u: Where its centre appears, 0 is the left edge of the picture and 1 the right.
        v: 0 is the upper edge and 1 the lower.
        x_m: Its centre in the base frame.
        y_m: Its centre in the base frame.
    """

    colour: Colour
    kind: Kind
    u: float
    v: float
    x_m: float
    y_m: float

    @property
    def in_picture(self) -> bool:
        """Whether the camera has its centre."""
        return 0.0 <= self.u <= 1.0 and 0.0 <= self.v <= 1.0

    def is_a(self, thing: Thing) -> bool:
        """Whether people would call it so."""
        return self.colour is thing.colour and self.kind is thing.kind


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


def true_answer(task: Instruction, things: Sequence[VisibleThing], style: Style) -> str:
    """Answer a task in about ten words from the truth.

    Args:
        task: The task.
        things: Everything on the table, with where one camera has it.
        style: What to mention.
    """
    seen = [thing for thing in things if thing.in_picture]
    target = next((thing for thing in seen if thing.is_a(task.object)), None)
    if target is None:
        return f"I see no {task.object} in this picture."
    advice = _ADVICE[task.verb]
    if task.destination is not None:
        return _with_destination(task, target, seen, style)
    others = [thing for thing in seen if thing is not target]
    if style is Style.COUNT:
        return f"Of {_NUMBERS[min(len(seen), 10)]} objects the {task.object} is {_place(target)}; {advice}."
    if not others:
        return f"The {task.object} is {_place(target)}, alone; {advice}."
    beside = min(others, key=lambda other: np.hypot(other.x_m - target.x_m, other.y_m - target.y_m))
    name = f"{beside.colour} {beside.kind}"
    if style is Style.RELATION:
        return f"I see the {task.object} {_side(target, beside)} the {name}; {advice}."
    return f"The {task.object} is {_place(target)}, by the {name}; {advice}."


def _with_destination(
    task: Instruction, target: VisibleThing, seen: Sequence[VisibleThing], style: Style
) -> str:
    advice = _ADVICE[task.verb]
    goal = None
    if task.destination is not None:
        goal = next((thing for thing in seen if thing.is_a(task.destination)), None)
    if goal is None:
        return f"The {task.object} is {_place(target)}, but I see no {task.destination}."
    if style is Style.RELATION:
        return f"I see the {task.object} {_side(target, goal)} the {task.destination}; {advice}."
    return f"The {task.object} is {_place(target)}, the {task.destination} {_place(goal)}; {advice}."


def _place(thing: VisibleThing) -> str:
    """Say where in the picture, for the one who looks at it: "low left", "high", "in the middle"."""
    across = ("left", "", "right")[int(np.digitize(thing.u, _THIRDS))]
    along = ("high", "", "low")[int(np.digitize(thing.v, _THIRDS))]
    return " ".join(word for word in (along, across) if word) or "in the middle"


def _side(target: VisibleThing, other: VisibleThing) -> str:
    """Say on which side of ``other`` the target is in the picture; 4 : 3 pictures."""
    du, dv = (target.u - other.u) * 4 / 3, target.v - other.v
    if abs(du) >= abs(dv):
        return "left of" if du < 0 else "right of"
    return "above" if dv < 0 else "below"
