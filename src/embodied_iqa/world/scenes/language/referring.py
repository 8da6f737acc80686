"""Referring expressions: forms of reference to one object, and those that are unambiguous in a scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

from embodied_iqa.world.scenes.scene_graph import Extreme, Head, Node, SceneGraph, Side, unique_match
from embodied_iqa.world.tasks.instruction import Thing
from embodied_iqa.world.tasks.vocabulary import Category, Colour, Kind


class Form(StrEnum):
    """Form of a reference; with the verb it defines the ability that a task tests."""

    PLAIN = "plain"
    """The red cube."""
    CATEGORY = "category"
    """The control: the only one."""
    SIZE = "size"
    """The tallest toy."""
    POSITION = "position"
    """The leftmost cube."""
    SIDE = "side"
    """The ball that is left of the green bowl."""
    NEAREST = "nearest"
    """The toy nearest to the green bowl."""
    BETWEEN = "between"
    """The object between the red cube and the green bowl."""
    EXCLUSION = "exclusion"
    """The cube that is not blue."""
    SEQUENCE = "sequence"
    """Two steps, each in plain words."""


FORMS_OF_RANK: Final[dict[int, tuple[Form, ...]]] = {
    1: (Form.PLAIN,),
    2: (Form.CATEGORY, Form.SIZE, Form.POSITION),
    3: (Form.SIDE, Form.NEAREST, Form.BETWEEN),
    4: (Form.EXCLUSION,),
    5: (Form.SEQUENCE,),
}
"""No two ranks share a form, so the five tasks of a scene test five abilities."""

_MOST_EXCLUDED: Final = 3
_NAMED_CATEGORIES: Final = (Category.TOY, Category.DISH, Category.PART, Category.CONTROL)
"""Categories with an everyday word."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A description of exactly one object.

    Attributes:
        form: Its form.
        target: Index of the object.
        head: The noun.
        extreme: Distinguishing property, for SIZE and POSITION.
        side: Side of the anchor, for SIDE.
        anchors: Other objects that the description names in plain words.
        excluded: Excluded colours or kinds, for EXCLUSION.
    """

    form: Form
    target: int
    head: Head
    extreme: Extreme | None = None
    side: Side | None = None
    anchors: tuple[Thing, ...] = ()
    excluded: tuple[Colour, ...] | tuple[Kind, ...] = ()


def plain(node: Node) -> Reference:
    """Refer by colour, kind and, where these are not enough, mark or size."""
    return Reference(Form.PLAIN, node.index, head_of(node.thing))


def head_of(thing: Thing) -> Head:
    """Return the noun of a plain reference."""
    return Head(thing.colour, thing.kind, mark=thing.mark, size=thing.size)


def references(graph: SceneGraph, form: Form) -> list[Reference]:
    """Return the unambiguous references of a form (not SEQUENCE) in a scene, in a fixed order.

    They are unique among all objects on the table, and the image shows the objects they name: they are
    unambiguous both in the image and at the table.
    """
    match form:
        case Form.PLAIN:
            found: Iterator[Reference] = (plain(node) for node in graph.nodes if _is_unique(graph, node))
        case Form.CATEGORY:
            found = _categories(graph)
        case Form.SIZE | Form.POSITION:
            found = _extremes(graph, form)
        case Form.SIDE | Form.NEAREST:
            found = _by_anchor(graph, form)
        case Form.BETWEEN:
            found = _between(graph)
        case Form.EXCLUSION:
            found = _exclusions(graph)
        case Form.SEQUENCE:
            found = iter(())
    shown = {node.index for node in graph.nodes if node.shown}
    things = {node.thing for node in graph.nodes if node.shown}
    return [item for item in found if item.target in shown and things.issuperset(item.anchors)]


def _is_unique(graph: SceneGraph, node: Node) -> bool:
    return sum(other.thing == node.thing for other in graph.nodes) == 1


def _groups(graph: SceneGraph) -> Iterator[tuple[Head, list[Node]]]:
    """Yield the nouns that apply to several objects, with these objects."""
    heads = [
        *(Head(kind=kind) for kind in Kind),
        *(Head(category=category) for category in _NAMED_CATEGORIES),
        *(Head(colour=colour) for colour in Colour),
        Head(),
    ]
    for head in heads:
        fitting = [node for node in graph.nodes if head.fits(node)]
        if len(fitting) > 1:
            yield head, fitting


def _categories(graph: SceneGraph) -> Iterator[Reference]:
    for category in _NAMED_CATEGORIES:
        fitting = [node for node in graph.nodes if node.category is category]
        if len(fitting) == 1:
            yield Reference(Form.CATEGORY, fitting[0].index, Head(category=category))


_SIZES: Final = (Extreme.TALLEST, Extreme.FLATTEST, Extreme.WIDEST, Extreme.SLIMMEST)


def _extremes(graph: SceneGraph, form: Form) -> Iterator[Reference]:
    wanted = [extreme for extreme in Extreme if (extreme in _SIZES) == (form is Form.SIZE)]
    for head, fitting in _groups(graph):
        for extreme in wanted:
            found = graph.extreme(extreme, fitting)
            if found is not None:
                yield Reference(form, found.index, head, extreme=extreme)


def _by_anchor(graph: SceneGraph, form: Form) -> Iterator[Reference]:
    """Yield objects on one side of an anchor, or nearest to it, unique among two or more."""
    for anchor in graph.nodes:
        if not _is_unique(graph, anchor):
            continue
        for head, fitting in _groups(graph):
            others = [node for node in fitting if node is not anchor]
            if len(others) < 2:
                continue
            if form is Form.SIDE:
                yield from _on_sides(graph, head, others, anchor)
            elif (found := graph.nearest_to(anchor, others)) is not None:
                yield Reference(form, found.index, head, anchors=(anchor.thing,))


def _on_sides(graph: SceneGraph, head: Head, nodes: list[Node], anchor: Node) -> Iterator[Reference]:
    for side in Side:
        found = unique_match(nodes, [graph.is_at_side(node, side, anchor) for node in nodes])
        if found is not None:
            yield Reference(Form.SIDE, found.index, head, side=side, anchors=(anchor.thing,))


def _between(graph: SceneGraph) -> Iterator[Reference]:
    anchors = [node for node in graph.nodes if _is_unique(graph, node)]
    for head, fitting in _groups(graph):
        for first, second in combinations(anchors, 2):
            others = [node for node in fitting if node not in {first, second}]
            found = unique_match(others, [graph.is_between(node, first, second) for node in others])
            if found is not None and len(others) > 1:
                things = (first.thing, second.thing)
                yield Reference(Form.BETWEEN, found.index, head, anchors=things)


def _exclusions(graph: SceneGraph) -> Iterator[Reference]:
    """Yield objects that remain when the colours, or the kinds, of similar ones are excluded."""
    for head, fitting in _groups(graph):
        for node in fitting:
            others = [other for other in fitting if other is not node]
            colours = tuple(sorted({other.colour for other in others}))
            kinds = tuple(sorted({other.kind for other in others}))
            if head.colour is None and node.colour not in colours and len(colours) <= _MOST_EXCLUDED:
                yield Reference(Form.EXCLUSION, node.index, head, excluded=colours)
            if head.kind is None and node.kind not in kinds and len(kinds) <= _MOST_EXCLUDED:
                yield Reference(Form.EXCLUSION, node.index, head, excluded=kinds)
