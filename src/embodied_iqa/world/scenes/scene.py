"""Scenes made from a seed: objects and their positions, background and light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.world.manipulation.shapes import ObjectShape, shape_of
from embodied_iqa.world.scenes.clutter import Clutter, draw_clutter
from embodied_iqa.world.scenes.places import draw_places, draw_yaw
from embodied_iqa.world.tasks.instruction import Instruction, Thing, shortest_names
from embodied_iqa.world.tasks.vocabulary import (
    CATEGORY_OF_KIND,
    DESTINATIONS_OF_VERB,
    KINDS_OF_VERB,
    MARKED_KINDS,
    SIZED_KINDS,
    Category,
    Colour,
    Kind,
    Mark,
    Size,
    Verb,
)

WORLD_VERSION: Final = 2
"""Changes where a seed gives another scene or another image of it."""

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
_NAMED_DETAIL: Final = 0.8
"""Share of the tasks that name a mark or a size, where their objects can have them."""
_SIZE_NAMED: Final = 0.3
"""Share of sizes among these, where an object can have both."""
_MARKED: Final = 0.7
_SIZED: Final = 0.4
"""Shares of the objects with a mark, and with another size than the ordinary one."""


# to go through an enumeration takes ten times as long
_COLOURS: Final = tuple(Colour)
_MARKS: Final = tuple(Mark)
_SIZES: Final = tuple(Size)


class Background(StrEnum):
    """Materials of table, wall and floor."""

    WOOD = "wood"
    OAK = "oak"
    SANDSTONE = "sandstone"
    MARBLE = "marble"
    LINEN = "linen"
    TARTAN = "tartan"
    TERRAZZO = "terrazzo"


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
        size: Small or large; None for the ordinary size of its kind.
        gloss: How much its paint shines, from 0 (matt) to 1.
    """

    kind: Kind
    colour: Colour
    x_m: float
    y_m: float
    yaw_rad: float
    rgb: tuple[float, float, float]
    mark: Mark | None = None
    size: Size | None = None
    gloss: float = 0.35

    @property
    def thing(self) -> Thing:
        """All that people could name of it: its colour, kind, mark and size."""
        return Thing(self.colour, self.kind, self.mark, self.size)

    @property
    def shape(self) -> ObjectShape:
        """Its outer size."""
        return shape_of(self.kind, self.size)


@dataclass(frozen=True, slots=True)
class Light:
    """The lamps.

    Attributes:
        brightness: 1 is normal.
        azimuth_rad: Turn of the main lamp about the vertical, 0 is normal.
        warmth: From -1 (bluish) to 1 (yellowish); 0 is white.
        tilt: Tangent of the angle between the main lamp's light and the vertical.
        shadow: Opacity of the shadows in [0, 1].
        softness: Width of a shadow's edge, as a part of the height that casts it.
    """

    brightness: float = 1.0
    azimuth_rad: float = 0.0
    warmth: float = 0.0
    tilt: float = 0.25
    shadow: float = 0.4
    softness: float = 0.3


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything an image of the cell depends on, except the state of robot and objects.

    Attributes:
        seed: The seed it was made from.
        objects: Four to seven; first the object of the task, then its destination. Their colours differ, but
            an object whose mark or size the task names has look-alikes.
        light: The lamps.
        background: Materials of table, wall and floor.
        table_rgb: Tint of the table in [0, 1].
        clutter: Flat things on the table that no task names; they are only visual.
        arm: Which arm stands at the table, one of `CELL_ARMS`.
    """

    seed: int
    objects: tuple[SceneObject, ...]
    light: Light
    background: Background
    table_rgb: tuple[float, float, float]
    clutter: tuple[Clutter, ...] = ()
    arm: ArmModel = ArmModel.UR5

    @property
    def names(self) -> tuple[Thing, ...]:
        """The shortest name of each object: colour and kind, and what tells it from others of these."""
        return shortest_names([item.thing for item in self.objects])

    @property
    def category(self) -> Category:
        """The category of the main object: the first."""
        return CATEGORY_OF_KIND[self.objects[0].kind]


def make_scene(seed: int, instruction: Instruction | None = None, arm: ArmModel = ArmModel.UR5) -> Scene:
    """Draw a scene: the same seed and instruction give the same scene on every machine.

    Args:
        seed: Any integer from 0.
        instruction: If given, the scene contains its objects, and no others of their colours but look-alikes:
            for each object whose mark or size it names, one of the same kind and colour that differs only
            in its mark, or only in its size. Without an instruction, most scenes have such a pair too.
        arm: Which arm stands at the table.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x5CE9E]))
    things, places = _standing(rng, instruction)
    objects = tuple(
        SceneObject(
            thing.kind,
            thing.colour,
            x,
            y,
            draw_yaw(rng, thing.kind),
            _paint(rng, thing.colour),
            thing.mark,
            thing.size,
            float(rng.uniform(0.0, 1.0)),
        )
        for thing, (x, y) in zip(things, places, strict=True)
    )
    tint = np.array(TABLE_RGB) * rng.uniform(0.88, 1.08) + rng.uniform(-0.03, 0.03, 3)
    red, green, blue = (float(value) for value in np.clip(tint, 0.0, 1.0))
    light = Light(
        float(rng.uniform(0.85, 1.12)),
        azimuth_rad=float(rng.uniform(-0.9, 0.9)),
        warmth=float(rng.uniform(-1.0, 1.0)),
        tilt=float(rng.uniform(0.1, 0.7)),
        shadow=float(rng.uniform(0.25, 0.6)),
        softness=float(rng.uniform(0.15, 0.6)),
    )
    background = list(Background)[rng.integers(len(Background))]
    circles = [(item.x_m, item.y_m, item.shape.radius_m) for item in objects]
    return Scene(seed, objects, light, background, (red, green, blue), draw_clutter(rng, circles), arm)


