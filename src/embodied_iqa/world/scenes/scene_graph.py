"""Scene graph: objects, and their spatial relations for the viewer of an image.

Relations are three-valued. Cases close to the border between yes and no are unclear, because people draw that
border differently; references to an object avoid them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.manipulation.shapes import ObjectShape, shape_of
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.tasks.instruction import Thing
from embodied_iqa.world.tasks.vocabulary import CATEGORY_OF_KIND, Category, Colour, Kind, Mark, Size

_SURELY_M: Final = 0.04
_GAP_M: Final = 0.025
_GAP_IMAGE: Final = 0.02
_TALLER_M: Final = 0.010
_WIDER_M: Final = 0.008
_ON_LINE_M: Final = 0.035
_OFF_LINE_M: Final = 0.075
_INNER: Final = (0.2, 0.8)
_OUTER: Final = (0.0, 1.0)


class Truth(Enum):
    """Whether a relation holds."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


class Side(StrEnum):
    """Side of one object on which another is."""

    LEFT = "left"
    RIGHT = "right"
    FRONT = "front"
    """Nearer to the viewer."""
    BEHIND = "behind"


class Extreme(StrEnum):
    """Property in which an object differs from all others."""

    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"
    NEAREST = "nearest"
    """To the viewer, along the table."""
    FARTHEST = "farthest"
    TALLEST = "tallest"
    FLATTEST = "flattest"
    WIDEST = "widest"
    SLIMMEST = "slimmest"


@dataclass(frozen=True, slots=True)
class Node:
    """An object in the graph.

    Attributes:
        index: In ``scene.objects``.
        kind: Its kind.
        colour: Its colour.
        place_m: Its centre, base frame x and y.
        right_m: Its position along the viewer's right.
        ahead_m: Its position along the direction away from the viewer.
        image: Its centre in the image, (u, v) as in `Viewpoint.project`.
        shown: Whether the image shows its centre.
        thing: Its name: colour and kind, and what tells it from others of these.
        mark: What is printed on it.
        size: Small, large, or None.
    """

    index: int
    kind: Kind
    colour: Colour
    place_m: tuple[float, float]
    right_m: float
    ahead_m: float
    image: tuple[float, float]
    shown: bool
    thing: Thing
    mark: Mark | None = None
    size: Size | None = None

    @property
    def category(self) -> Category:
        """Its category."""
        return CATEGORY_OF_KIND[self.kind]

    @property
    def shape(self) -> ObjectShape:
        """Its outer size."""
        return shape_of(self.kind, self.size)


@dataclass(frozen=True, slots=True)
class Head:
    """The noun of a reference, such as "red cube", "toy" or "object"; None matches anything.

    Attributes:
        colour: The named colour.
        kind: The named kind.
        category: The named category, in place of a kind.
        mark: The named mark.
        size: The named size.
    """

    colour: Colour | None = None
    kind: Kind | None = None
    category: Category | None = None
    mark: Mark | None = None
    size: Size | None = None

    def fits(self, node: Node) -> bool:
        """Return whether the noun applies to an object."""
        return (
            self.colour in {None, node.colour}
            and self.kind in {None, node.kind}
            and self.category in {None, node.category}
            and self.mark in {None, node.mark}
            and self.size in {None, node.size}
        )


def unique_match(nodes: Sequence[Node], truths: Sequence[Truth]) -> Node | None:
    """Return the node of the only YES; None if there are more, or if any is unclear."""
    if truths.count(Truth.YES) != 1 or Truth.UNCLEAR in truths:
        return None
    return nodes[truths.index(Truth.YES)]


