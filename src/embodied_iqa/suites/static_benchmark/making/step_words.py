"""Steps of an instruction in words, one for each waypoint of the expert."""

from __future__ import annotations

from typing import Final

from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

_FETCH: Final = (
    "moving the open gripper above the {o}",
    "lowering the open gripper to the {o}",
    "closing the gripper on the {o}",
    "lifting the {o}",
)
_PUT_DOWN: Final = (
    "carrying the {o} to the {d}",
    "lowering the {o} to the {d}",
    "releasing the {o} at the {d}",
    "moving the open gripper up from the {o}",
)
WAYPOINT_WORDS: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: (*_FETCH, *_PUT_DOWN),
    Verb.INSERT: (*_FETCH, *_PUT_DOWN),
    Verb.MOVE: (*_FETCH, *_PUT_DOWN),
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
        "moving the gripper up, away from the {o}",
    ),
}
"""What the robot does on the way to each waypoint of `world.manipulation.planner`.

All of them name the object. Verbs without words have no two steps that the middle of an episode shows: an
image of pressing is the same on the way down and up, picking and twisting are on one step there.
"""


def worded(words: str, instruction: Instruction) -> str:
    """Return a step with the names of the objects."""
    return words.format(o=instruction.object, d=instruction.destination)
