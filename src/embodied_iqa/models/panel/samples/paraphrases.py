"""Seeded paraphrases of a task."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Kind, Verb

_KIND_WORDS: Final[dict[Kind, str]] = {
    Kind.CUBE: "block",
    Kind.CYLINDER: "can",
    Kind.BALL: "sphere",
    Kind.BOWL: "dish",
    Kind.BUTTON: "switch",
    Kind.CUP: "mug",
    Kind.POT: "pan",
    Kind.LID: "cap",
    Kind.PEG: "pin",
    Kind.SOCKET: "holder",
    Kind.MAT: "pad",
    Kind.KNOB: "dial",
    Kind.DRAWER: "handle",
}
_PHRASES: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: ("put {object} on {destination}", "close {destination} with {object}"),
    Verb.INSERT: ("put {object} into {destination}", "plug {object} into {destination}"),
    Verb.MOVE: ("put {object} on {destination}", "bring {object} onto {destination}"),
    Verb.PICK: ("pick up {object}", "grasp {object}", "lift {object}", "take {object}"),
    Verb.PLACE: ("put {object} into {destination}", "drop {object} in {destination}"),
    Verb.POUR: ("empty {object} into {destination}", "tip {object} into {destination}"),
    Verb.PRESS: ("push down {object}", "hit {object}"),
    Verb.PULL: ("open {object}", "draw {object}"),
    Verb.PUSH: ("push {object} away", "shove {object}", "slide {object} away"),
    Verb.TWIST: ("turn {object}", "rotate {object}"),
}
_OTHER_KIND: Final = 0.25
_PLAIN: Final = 0.6
_POLITE: Final = 0.1


def reworded(task: Instruction, rng: np.random.Generator) -> str:
    """Return the task as text: mostly the canonical words, otherwise other verbs, nouns or a polite form."""
    if rng.random() < _PLAIN:
        return str(task)
    phrase = _PHRASES[task.verb][int(rng.integers(len(_PHRASES[task.verb])))]
    destination = "" if task.destination is None else _named(task.destination, rng)
    text = phrase.format(object=_named(task.object, rng), destination=destination)
    return f"please {text}" if rng.random() < _POLITE else text


def _named(thing: Thing, rng: np.random.Generator) -> str:
    kind = _KIND_WORDS[thing.kind] if rng.random() < _OTHER_KIND else str(thing.kind)
    return f"the {thing.named(kind)}"
