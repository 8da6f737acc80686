"""A scene: which objects stand where, under which light. Made from a seed, the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.subjects.instruction import KINDS_OF_VERB, Colour, Instruction, Kind, Verb
from embodied_iqa.subjects.object_shapes import SHAPES

__all__ = ["OBJECT_RGB", "Scene", "SceneObject", "find_object", "make_scene", "tasks_of"]

OBJECT_RGB: Final[dict[Colour, tuple[float, float, float]]] = {
    Colour.RED: (0.82, 0.07, 0.08),
    Colour.ORANGE: (0.95, 0.42, 0.03),
    Colour.YELLOW: (0.93, 0.80, 0.06),
    Colour.GREEN: (0.08, 0.55, 0.16),
    Colour.BLUE: (0.06, 0.22, 0.78),
    Colour.PURPLE: (0.46, 0.11, 0.60),
}
"""The paint of each colour, linear in [0, 1]."""

OBJECTS_X_M: Final = (-0.68, -0.36)
OBJECTS_Y_M: Final = (-0.26, 0.26)
GAP_M: Final = 0.045
"""Free space between two objects: a finger fits."""
MIN_DISTANCE_M: Final = 0.115


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object, standing on the table.

    Attributes:
        kind: Its kind.
        colour: The colour that people call it.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical.
        rgb: Its paint in [0, 1]: the named colour with a slight, seeded deviation.
    """

    kind: Kind
    colour: Colour
    x_m: float
    y_m: float
    yaw_rad: float
    rgb: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a picture of the cell depends on, but for the state of robot and objects.

    Attributes:
        seed: Where it came from.
        objects: Four to six, each of another colour.
        light: Brightness of the lamps, 1 is normal.
        table_rgb: Tint of the table in [0, 1].
    """

    seed: int
    objects: tuple[SceneObject, ...]
    light: float
    table_rgb: tuple[float, float, float]


def make_scene(seed: int, instruction: Instruction | None = None) -> Scene:
    """Draw a scene: the same seed and instruction give the same scene on every machine.

    Args:
        seed: Any integer from 0.
        instruction: Where given, its object is surely there, once, and of the only such colour.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x5CE9E]))
    count = int(rng.integers(4, 7))
    colours = [list(Colour)[index] for index in rng.permutation(len(Colour))]
    kinds = [list(Kind)[index] for index in rng.integers(0, len(Kind), count)]
    if instruction is not None:
        colours.remove(instruction.colour)
        colours.insert(0, instruction.colour)
        kinds[0] = instruction.kind
    places = _places(rng, kinds)
    objects = tuple(
        SceneObject(kind, colour, x, y, _yaw(rng, kind), _paint(rng, colour))
        for kind, colour, (x, y) in zip(kinds, colours, places, strict=False)
    )
    tint = np.array([0.80, 0.76, 0.70]) * rng.uniform(0.88, 1.08) + rng.uniform(-0.03, 0.03, 3)
    red, green, blue = (float(value) for value in np.clip(tint, 0.0, 1.0))
    return Scene(seed, objects, float(rng.uniform(0.85, 1.12)), (red, green, blue))


def find_object(scene: Scene, instruction: Instruction) -> int:
    """Return the index of the object that the instruction names.

    Raises:
        UsageError: No object of that colour and kind stands in the scene.
    """
    for index, item in enumerate(scene.objects):
        if item.colour is instruction.colour and item.kind is instruction.kind:
            return index
    raise UsageError(
        "the scene has no such object",
        got=f"{instruction.colour} {instruction.kind}",
        available=[f"{item.colour} {item.kind}" for item in scene.objects],
    )


def tasks_of(scene: Scene) -> tuple[Instruction, ...]:
    """List every task that the scene affords, in the order of verbs and objects."""
    return tuple(
        Instruction(verb, item.colour, item.kind)
        for verb in Verb
        for item in scene.objects
        if item.kind in KINDS_OF_VERB[verb]
    )


def _places(rng: np.random.Generator, kinds: list[Kind]) -> list[tuple[float, float]]:
    """Draw places that keep their distance; begin again where the draw runs into a corner."""
    while True:
        places: list[tuple[float, float]] = []
        for kind in kinds:
            place = _place(rng, kind, kinds, places)
            if place is None:
                break
            places.append(place)
        if len(places) == len(kinds):
            return places


def _place(
    rng: np.random.Generator, kind: Kind, kinds: list[Kind], places: list[tuple[float, float]]
) -> tuple[float, float] | None:
    for _ in range(50):
        x, y = float(rng.uniform(*OBJECTS_X_M)), float(rng.uniform(*OBJECTS_Y_M))
        clear = all(
            np.hypot(x - other_x, y - other_y) >= _distance_m(kind, other)
            for other, (other_x, other_y) in zip(kinds, places, strict=False)
        )
        if clear:
            return x, y
    return None


def _distance_m(kind: Kind, other: Kind) -> float:
    return max(MIN_DISTANCE_M, SHAPES[kind].radius_m + SHAPES[other].radius_m + GAP_M)


def _yaw(rng: np.random.Generator, kind: Kind) -> float:
    yaw = float(rng.uniform(-np.pi / 4, np.pi / 4))
    return yaw if kind in (Kind.CUBE, Kind.BUTTON) else 0.0


def _paint(rng: np.random.Generator, colour: Colour) -> tuple[float, float, float]:
    red, green, blue = np.clip(np.array(OBJECT_RGB[colour]) + rng.uniform(-0.03, 0.03, 3), 0.0, 1.0)
    return float(red), float(green), float(blue)
