"""Micro perception: side, nearest, extreme, kind, colour, number and affordance, from the scene graph.

No question is answered by its text alone: where the kind of an object gives the answer away, options name its
colour only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.scene_graph import Extreme, Node, SceneGraph, Side, Truth
from embodied_iqa.static_benchmark.making.draft import OPTIONS, NoItemError, mixed
from embodied_iqa.tasks.vocabulary import KINDS_OF_VERB, Colour, Kind, Verb

_T = TypeVar("_T")
_SIDES: Final = {
    Side.LEFT: "to the left of",
    Side.RIGHT: "to the right of",
    Side.FRONT: "in front of",
    Side.BEHIND: "behind",
}
_EXTREMES: Final = {
    Extreme.LEFTMOST: "furthest to the left",
    Extreme.RIGHTMOST: "furthest to the right",
    Extreme.NEAREST: "nearest to the viewer",
    Extreme.FARTHEST: "farthest from the viewer",
}
_AFFORDED: Final = {
    Verb.COVER: "put on a pot to cover it",
    Verb.INSERT: "inserted in a socket",
    Verb.POUR: "poured from",
    Verb.PRESS: "pressed",
    Verb.PULL: "pulled open",
    Verb.TWIST: "twisted",
}
"""Verbs of one kind of object."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The objects that a camera shows.

    Attributes:
        graph: Of the whole scene.
        shown: Objects whose centre is in the picture.
        named: Those of them whose name fits no other object.
        whole: Whether the picture shows every object.
    """

    graph: SceneGraph
    shown: tuple[Node, ...]
    named: tuple[Node, ...]
    whole: bool


def draw_micro(rng: np.random.Generator, scene: Scene, view: View) -> tuple[str, tuple[str, ...]]:
    """Return a question about the first frame and its options, the right one first.

    Raises:
        NoItemError: The drawn kind of question has no clear answer in this scene.
    """
    graph = SceneGraph(scene, view)
    shown = tuple(node for node in graph.nodes if node.shown)
    counts = Counter(scene.names)
    named = tuple(node for node in shown if counts[node.thing] == 1)
    seen = Seen(graph, shown, named, len(shown) == len(graph.nodes))
    kind = _KINDS[int(rng.integers(len(_KINDS)))]
    return kind(rng, seen)


def _side(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    anchor, side = _one(rng, seen.named), _one(rng, tuple(_SIDES))
    others = [node for node in seen.named if node is not anchor]
    truths = [seen.graph.is_at_side(node, side, anchor) for node in others]
    right = _one(rng, _those(others, truths, Truth.YES))
    wrong = [name_of(node) for node in _those(others, truths, Truth.NO)]
    question = f"Which object is {_SIDES[side]} the {anchor.thing}, seen from this camera?"
    return question, mixed(rng, name_of(right), wrong)


def _nearest(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    anchor = _one(rng, seen.named)
    # the nearest of all, also of those that are not named
    right = seen.graph.nearest_to(anchor, [node for node in seen.graph.nodes if node is not anchor])
    _require(right is not None and right in seen.named)
    wrong = [name_of(node) for node in seen.named if node not in {anchor, right}]
    question = f"Which object on the table is nearest to the {anchor.thing}?"
    return question, mixed(rng, name_of(right), wrong)


def _extreme(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    _require(seen.whole)
    extreme = _one(rng, tuple(_EXTREMES))
    right = seen.graph.extreme(extreme, seen.graph.nodes)
    _require(right in seen.named)
    wrong = [name_of(node) for node in seen.named if node is not right]
    question = f"Which object is {_EXTREMES[extreme]}, seen from this camera?"
    return question, mixed(rng, name_of(right), wrong)


def _kind(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    node = _one(rng, _of_own_colour(seen))
    return f"What is the {node.colour} object?", mixed(rng, *_right_and_wrong(node.kind, Kind))


def _colour(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    counts = seen.graph.counts()
    node = _one(rng, [node for node in seen.shown if counts[node.kind] == 1])
    return f"Which colour is the {node.kind}?", mixed(rng, *_right_and_wrong(node.colour, Colour))


def _count(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    """Options are consecutive numbers, and the right one has any place among them: no middle to guess."""
    _require(seen.whole)
    node = _one(rng, seen.shown)
    alike, things = [
        ([other for other in seen.shown if other.kind is node.kind], f"{node.kind}s"),
        ([other for other in seen.shown if other.category is node.category], _PLURALS.get(node.category, "")),
    ][int(rng.integers(2))]
    _require(bool(things))
    smallest = max(0, len(alike) - int(rng.integers(OPTIONS)))
    numbers = [str(number) for number in range(smallest, smallest + OPTIONS)]
    right = str(len(alike))
    question = f"How many {things} are on the table?"
    return question, (right, *(number for number in numbers if number != right))


def _affordance(rng: np.random.Generator, seen: Seen) -> tuple[str, tuple[str, ...]]:
    verb = _one(rng, tuple(_AFFORDED))
    own = _of_own_colour(seen)
    able = [node for node in own if node.kind in KINDS_OF_VERB[verb]]
    right = _one(rng, able)
    wrong = [f"the {node.colour} object" for node in own if node.kind not in KINDS_OF_VERB[verb]]
    question = f"Which of these objects can be {_AFFORDED[verb]}?"
    return question, mixed(rng, f"the {right.colour} object", wrong)


_PLURALS: Final = {"toy": "toys (cubes, cylinders or balls)", "dish": "dishes (bowls, cups, pots or lids)"}
_KINDS: Final[tuple[Callable[[np.random.Generator, Seen], tuple[str, tuple[str, ...]]], ...]] = (
    _side,
    _nearest,
    _extreme,
    _kind,
    _colour,
    _count,
    _affordance,
)


def name_of(node: Node | None) -> str:
    """Return an object as options name it."""
    return "" if node is None else f"the {node.thing}"


def _of_own_colour(seen: Seen) -> list[Node]:
    """Return the shown objects whose colour no other object has, shown or not."""
    counts = Counter(node.colour for node in seen.graph.nodes)
    return [node for node in seen.shown if counts[node.colour] == 1]


def _right_and_wrong(right: Kind | Colour, values: type[Kind | Colour]) -> tuple[str, list[str]]:
    return str(right), [str(value) for value in values if value is not right]


def _those(nodes: Sequence[Node], truths: Sequence[Truth], wanted: Truth) -> list[Node]:
    return [node for node, truth in zip(nodes, truths, strict=True) if truth is wanted]


def _one(rng: np.random.Generator, values: Sequence[_T]) -> _T:
    _require(bool(values))
    return values[int(rng.integers(len(values)))]


def _require(holds: bool) -> None:  # noqa: FBT001 - a condition, as of assert
    if not holds:
        raise NoItemError
