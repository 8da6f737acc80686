"""Vocabulary of tasks: ten verbs, six colours, the kinds of objects that afford each verb, and synonyms."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Verb(StrEnum):
    """What the robot is to do."""

    COVER = "cover"
    INSERT = "insert"
    MOVE = "move"
    PICK = "pick"
    PLACE = "place"
    POUR = "pour"
    PRESS = "press"
    PULL = "pull"
    PUSH = "push"
    TWIST = "twist"


class Colour(StrEnum):
    """The six colours of objects."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"


class Kind(StrEnum):
    """The kinds of objects."""

    CUBE = "cube"
    CYLINDER = "cylinder"
    BALL = "ball"
    BOWL = "bowl"
    BUTTON = "button"
    CUP = "cup"
    POT = "pot"
    LID = "lid"
    PEG = "peg"
    SOCKET = "socket"
    MAT = "mat"
    KNOB = "knob"
    DRAWER = "drawer"


class Mark(StrEnum):
    """What is printed on an object: a pattern, or a character as in "the cube marked 3"."""

    STRIPED = "striped"
    DOTTED = "dotted"
    RINGED = "ringed"
    CROSSED = "crossed"
    A = "A"
    B = "B"
    ONE = "1"
    TWO = "2"
    THREE = "3"

    @property
    def is_character(self) -> bool:
        """Whether it is a letter or a digit, which stands after the noun."""
        return len(self) == 1


MARKED_KINDS: Final = (
    Kind.CUBE,
    Kind.CYLINDER,
    Kind.BALL,
    Kind.BOWL,
    Kind.BUTTON,
    Kind.CUP,
    Kind.LID,
    Kind.MAT,
    Kind.DRAWER,
)
"""Kinds of objects that can have a mark."""


class Size(StrEnum):
    """A size other than the ordinary one of a kind."""

    SMALL = "small"
    LARGE = "large"


SIZED_KINDS: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL)
"""Kinds of objects that can be small or large."""


class Category(StrEnum):
    """Category of objects, by which results are broken down."""

    TOY = "toy"
    DISH = "dish"
    PART = "part"
    CONTROL = "control"
    FURNITURE = "furniture"


CATEGORY_OF_KIND: Final[dict[Kind, Category]] = {
    Kind.CUBE: Category.TOY,
    Kind.CYLINDER: Category.TOY,
    Kind.BALL: Category.TOY,
    Kind.BOWL: Category.DISH,
    Kind.CUP: Category.DISH,
    Kind.POT: Category.DISH,
    Kind.LID: Category.DISH,
    Kind.PEG: Category.PART,
    Kind.SOCKET: Category.PART,
    Kind.BUTTON: Category.CONTROL,
    Kind.KNOB: Category.CONTROL,
    Kind.MAT: Category.FURNITURE,
    Kind.DRAWER: Category.FURNITURE,
}

_TOYS: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL)

KINDS_OF_VERB: Final[dict[Verb, tuple[Kind, ...]]] = {
    Verb.COVER: (Kind.LID,),
    Verb.INSERT: (Kind.PEG,),
    Verb.MOVE: _TOYS,
    Verb.PICK: _TOYS,
    Verb.PLACE: _TOYS,
    Verb.POUR: (Kind.CUP,),
    Verb.PRESS: (Kind.BUTTON,),
    Verb.PULL: (Kind.DRAWER,),
    Verb.PUSH: (*_TOYS, Kind.BOWL),
    Verb.TWIST: (Kind.KNOB,),
}
"""Kinds of objects that afford each verb, as the handled object."""

DESTINATIONS_OF_VERB: Final[dict[Verb, tuple[Kind, ...]]] = {
    Verb.COVER: (Kind.POT,),
    Verb.INSERT: (Kind.SOCKET,),
    Verb.MOVE: (Kind.MAT,),
    Verb.PICK: (),
    Verb.PLACE: (Kind.BOWL,),
    Verb.POUR: (Kind.BOWL,),
    Verb.PRESS: (),
    Verb.PULL: (),
    Verb.PUSH: (),
    Verb.TWIST: (),
}
"""Kinds of the second object to which the verb brings the handled one; empty for verbs with one object."""

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
"""Meanings of a verb, the likeliest first; the objects decide."""

COLOUR_WORDS: Final[dict[str, Colour]] = {str(colour): colour for colour in Colour} | {
    "violet": Colour.PURPLE,
}

PATTERN_WORDS: Final[dict[str, Mark]] = {str(mark): mark for mark in Mark if not mark.is_character} | {
    "spotted": Mark.DOTTED
}
"""Words in front of the colour."""

SIZE_WORDS: Final[dict[str, Size]] = {
    "small": Size.SMALL,
    "little": Size.SMALL,
    "large": Size.LARGE,
    "big": Size.LARGE,
}
"""Words in front of the pattern and the colour."""

CHARACTERS: Final[dict[str, Mark]] = {str(mark).lower(): mark for mark in Mark if mark.is_character}
"""Words after "marked", in lower case."""

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
"""Between two objects: the first one is the destination, as in "cover the pot with the lid"."""

IGNORED_WORDS: Final = frozenset({
    "a", "an", "away", "beads", "can", "carefully", "content", "contents", "could", "down", "from",
    "gently", "in", "inside", "into", "its", "now", "of", "off", "on", "onto", "out", "over", "please",
    "the", "then", "to", "top", "towards", "up", "with", "would", "you", "robot"
})  # fmt: skip
"""Words without influence on the meaning."""
