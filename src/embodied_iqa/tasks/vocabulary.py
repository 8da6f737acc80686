"""The language of tasks: ten verbs, six colours and the kinds of objects that afford each verb."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.errors import UsageError

__all__ = [
    "CATEGORY_OF_KIND",
    "DESTINATIONS_OF_VERB",
    "KINDS_OF_VERB",
    "Category",
    "Colour",
    "Instruction",
    "Kind",
    "Thing",
    "Verb",
]


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


class Category(StrEnum):
    """What sort of thing an object is: results are broken down by it."""

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
"""Which kinds afford which verb, as what the gripper handles."""

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
"""Where the verb brings what is handled: kinds of a second object, or none."""

_PHRASE: Final = {
    Verb.COVER: "{verb} the {destination} with the {object}",
    Verb.INSERT: "{verb} the {object} in the {destination}",
    Verb.MOVE: "{verb} the {object} to the {destination}",
    Verb.PLACE: "{verb} the {object} in the {destination}",
    Verb.POUR: "{verb} the {object} into the {destination}",
}


@dataclass(frozen=True, slots=True)
class Thing:
    """An object as people name it: "red cube"."""

    colour: Colour
    kind: Kind

    def __str__(self) -> str:
        return f"{self.colour} {self.kind}"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A task in words, understood: "place the red cube in the blue bowl".

    Attributes:
        verb: What to do.
        object: What the gripper handles: of "cover the blue pot with the red lid" the lid.
        destination: What it is brought to, where the verb has one; of another colour than the object.

    Raises:
        UsageError: The object or the destination does not afford the verb.
    """

    verb: Verb
    object: Thing
    destination: Thing | None = None

    def __post_init__(self) -> None:
        if self.object.kind not in KINDS_OF_VERB[self.verb]:
            raise UsageError(
                f"a {self.object.kind} cannot be used with {self.verb}", available=KINDS_OF_VERB[self.verb]
            )
        wanted = DESTINATIONS_OF_VERB[self.verb]
        if self.destination is None:
            if wanted:
                raise UsageError(f"{self.verb} needs a second object", available=wanted)
        elif self.destination.kind not in wanted:
            raise UsageError(
                f"a {self.destination.kind} is no place to {self.verb} a {self.object.kind}",
                available=wanted or ["nothing: the verb takes one object"],
            )
        elif self.destination.colour is self.object.colour:
            raise UsageError("the two objects of a task differ in colour", got=str(self.object.colour))

    @property
    def colour(self) -> Colour:
        """The colour of what is handled."""
        return self.object.colour

    @property
    def kind(self) -> Kind:
        """The kind of what is handled."""
        return self.object.kind

    @property
    def category(self) -> Category:
        """The category of what is handled."""
        return CATEGORY_OF_KIND[self.object.kind]

    def __str__(self) -> str:
        phrase = _PHRASE.get(self.verb, "{verb} the {object}")
        return phrase.format(verb=self.verb, object=self.object, destination=self.destination)