def draw_instruction(verb: Verb, seed: int) -> Instruction:
    """Draw kinds, colours, and mostly a mark or a size for a verb; the same seed gives the same task.

    Args:
        verb: What to do.
        seed: Any integer from 0; `make_scene` with the task gives a scene for it.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C]))
    first, second = (_COLOURS[index] for index in rng.permutation(len(_COLOURS))[:2])
    kinds, destinations = KINDS_OF_VERB[verb], DESTINATIONS_OF_VERB[verb]
    thing = _with_detail(rng, Thing(first, kinds[rng.integers(len(kinds))]), _NAMED_DETAIL)
    if not destinations:
        return Instruction(verb, thing)
    goal = Thing(second, destinations[rng.integers(len(destinations))])
    return Instruction(verb, thing, _with_detail(rng, goal, _NAMED_DETAIL / 2))


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
    names = scene.names
    return tuple(
        Instruction(verb, thing, destination)
        for verb in Verb
        for thing in names
        if thing.kind in KINDS_OF_VERB[verb]
        for destination in _destinations(names, verb)
        if destination is None or destination.colour is not thing.colour
    )


def _destinations(names: Sequence[Thing], verb: Verb) -> list[Thing | None]:
    wanted = DESTINATIONS_OF_VERB[verb]
    return [thing for thing in names if thing.kind in wanted] if wanted else [None]


def _find(scene: Scene, thing: Thing) -> int:
    found = [index for index, item in enumerate(scene.objects) if thing.fits(item.thing)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        "several objects of the scene fit the description" if found else "the scene has no such object",
        got=str(thing),
        available=[str(thing) for thing in scene.names],
    )


def _standing(
    rng: np.random.Generator, instruction: Instruction | None
) -> tuple[list[Thing], list[tuple[float, float]]]:
    """Draw objects and their places; other objects where the first ones have no room."""
    while True:
        things = _things(rng, instruction)
        places = draw_places(rng, things, instruction)
        if places is not None:
            return things, places


def _things(rng: np.random.Generator, instruction: Instruction | None) -> list[Thing]:
    """Draw colours, kinds, marks and sizes; the instruction's objects come first, then their look-alikes."""
    count = int(rng.integers(4, 7))
    colours = [_COLOURS[index] for index in rng.permutation(len(_COLOURS))]
    common = instruction is None or instruction.verb in _COMMON_VERBS
    choice = _COMMON if common else _ALL_ROUND
    kinds = [choice[index] for index in rng.integers(0, len(choice), count)]
    wanted: list[Thing] = []
    if instruction is None:
        wanted = [_with_detail(rng, Thing(colours[0], kinds[0]), _NAMED_DETAIL)]
    else:
        wanted = [instruction.object, *([instruction.destination] if instruction.destination else [])]
    named = [thing.colour for thing in wanted]
    plain = zip((colour for colour in colours if colour not in named), kinds[len(wanted) :], strict=False)
    others = [_dressed(rng, Thing(colour, kind)) for colour, kind in plain]
    dressed = [_dressed(rng, thing) for thing in wanted]
    twins = [twin for pair in zip(wanted, dressed, strict=True) for twin in _look_alikes(rng, *pair)]
    return [*dressed, *twins, *others][: max(count, len(dressed) + len(twins))]


def _look_alikes(rng: np.random.Generator, named: Thing, whole: Thing) -> Iterator[Thing]:
    """Yield an object that differs only in the named mark, and one that differs only in the named size."""
    if named.mark is not None:
        marks = [mark for mark in _MARKS if mark is not named.mark]
        yield replace(whole, mark=marks[int(rng.integers(len(marks)))])
    if named.size is not None:
        yield replace(whole, size=Size.LARGE if named.size is Size.SMALL else Size.SMALL)


def _with_detail(rng: np.random.Generator, thing: Thing, share: float) -> Thing:
    """Return the thing with a mark or a size, in this share of the cases, where it can have one."""
    named, by_size = rng.random() < share, rng.random() < _SIZE_NAMED
    mark, size = _MARKS[rng.integers(len(_MARKS))], _SIZES[rng.integers(len(_SIZES))]
    if not named or thing.kind not in MARKED_KINDS:
        return thing
    return replace(thing, size=size) if by_size and thing.kind in SIZED_KINDS else replace(thing, mark=mark)


def _dressed(rng: np.random.Generator, thing: Thing) -> Thing:
    """Return the thing with a mark and a size where it names none; many objects have neither."""
    marked, sized = rng.random() < _MARKED, rng.random() < _SIZED
    mark, size = _MARKS[rng.integers(len(_MARKS))], _SIZES[rng.integers(len(_SIZES))]
    if thing.mark is None and marked and thing.kind in MARKED_KINDS:
        thing = Thing(thing.colour, thing.kind, mark, thing.size)
    if thing.size is None and sized and thing.kind in SIZED_KINDS:
        thing = Thing(thing.colour, thing.kind, thing.mark, size)
    return thing


def _paint(rng: np.random.Generator, colour: Colour) -> tuple[float, float, float]:
    red, green, blue = np.clip(np.array(OBJECT_RGB[colour]) + rng.uniform(-0.03, 0.03, 3), 0.0, 1.0)
    return float(red), float(green), float(blue)
