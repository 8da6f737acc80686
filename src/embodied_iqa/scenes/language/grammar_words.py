"""The words by which the grammar of tasks knows sides, extremes, categories and courtesies."""

from __future__ import annotations

from typing import Final

from embodied_iqa.scenes.scene_graph import Extreme, Side
from embodied_iqa.tasks.instruction import Category

__all__ = [
    "AFTER_NOUN",
    "ANYTHING",
    "BEFORE_NOUN",
    "CATEGORIES",
    "COURTESIES",
    "PARTICLES",
    "PREPOSITIONS",
    "SIDES",
]

COURTESIES: Final = frozenset({"please", "could", "can", "would", "you", "robot", "now", "first", ","})
PARTICLES: Final = frozenset({"up", "away", "down", "out", "over", "off"})
ANYTHING: Final = frozenset({"object", "thing", "item"})
PREPOSITIONS: Final = frozenset({"in", "into", "inside", "on", "onto", "to", "with", "from"})
SIDES: Final[dict[tuple[str, ...], Side]] = {
    ("left", "of"): Side.LEFT,
    ("to", "the", "left", "of"): Side.LEFT,
    ("right", "of"): Side.RIGHT,
    ("to", "the", "right", "of"): Side.RIGHT,
    ("in", "front", "of"): Side.FRONT,
    ("behind",): Side.BEHIND,
}
BEFORE_NOUN: Final[dict[str, Extreme]] = {
    "leftmost": Extreme.LEFTMOST,
    "rightmost": Extreme.RIGHTMOST,
    "tallest": Extreme.TALLEST,
    "flattest": Extreme.FLATTEST,
    "widest": Extreme.WIDEST,
    "broadest": Extreme.WIDEST,
    "slimmest": Extreme.SLIMMEST,
    "narrowest": Extreme.SLIMMEST,
}
AFTER_NOUN: Final[dict[tuple[str, ...], Extreme]] = {
    (far, "to", "the", side): extreme
    for far in ("furthest", "farthest")
    for side, extreme in (("left", Extreme.LEFTMOST), ("right", Extreme.RIGHTMOST))
} | {
    ("nearest", "to", "you"): Extreme.NEAREST,
    ("closest", "to", "you"): Extreme.NEAREST,
    ("farthest", "from", "you"): Extreme.FARTHEST,
    ("furthest", "from", "you"): Extreme.FARTHEST,
    ("farthest", "away", "from", "you"): Extreme.FARTHEST,
    ("furthest", "away", "from", "you"): Extreme.FARTHEST,
}
CATEGORIES: Final[dict[tuple[str, ...], Category]] = {
    ("toy",): Category.TOY,
    ("kitchen", "item"): Category.DISH,
    ("machine", "part"): Category.PART,
    ("control",): Category.CONTROL,
}
