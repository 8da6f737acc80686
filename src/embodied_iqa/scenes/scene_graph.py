"""A scene as a graph: its objects, and how they stand to each other for the one who looks at a picture.

Relations are three-valued. What is close to the border between yes and no is unclear, and whoever refers to
an object by a relation keeps away from it: people draw that border differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.manipulation.shapes import SHAPES
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.viewpoints import viewpoint_of
from embodied_iqa.tasks.instruction import Thing
from embodied_iqa.tasks.vocabulary import CATEGORY_OF_KIND, Category, Colour, Kind

__all__ = ["Extreme", "Node", "SceneGraph", "Side", "Truth"]

_SURELY_M: Final = 0.04
_GAP_M: Final = 0.025
_GAP_PICTURE: Final = 0.02
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
    """Where one object stands of another."""

    LEFT = "left"
    RIGHT = "right"
    FRONT = "front"
    """Nearer to the viewer."""
    BEHIND = "behind"


class Extreme(StrEnum):
    """In what an object stands out among others."""

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
        right_m: Its place along the direction that the viewer calls right.
        ahead_m: Its place along the direction away from the viewer.
        picture: Where its centre appears, (u, v) as in `Viewpoint.project`.
        shown: Whether the picture shows its centre.
    """

    index: int
    kind: Kind
    colour: Colour
    place_m: tuple[float, float]
    right_m: float
    ahead_m: float
    picture: tuple[float, float]
    shown: bool

    @property
    def category(self) -> Category:
        """What sort of thing it is."""
        return CATEGORY_OF_KIND[self.kind]

    @property
    def thing(self) -> Thing:
        """How people name it."""
        return Thing(self.colour, self.kind)


class SceneGraph:
    """The objects of a scene and their relations.

    Args:
        scene: What stands on the table.
        view: For whose viewer left, right, front and behind are meant.
    """

    def __init__(self, scene: Scene, view: View) -> None:
        viewpoint = viewpoint_of(view)
        points_m = np.array([[item.x_m, item.y_m, SHAPES[item.kind].height_m / 2] for item in scene.objects])
        nodes = []
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
                    picture=(u, v),
                    shown=viewpoint.shows(u, v),
                )
            )
        self.nodes: tuple[Node, ...] = tuple(nodes)

    def counts(self) -> Counter[Kind]:
        """Count the objects of each kind."""
        return Counter(node.kind for node in self.nodes)

    def stands(self, node: Node, side: Side, anchor: Node) -> Truth:
        """Say whether ``node`` stands on that side of ``anchor``.

        Surely: by at least 4 cm and rather so than across, on the table and in the picture.
        Surely not: on the other side, on the table and in the picture.
        """
        along, across = anchor.right_m - node.right_m, anchor.ahead_m - node.ahead_m
        seen = anchor.picture[0] - node.picture[0]
        if side in {Side.FRONT, Side.BEHIND}:
            along, across, seen = across, along, node.picture[1] - anchor.picture[1]
        if side in {Side.RIGHT, Side.BEHIND}:
            along, seen = -along, -seen
        if along >= max(_SURELY_M, abs(across)) and seen >= _GAP_PICTURE:
            return Truth.YES
        return Truth.NO if along <= 0.0 and seen <= 0.0 else Truth.UNCLEAR

    def lies_between(self, node: Node, first: Node, second: Node) -> Truth:
        """Say whether ``node`` stands between two others: near the line that joins their centres."""
        start, end, place = (np.array(item.place_m) for item in (first, second, node))
        way = end - start
        along = float((place - start) @ way / (way @ way))
        off_m = float(np.linalg.norm(place - start - along * way))
        if _INNER[0] <= along <= _INNER[1] and off_m <= _ON_LINE_M:
            return Truth.YES
        outside = not _OUTER[0] < along < _OUTER[1] or off_m >= _OFF_LINE_M
        return Truth.NO if outside else Truth.UNCLEAR

    def nearest_to(self, anchor: Node, among: Sequence[Node]) -> Node | None:
        """Return which of several stands nearest to ``anchor``, by at least 2.5 cm; None where unclear."""
        distances = [-float(np.hypot(*np.subtract(node.place_m, anchor.place_m))) for node in among]
        return _standing_out(among, distances, _GAP_M)

    def extreme(self, extreme: Extreme, among: Sequence[Node]) -> Node | None:
        """Return which of several stands out, by a margin that is seen; None where unclear."""
        match extreme:
            case Extreme.TALLEST | Extreme.FLATTEST:
                sign = 1.0 if extreme is Extreme.TALLEST else -1.0
                return _standing_out(among, [sign * SHAPES[n.kind].height_m for n in among], _TALLER_M)
            case Extreme.WIDEST | Extreme.SLIMMEST:
                sign = 1.0 if extreme is Extreme.WIDEST else -1.0
                return _standing_out(among, [sign * SHAPES[n.kind].radius_m for n in among], _WIDER_M)
            case Extreme.LEFTMOST | Extreme.RIGHTMOST:
                sign = 1.0 if extreme is Extreme.RIGHTMOST else -1.0
                on_table = [sign * node.right_m for node in among]
                in_picture = [sign * node.picture[0] for node in among]
            case Extreme.NEAREST | Extreme.FARTHEST:
                sign = 1.0 if extreme is Extreme.FARTHEST else -1.0
                on_table = [sign * node.ahead_m for node in among]
                in_picture = [-sign * node.picture[1] for node in among]
        found = _standing_out(among, on_table, _GAP_M)
        return found if found is _standing_out(among, in_picture, _GAP_PICTURE) else None


def _standing_out(among: Sequence[Node], values: Sequence[float], margin: float) -> Node | None:
    """Return the node of the largest value, where the others stay behind by the margin."""
    if not among:
        return None
    best = max(range(len(among)), key=values.__getitem__)
    rest = [value for index, value in enumerate(values) if index != best]
    return among[best] if not rest or values[best] - max(rest) >= margin else None