class SceneGraph:
    """The objects of a scene and their relations.

    Args:
        scene: What is on the table.
        view: The camera whose viewer defines left, right, front and behind.
    """

    def __init__(self, scene: Scene, view: View) -> None:
        viewpoint = viewpoint_of(view)
        points_m = np.array([[item.x_m, item.y_m, item.shape.height_m / 2] for item in scene.objects])
        nodes, names = [], scene.names
        for index, (item, uv) in enumerate(zip(scene.objects, viewpoint.project(points_m), strict=True)):
            place = points_m[index, :2]
            u, v = (float(value) for value in uv)
            nodes.append(
                Node(
                    index=index,
                    kind=item.kind,
                    colour=item.colour,
                    place_m=(item.x_m, item.y_m),
                    right_m=float(place @ viewpoint.right),
                    ahead_m=float(place @ viewpoint.ahead),
                    image=(u, v),
                    shown=viewpoint.shows(u, v),
                    thing=names[index],
                    mark=item.mark,
                    size=item.size,
                )
            )
        self.nodes: tuple[Node, ...] = tuple(nodes)

    def counts(self) -> Counter[Kind]:
        """Count the objects of each kind."""
        return Counter(node.kind for node in self.nodes)

    def is_at_side(self, node: Node, side: Side, anchor: Node) -> Truth:
        """Return whether ``node`` is on that side of ``anchor``.

        YES: by at least 4 cm and more than across, on the table and in the image.
        NO: on the other side, on the table and in the image.
        """
        along, across = anchor.right_m - node.right_m, anchor.ahead_m - node.ahead_m
        seen = anchor.image[0] - node.image[0]
        if side in {Side.FRONT, Side.BEHIND}:
            along, across, seen = across, along, node.image[1] - anchor.image[1]
        if side in {Side.RIGHT, Side.BEHIND}:
            along, seen = -along, -seen
        if along >= max(_SURELY_M, abs(across)) and seen >= _GAP_IMAGE:
            return Truth.YES
        return Truth.NO if along <= 0.0 and seen <= 0.0 else Truth.UNCLEAR

    def is_between(self, node: Node, first: Node, second: Node) -> Truth:
        """Return whether ``node`` is between two others: near the line between their centres."""
        start, end, place = (np.array(item.place_m) for item in (first, second, node))
        way = end - start
        along = float((place - start) @ way / (way @ way))
        off_m = float(np.linalg.norm(place - start - along * way))
        if _INNER[0] <= along <= _INNER[1] and off_m <= _ON_LINE_M:
            return Truth.YES
        outside = not _OUTER[0] < along < _OUTER[1] or off_m >= _OFF_LINE_M
        return Truth.NO if outside else Truth.UNCLEAR

    def nearest_to(self, anchor: Node, among: Sequence[Node]) -> Node | None:
        """Return the node nearest to ``anchor``, by at least 2.5 cm; None if unclear."""
        distances = [-float(np.hypot(*np.subtract(node.place_m, anchor.place_m))) for node in among]
        return _unique_maximum(among, distances, _GAP_M)

    def extreme(self, extreme: Extreme, among: Sequence[Node]) -> Node | None:
        """Return the extreme node, by a visible margin; None if unclear."""
        match extreme:
            case Extreme.TALLEST | Extreme.FLATTEST:
                sign = 1.0 if extreme is Extreme.TALLEST else -1.0
                return _unique_maximum(among, [sign * n.shape.height_m for n in among], _TALLER_M)
            case Extreme.WIDEST | Extreme.SLIMMEST:
                sign = 1.0 if extreme is Extreme.WIDEST else -1.0
                return _unique_maximum(among, [sign * n.shape.radius_m for n in among], _WIDER_M)
            case Extreme.LEFTMOST | Extreme.RIGHTMOST:
                sign = 1.0 if extreme is Extreme.RIGHTMOST else -1.0
                on_table = [sign * node.right_m for node in among]
                in_image = [sign * node.image[0] for node in among]
            case Extreme.NEAREST | Extreme.FARTHEST:
                sign = 1.0 if extreme is Extreme.FARTHEST else -1.0
                on_table = [sign * node.ahead_m for node in among]
                in_image = [-sign * node.image[1] for node in among]
        found = _unique_maximum(among, on_table, _GAP_M)
        return found if found is _unique_maximum(among, in_image, _GAP_IMAGE) else None


def _unique_maximum(among: Sequence[Node], values: Sequence[float], margin: float) -> Node | None:
    """Return the node with the largest value, if it exceeds all others by the margin."""
    if not among:
        return None
    best = max(range(len(among)), key=values.__getitem__)
    rest = [value for index, value in enumerate(values) if index != best]
    return among[best] if not rest or values[best] - max(rest) >= margin else None
