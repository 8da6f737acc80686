"""Steps of an instruction in words: coarse ones for plans, and one for each waypoint of the expert."""

from __future__ import annotations

from typing import Final

from embodied_iqa.tasks.instruction import Instruction
from embodied_iqa.tasks.vocabulary import Verb

_PUT: Final = ("grip the {o}", "lift the {o}", "carry the {o} above the {d}")
PLAN_WORDS: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: (*_PUT, "set the {o} down on the {d}"),
    Verb.INSERT: (*_PUT, "lower the {o} into the {d}"),
    Verb.MOVE: (*_PUT, "set the {o} down on the {d}"),
    Verb.PICK: ("move the open gripper above the {o}", "grip the {o}", "lift the {o}"),
    Verb.PLACE: (*_PUT, "release the {o} in the {d}"),
    Verb.POUR: (*_PUT, "tilt the {o} over the {d}"),
    Verb.PRESS: (
        "move the closed gripper above the {o}",
        "press the {o} down",
        "move the gripper up from the {o}",
    ),
    Verb.PULL: ("grip the handle of the {o}", "pull the {o} open", "let the handle of the {o} go"),
    Verb.PUSH: (
        "lower the gripper on the near side of the {o}",
        "push the {o} away",
        "back away from the {o}",
    ),
    Verb.TWIST: ("grip the {o}", "turn the {o}", "open the gripper and leave the {o}"),
}
"""Sub-tasks of each verb in their order; each one is needed, and needs those before it."""

_FETCH: Final = (
    "moving the open gripper above the {o}",
    "lowering the open gripper to the {o}",
    "closing the gripper on the {o}",
    "lifting the {o}",
)
_PUT_DOWN: Final = (
    "carrying the {o} to the {d}",
    "lowering the {o} to the {d}",
    "opening the gripper at the {d}",
    "moving the open gripper up from the {d}",
)
WAYPOINT_WORDS: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: (*_FETCH, *_PUT_DOWN),
    Verb.INSERT: (*_FETCH, *_PUT_DOWN),
    Verb.MOVE: (*_FETCH, *_PUT_DOWN),
    Verb.PICK: _FETCH,
    Verb.PLACE: (*_FETCH, *_PUT_DOWN),
    Verb.POUR: (*_FETCH, "carrying the {o} to the {d}", *["tilting the {o} over the {d}"] * 3),
    Verb.PULL: (
        "moving the open gripper above the handle of the {o}",
        "lowering the open gripper to the handle of the {o}",
        "closing the gripper on the handle of the {o}",
        "pulling the {o} open",
        "opening the gripper at the handle of the {o}",
        "moving the open gripper up from the {o}",
    ),
    Verb.PUSH: (
        "moving the gripper above the near side of the {o}",
        "lowering the gripper beside the {o}",
        "pushing the {o} away",
        "backing away from the {o}",
        "moving the gripper up from the table",
    ),
    Verb.TWIST: (
        "moving the open gripper above the {o}",
        "lowering the open gripper to the {o}",
        "closing the gripper on the {o}",
        *["turning the {o}"] * 2,
        "opening the gripper at the {o}",
        "moving the open gripper up from the {o}",
    ),
}
"""What the robot does on the way to each waypoint of `manipulation.planner`.

Pressing has none: a picture of the way down equals one of the way up.
"""


def worded(words: str, instruction: Instruction) -> str:
    """Return a step with the names of the objects."""
    return words.format(o=instruction.object, d=instruction.destination)
