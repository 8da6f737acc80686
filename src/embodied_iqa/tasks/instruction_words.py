"""Words that people use for a task, and what they mean here."""

from __future__ import annotations

from typing import Final

from embodied_iqa.tasks.vocabulary import Colour, Kind, Verb

__all__ = ["COLOUR_WORDS", "IGNORED_WORDS", "KIND_WORDS", "REVERSING_WORDS", "VERB_WORDS"]

_BRING: Final = (Verb.PLACE, Verb.MOVE, Verb.INSERT, Verb.COVER)

VERB_WORDS: Final[dict[str, tuple[Verb, ...]]] = {
    "cover": (Verb.COVER,),
    "close": (Verb.COVER,),
    "insert": (Verb.INSERT,),
    "plug": (Verb.INSERT,),
    "stick": (Verb.INSERT,),
    "move": (Verb.MOVE, Verb.PUSH),
    "bring": (Verb.MOVE, Verb.PLACE),
    "carry": (Verb.MOVE, Verb.PLACE),
    "pick": (Verb.PICK,),
    "grab": (Verb.PICK,),
    "grasp": (Verb.PICK,),
    "lift": (Verb.PICK,),
    "raise": (Verb.PICK,),
    "take": (Verb.PICK,),
    "place": _BRING,
    "put": _BRING,
    "set": _BRING,
    "drop": (Verb.PLACE, Verb.MOVE),
    "pour": (Verb.POUR,),
    "empty": (Verb.POUR,),
    "tip": (Verb.POUR,),
    "fill": (Verb.POUR,),
    "press": (Verb.PRESS,),
    "hit": (Verb.PRESS,),
    "pull": (Verb.PULL,),
    "open": (Verb.PULL,),
    "draw": (Verb.PULL,),
    "push": (Verb.PUSH, Verb.PRESS),
    "shove": (Verb.PUSH,),
    "slide": (Verb.PUSH, Verb.MOVE),
    "twist": (Verb.TWIST,),
    "turn": (Verb.TWIST,),
    "rotate": (Verb.TWIST,),
}
"""What a verb can mean, the likeliest first: the objects decide."""

COLOUR_WORDS: Final[dict[str, Colour]] = {str(colour): colour for colour in Colour} | {
    "violet": Colour.PURPLE,
}

KIND_WORDS: Final[dict[str, Kind]] = {str(kind): kind for kind in Kind} | {
    "block": Kind.CUBE,
    "can": Kind.CYLINDER,
    "sphere": Kind.BALL,
    "dish": Kind.BOWL,
    "switch": Kind.BUTTON,
    "mug": Kind.CUP,
    "pan": Kind.POT,
    "cap": Kind.LID,
    "pin": Kind.PEG,
    "hole": Kind.SOCKET,
    "holder": Kind.SOCKET,
    "pad": Kind.MAT,
    "dial": Kind.KNOB,
    "handle": Kind.DRAWER,
}

REVERSING_WORDS: Final = frozenset({"with", "from"})
"""Between two objects they say that the first is the destination: "cover the pot with the lid"."""

IGNORED_WORDS: Final = frozenset({
    "a", "an", "away", "beads", "can", "carefully", "content", "contents", "could", "down", "from",
    "gently", "in", "inside", "into", "its", "now", "of", "off", "on", "onto", "out", "over", "please",
    "the", "then", "to", "top", "towards", "up", "with", "would", "you", "robot"
})  # fmt: skip
"""Words that do not change what is meant."""
