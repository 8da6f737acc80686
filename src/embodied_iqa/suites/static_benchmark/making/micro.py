"""Micro perception: side, nearest, extreme, kind, colour, number and affordance, from the scene graph.

No question is answered by its text alone: each of its options is the right one equally often, in a scene that
fits the same text (`arrangements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.making.arrangements import (
    FIXED,
    Answer,
    equally_right,
    with_clutter,
    with_kinds,
)
from embodied_iqa.suites.static_benchmark.making.draft import (
    OPTIONS,
    SIDE_WORDS,
    NoItemError,
    draw_from,
    mixed,
)
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.scene_graph import Extreme, Node, SceneGraph, Truth
from embodied_iqa.world.tasks.vocabulary import KINDS_OF_VERB, Colour, Kind, Verb

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
        scene: What is on the table.
        view: The camera.
        graph: Of the whole scene.
        shown: Objects whose centre is in the image.
        named: Those of them whose name fits no other object.
    """

    scene: Scene
    view: View
    graph: SceneGraph
    shown: tuple[Node, ...]
    named: tuple[Node, ...]


Drawn = tuple[str, tuple[str, ...], Scene]
"""A question, its options, the right one first, and the scene."""


def draw_micro(rng: np.random.Generator, scene: Scene, view: View) -> tuple[str, tuple[str, ...], Scene]:
    """Return a question about the first frame, its options, the right one first, and the scene.

    Raises:
        NoItemError: The drawn kind of question has no clear answer in this scene.
    """
    graph = SceneGraph(scene, view)
    shown = tuple(node for node in graph.nodes if node.shown)
    counts = Counter(scene.names)
    named = tuple(node for node in shown if counts[node.thing] == 1)
    seen = Seen(scene, view, graph, shown, named)
    return draw_from(rng, _KINDS)(rng, seen)


def _side(rng: np.random.Generator, seen: Seen) -> Drawn:
    anchor, side = draw_from(rng, seen.named).index, draw_from(rng, tuple(SIDE_WORDS))
    offered = _offered(rng, seen, anchor)

    def answer(graph: SceneGraph) -> int | None:
        truths = [graph.is_at_side(graph.nodes[index], side, graph.nodes[anchor]) for index in offered]
        clear = truths.count(Truth.YES) == 1 and Truth.UNCLEAR not in truths
        return offered[truths.index(Truth.YES)] if clear else None

    name = seen.scene.names[anchor]
    return _of_objects(
        rng, seen, f"Which object is {SIDE_WORDS[side]} the {name}, seen from this camera?", offered, answer
    )


def _nearest(rng: np.random.Generator, seen: Seen) -> Drawn:
    anchor = draw_from(rng, seen.named).index
    offered = _offered(rng, seen, anchor)

    def answer(graph: SceneGraph) -> int | None:
        # the nearest of all, also of those that no option names
        others = [node for node in graph.nodes if node.index != anchor]
        return _index_of(graph.nearest_to(graph.nodes[anchor], others))

    name = seen.scene.names[anchor]
    return _of_objects(rng, seen, f"Which object on the table is nearest to the {name}?", offered, answer)


def _extreme(rng: np.random.Generator, seen: Seen) -> Drawn:
    extreme, offered = draw_from(rng, tuple(_EXTREMES)), _offered(rng, seen)

    def answer(graph: SceneGraph) -> int | None:
        whole = all(node.shown for node in graph.nodes)
        return _index_of(graph.extreme(extreme, graph.nodes)) if whole else None

    question = f"Which object is {_EXTREMES[extreme]}, seen from this camera?"
    return _of_objects(rng, seen, question, offered, answer)


def _kind(rng: np.random.Generator, seen: Seen) -> Drawn:
    node = draw_from(rng, _of_own_colour(seen))
    kinds = [kind for kind in Kind if kind not in FIXED]
    _require(node.kind not in FIXED)
    offered = [kinds[int(number)] for number in rng.permutation(len(kinds))[:OPTIONS]]
    scenes = [with_kinds(rng, seen.scene, {node.index: kind}) for kind in offered]
    question = f"What is the {node.colour} object?"
    return _drawn_last(rng, seen, question, [str(kind) for kind in offered], scenes)


def _colour(rng: np.random.Generator, seen: Seen) -> Drawn:
    """A scene is drawn with any colours in any order, so that each option is right as often as any other."""
    counts = seen.graph.counts()
    node = draw_from(rng, [node for node in seen.shown if counts[node.kind] == 1])
    wrong = [str(colour) for colour in Colour if colour is not node.colour]
    return f"Which colour is the {node.kind}?", mixed(rng, str(node.colour), wrong), seen.scene


