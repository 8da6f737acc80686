"""Scenes made from a seed: objects and their positions, background and light."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.scenes.places import draw_places
from embodied_iqa.tasks.instruction import Instruction, Thing
from embodied_iqa.tasks.vocabulary import (
    CATEGORY_OF_KIND,
    DESTINATIONS_OF_VERB,
    KINDS_OF_VERB,
    Category,
    Colour,
    Kind,
    Mark,
    Verb,
)

OBJECT_RGB: Final[dict[Colour, tuple[float, float, float]]] = {
    Colour.RED: (0.82, 0.07, 0.08),
    Colour.ORANGE: (0.95, 0.42, 0.03),
    Colour.YELLOW: (0.93, 0.80, 0.06),
    Colour.GREEN: (0.08, 0.55, 0.16),
    Colour.BLUE: (0.06, 0.22, 0.78),
    Colour.PURPLE: (0.46, 0.11, 0.60),
}
"""The paint of each colour, linear RGB in [0, 1]."""

TABLE_RGB: Final = (0.80, 0.76, 0.70)
"""The tint of a table, before its seeded deviation."""

_COMMON: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL, Kind.BUTTON)
"""Kinds on a table without a task, and beside the objects of every task."""
_ALL_ROUND: Final = (*_COMMON, Kind.POT, Kind.LID, Kind.PEG, Kind.SOCKET, Kind.MAT, Kind.KNOB)
"""Kinds beside the objects of verbs that need more than the common kinds: no beads, no drawer."""
_COMMON_VERBS: Final = (Verb.PICK, Verb.PUSH, Verb.PRESS)
_YAW_RAD: Final[dict[Kind, float]] = {
    Kind.CUBE: np.pi / 4,
    Kind.BUTTON: np.pi / 4,
    Kind.POT: np.pi / 4,
    Kind.SOCKET: np.pi / 12,
    Kind.MAT: np.pi / 4,
    Kind.KNOB: 0.15,
}
"""The maximum yaw of each kind; others look the same at any yaw, or face the robot."""


class Background(StrEnum):
    """Materials of table, wall and floor."""

    WOOD = "wood"
    OAK = "oak"
    SANDSTONE = "sandstone"
    MARBLE = "marble"
    LINEN = "linen"


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object on the table.

    Attributes:
        kind: Its kind.
        colour: Its named colour.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical.
        rgb: Its paint in [0, 1]: the named colour with a slight, seeded deviation.
        mark: What is printed on it; None for nothing.
    """

    kind: Kind
    colour: Colour
    x_m: float
    y_m: float
    yaw_rad: float
    rgb: tuple[float, float, float]
    mark: Mark | None = None

    @property
    def thing(self) -> Thing:
        """Its colour, kind and mark, as people name it."""
        return Thing(self.colour, self.kind, self.mark)


@dataclass(frozen=True, slots=True)
class Light:
    """The lamps.

    Attributes:
        brightness: 1 is normal.
        azimuth_rad: Turn of the main lamp about the vertical, 0 is normal.
        warmth: From -1 (bluish) to 1 (yellowish); 0 is white.
    """

    brightness: float = 1.0
    azimuth_rad: float = 0.0
    warmth: float = 0.0


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a picture of the cell depends on, except the state of robot and objects.

    Attributes:
        seed: The seed it was made from.
        objects: Four to six; first the object of the task, then its destination. Their colours differ, but
            an object whose mark the task names has a look-alike with another mark.
        light: The lamps.
        background: Materials of table, wall and floor.
        table_rgb: Tint of the table in [0, 1].
    """

    seed: int
    objects: tuple[SceneObject, ...]
    light: Light
    background: Background
    table_rgb: tuple[float, float, float]

    @property
    def category(self) -> Category:
        """The category of the main object: the first."""
        return CATEGORY_OF_KIND[self.objects[0].kind]


def make_scene(seed: int, instruction: Instruction | None = None) -> Scene:
    """Draw a scene: the same seed and instruction give the same scene on every machine.

    Args:
        seed: Any integer from 0.
        instruction: If given, the scene contains its objects, and no others of their colours but look-alikes:
            for each object whose mark it names, one of the same kind and colour with another mark.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x5CE9E]))
    things = _things(rng, instruction)
    places = draw_places(rng, [thing.kind for thing in things], instruction)
    objects = tuple(
        SceneObject(
            thing.kind, thing.colour, x, y, _yaw(rng, thing.kind), _paint(rng, thing.colour), thing.mark
        )
        for thing, (x, y) in zip(things, places, strict=True)
    )
    tint = np.array(TABLE_RGB) * rng.uniform(0.88, 1.08) + rng.uniform(-0.03, 0.03, 3)
    red, green, blue = (float(value) for value in np.clip(tint, 0.0, 1.0))
    brightness = float(rng.uniform(0.85, 1.12))
    light = Light(brightness, float(rng.uniform(-0.9, 0.9)), float(rng.uniform(-1.0, 1.0)))
    background = list(Background)[rng.integers(len(Background))]
    return Scene(seed, objects, light, background, (red, green, blue))


