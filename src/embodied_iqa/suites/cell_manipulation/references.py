"""Words for the objects of an episode: plain, by common knowledge, by place, or by colour or shape alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from embodied_iqa.suites.cell_manipulation.cell_scene import HORIZONTAL, VERTICAL, CellScene
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.world.scenes.scene import SceneObject
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

_T = TypeVar("_T")

_COLOUR_OF: Final[dict[Colour, tuple[str, ...]]] = {
    Colour.RED: ("a ripe tomato", "a fire engine"),
    Colour.ORANGE: ("a carrot", "a pumpkin"),
    Colour.YELLOW: ("a lemon", "a ripe banana"),
    Colour.GREEN: ("fresh grass", "a cucumber"),
    Colour.BLUE: ("the sea", "a clear sky"),
    Colour.PURPLE: ("an aubergine", "a ripe plum"),
}
_SHAPED_LIKE: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.CUBE: ("shaped like a die", "shaped like a lump of sugar"),
    Kind.CYLINDER: ("shaped like a tin of soup", "shaped like a battery"),
    Kind.BALL: ("shaped like a globe", "that rolls in every direction"),
    Kind.BOWL: ("from which cereal is eaten", "in which a salad is served"),
    Kind.PEG: ("shaped like a candle", "shaped like a pencil stub"),
    Kind.SOCKET: ("with a hole in its middle", "into which a pin fits"),
}
_AREA_LIKE: Final[dict[str, tuple[str, ...]]] = {
    HORIZONTAL: ("the area that runs like the horizon", "the area that lies like a minus sign"),
    VERTICAL: ("the area that runs ahead like a road", "the area that stands like a flagpole"),
}
_MARGIN: Final = 1.4
"""A relation is used where the offset along it is this many times the offset across."""
_SURELY_M: Final = 0.04

SIDES: Final = {
    "to the left of": (0, 1),
    "to the right of": (0, -1),
    "in front of": (-1, 0),
    "behind": (1, 0),
}
"""Directions as the robot sees them: steps along the grid's X (away) and Y (to the left)."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """An object or an area, by its place on the grid's axes (m)."""

    name: str
    noun: str
    away_m: float
    left_m: float


class References:
    """Phrases for the objects and areas of a scene, drawn from a seeded generator.

    Args:
        rng: Source of the choices.
        cell: What is on the table.
        subset: Which kind of phrase.
    """

    def __init__(self, rng: np.random.Generator, cell: CellScene, subset: Subset) -> None:
        self._rng, self._cell, self._subset = rng, cell, subset
        objects = [_Placed(_name(item), str(item.kind), -item.x_m, -item.y_m) for item in cell.scene.objects]
        areas = [_Placed(area.name, "area", -area.centre_m[0], -area.centre_m[1]) for area in cell.areas]
        self._placed = {item.name: item for item in (*objects, *areas)}
        self._areas = [area.name for area in cell.areas]

    def phrase(self, name: str, used: Sequence[str]) -> str | None:
        """Return a phrase that fits only the thing with this name, None if there is none of this kind.

        Args:
            name: Of an object or an area.
            used: Names of all things of the task, to which a relation must not refer.
        """
        match self._subset:
            case Subset.COMMON_SENSE:
                return self._choice(_AREA_LIKE[name]) if name in _AREA_LIKE else self._by_knowledge(name)
            case Subset.SPATIAL:
                found = list(self._by_place(name, used))
                return self._choice(found) if found else None
            case Subset.VISUAL:
                return self._choice(list(self._by_look(name)))
        return f"the {name}"

    def _by_knowledge(self, name: str) -> str:
        item = self._object(name)
        colour, like = self._choice(_COLOUR_OF[item.colour]), self._choice(_SHAPED_LIKE[item.kind])
        phrases = [f"the {item.kind} with the colour of {colour}", f"the {item.colour} thing {like}"]
        if self._count(kind=item.kind) == 1:
            phrases.append(f"the thing {like}")
        return self._choice(phrases)

    def _by_look(self, name: str) -> Iterator[str]:
        """Yield the phrases with the colour alone, and those with the shape or the mark alone that fit."""
        item = self._object(name)
        yield f"the {item.colour} object"
        if self._count(kind=item.kind) == 1:
            yield f"the {item.kind}"
        marks = [other.mark for other in self._cell.scene.objects]
        if item.mark is not None and not item.mark.is_character and marks.count(item.mark) == 1:
            yield f"the {item.mark} object"

    def _by_place(self, name: str, used: Sequence[str]) -> Iterator[str]:
        """Yield the phrases of a relation to another object that only this thing has."""
        item = self._placed[name]
        among = [other for other in self._placed.values() if other.noun == item.noun]
        noun = item.noun
        if len(among) == 1:  # its kind alone would name it
            among = [other for other in self._placed.values() if other.name not in self._areas]
            noun = "object"
        for anchor in self._placed.values():
            if anchor.name in used or anchor.name in self._areas:
                continue
            for words, (away, left) in SIDES.items():
                rivals = [other for other in among if other is not anchor]
                truths = [_is_at(other, anchor, away, left) for other in rivals]
                if truths.count(True) == 1 and None not in truths and rivals[truths.index(True)] is item:
                    yield f"the {noun} {words} the {anchor.name}"

    def _object(self, name: str) -> SceneObject:
        return self._cell.scene.objects[self._cell.index_of(name)]

    def _count(self, kind: Kind) -> int:
        return sum(item.kind is kind for item in self._cell.scene.objects)

    def _choice(self, options: Sequence[_T]) -> _T:
        return options[int(self._rng.integers(len(options)))]


def _name(item: SceneObject) -> str:
    return f"{item.colour} {item.kind}"


def _is_at(item: _Placed, anchor: _Placed, away: int, left: int) -> bool | None:
    """Return whether an offset has a direction by a clear margin; None if it is not clear."""
    offset = np.array([item.away_m - anchor.away_m, item.left_m - anchor.left_m])
    along = float(offset @ (away, left))
    across = abs(float(offset @ (left, away)))
    if along >= max(_SURELY_M, _MARGIN * across):
        return True
    return None if along * _MARGIN > across else False