def _count(rng: np.random.Generator, seen: Seen) -> Drawn:
    """Options are consecutive numbers; kinds of objects are changed until the drawn number is right."""
    things, counted = draw_from(rng, tuple(_COUNTED.items()))
    free = [index for index, item in enumerate(seen.scene.objects) if item.kind not in FIXED]
    _require(all(node.shown for node in seen.graph.nodes))
    places = [free[int(number)] for number in rng.permutation(len(free))]
    smallest = int(rng.integers(2))
    _require(len(places) >= smallest + OPTIONS - 1)
    others = [kind for kind in _FREQUENT if kind not in counted]
    inside = [draw_from(rng, counted) for _ in places]
    outside = [draw_from(rng, others) for _ in places]
    numbers = range(smallest, smallest + OPTIONS)
    scenes = [
        with_kinds(rng, seen.scene, dict(zip(places, inside[:number] + outside[number:], strict=True)))
        for number in numbers
    ]
    question = f"How many {things} are on the table?"
    return _drawn_last(rng, seen, question, [str(number) for number in numbers], scenes)


def _affordance(rng: np.random.Generator, seen: Seen) -> Drawn:
    """Options name colours alone, and a scene is drawn with any colours in any order."""
    verb = draw_from(rng, tuple(_AFFORDED))
    own = _of_own_colour(seen)
    right = draw_from(rng, [node for node in own if node.kind in KINDS_OF_VERB[verb]])
    wrong = [f"the {node.colour} object" for node in own if node.kind not in KINDS_OF_VERB[verb]]
    question = f"Which of these objects can be {_AFFORDED[verb]}?"
    return question, mixed(rng, f"the {right.colour} object", wrong), seen.scene


_FREQUENT: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL, Kind.BUTTON)
"""Kinds of which a scene can have many."""
_COUNTED: Final[dict[str, tuple[Kind, ...]]] = {f"{kind}s": (kind,) for kind in _FREQUENT} | {
    "toys (cubes, cylinders or balls)": (Kind.CUBE, Kind.CYLINDER, Kind.BALL),
    "dishes (bowls, cups, pots or lids)": (Kind.BOWL, Kind.POT, Kind.LID),
}
"""What is counted to the kinds that a counted object gets."""
_KINDS: Final[tuple[Callable[[np.random.Generator, Seen], Drawn], ...]] = (
    _side,
    _nearest,
    _extreme,
    _kind,
    _colour,
    _count,
    _affordance,
)


def _offered(rng: np.random.Generator, seen: Seen, anchor: int | None = None) -> list[int]:
    """Draw the objects that the options name."""
    able = [node.index for node in seen.named if node.index != anchor and node.kind not in FIXED]
    _require(len(able) >= OPTIONS)
    return [able[int(number)] for number in rng.permutation(len(able))[:OPTIONS]]


def _of_objects(
    rng: np.random.Generator, seen: Seen, question: str, offered: Sequence[int], answer: Answer
) -> Drawn:
    right, scene = equally_right(rng, seen.scene, seen.view, offered, answer)
    order = (right, *(index for index in offered if index != right))
    return question, tuple(f"the {seen.scene.names[index]}" for index in order), scene


def _drawn_last(
    rng: np.random.Generator,
    seen: Seen,
    question: str,
    options: Sequence[str],
    scenes: Sequence[Scene | None],
) -> Drawn:
    """Draw the scene after the options; each option has one, all of whose changed objects are shown."""
    able = [scene for scene in scenes if scene is not None]
    _require(len(able) == len(options))
    for scene in able:
        pairs = zip(SceneGraph(scene, seen.view).nodes, scene.objects, seen.scene.objects, strict=True)
        _require(all(node.shown for node, item, before in pairs if item is not before))
    place = int(rng.integers(len(options)))
    order = (options[place], *options[:place], *options[place + 1 :])
    return question, order, with_clutter(rng, able[place])


def _index_of(node: Node | None) -> int | None:
    return None if node is None else node.index


def _of_own_colour(seen: Seen) -> list[Node]:
    """Return the shown objects whose colour no other object has, shown or not."""
    counts = Counter(node.colour for node in seen.graph.nodes)
    return [node for node in seen.shown if counts[node.colour] == 1]


def _require(holds: bool) -> None:  # noqa: FBT001 - a condition, as of assert
    if not holds:
        raise NoItemError