def draw_instruction(verb: Verb, seed: int) -> Instruction:
    """Draw kinds and colours for a verb; the same seed gives the same task.

    Args:
        verb: What to do.
        seed: Any integer from 0; `make_scene` with the task gives a scene for it.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C]))
    first, second = (list(Colour)[index] for index in rng.permutation(len(Colour))[:2])
    kinds, destinations = KINDS_OF_VERB[verb], DESTINATIONS_OF_VERB[verb]
    thing = Thing(first, kinds[rng.integers(len(kinds))])
    if not destinations:
        return Instruction(verb, thing)
    return Instruction(verb, thing, Thing(second, destinations[rng.integers(len(destinations))]))


def find_object(scene: Scene, instruction: Instruction) -> int:
    """Return the index of the instruction's object.

    Raises:
        UsageError: The scene has no object of that colour and kind.
    """
    return _find(scene, instruction.object)


def find_destination(scene: Scene, instruction: Instruction) -> int | None:
    """Return the index of the instruction's destination; None if the verb has none.

    Raises:
        UsageError: The scene has no object of that colour and kind.
    """
    return None if instruction.destination is None else _find(scene, instruction.destination)


def tasks_of(scene: Scene) -> tuple[Instruction, ...]:
    """Return every task that the scene affords, in the order of verbs and objects."""
    return tuple(
        Instruction(verb, item.thing, destination)
        for verb in Verb
        for item in scene.objects
        if item.kind in KINDS_OF_VERB[verb]
        for destination in _destinations(scene, verb)
    )


def _destinations(scene: Scene, verb: Verb) -> list[Thing | None]:
    wanted = DESTINATIONS_OF_VERB[verb]
    return [item.thing for item in scene.objects if item.kind in wanted] if wanted else [None]


def _find(scene: Scene, thing: Thing) -> int:
    found = [index for index, item in enumerate(scene.objects) if thing.fits(item.thing)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        "several objects of the scene fit the description" if found else "the scene has no such object",
        got=str(thing),
        available=[str(item.thing) for item in scene.objects],
    )


def _things(rng: np.random.Generator, instruction: Instruction | None) -> list[Thing]:
    """Draw colours and kinds; the instruction's come first."""
    count = int(rng.integers(4, 7))
    colours = [list(Colour)[index] for index in rng.permutation(len(Colour))]
    common = instruction is None or instruction.verb in _COMMON_VERBS
    choice = _COMMON if common else _ALL_ROUND
    kinds = [choice[index] for index in rng.integers(0, len(choice), count)]
    if instruction is not None:
        wanted = [instruction.object, *([instruction.destination] if instruction.destination else [])]
        named = [thing.colour for thing in wanted]
        colours = named + [colour for colour in colours if colour not in named]
        kinds[: len(wanted)] = [thing.kind for thing in wanted]
    things = [Thing(colour, kind) for colour, kind in zip(colours, kinds, strict=False)]
    return things if instruction is None else _with_look_alikes(rng, things, instruction)


def _with_look_alikes(rng: np.random.Generator, things: list[Thing], instruction: Instruction) -> list[Thing]:
    """Give the task's objects their marks, and each marked one a look-alike; the number of objects stays."""
    wanted = [instruction.object, *([instruction.destination] if instruction.destination else [])]
    twins = []
    for thing in wanted:
        if thing.mark is not None:
            marks = [mark for mark in Mark if mark is not thing.mark]
            twins.append(replace(thing, mark=marks[int(rng.integers(len(marks)))]))
    count = max(len(things), len(wanted) + len(twins))
    return [*wanted, *twins, *things[len(wanted) :]][:count]


def _yaw(rng: np.random.Generator, kind: Kind) -> float:
    part = float(rng.uniform(-np.pi / 4, np.pi / 4)) / (np.pi / 4)
    return part * _YAW_RAD.get(kind, 0.0)


def _paint(rng: np.random.Generator, colour: Colour) -> tuple[float, float, float]:
    red, green, blue = np.clip(np.array(OBJECT_RGB[colour]) + rng.uniform(-0.03, 0.03, 3), 0.0, 1.0)
    return float(red), float(green), float(blue)
