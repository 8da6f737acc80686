"""Parser of the instructions, independent of their generation: it checks that each has one meaning.

It shares no table of words and no rule of directions with the generator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.suites.cell_manipulation.cell_scene import CellScene
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal

_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^stack (?P<d>the .+) and (?P<t>the .+) in sequence$",
        r"^stack (?P<t>the .+) on top of (?P<d>the .+)$",
        r"^(?:pick up|take) (?P<t>the .+) and (?:place|put) it into (?P<d>the .+)$",
        r"^(?:put|insert) (?P<t>the .+) into (?:the opening of )?(?P<d>the .+)$",
        r"^wipe (?P<d>the .+?) with (?P<t>the .+)$",
        r"^use (?P<t>the .+) as a sponge to wipe (?P<d>the .+)$",
    )
)
_HINTS: Final = {
    "red": ("tomato", "fire engine"),
    "orange": ("carrot", "pumpkin"),
    "yellow": ("lemon", "banana"),
    "green": ("grass", "cucumber"),
    "blue": ("sea", "sky"),
    "purple": ("aubergine", "plum"),
    "cube": ("die", "sugar"),
    "cylinder": ("tin of soup", "battery"),
    "ball": ("globe", "rolls"),
    "bowl": ("cereal", "salad"),
    "peg": ("candle", "pencil"),
    "socket": ("hole", "pin fits"),
    "horizontal": ("horizon", "minus"),
    "vertical": ("road", "flagpole"),
}
"""What a word of a riddle stands for."""
_WORDS: Final = frozenset({
    "red", "orange", "yellow", "green", "blue", "purple", "cube", "cylinder", "ball", "bowl", "button", "pot",
    "lid", "peg", "socket", "mat", "knob", "drawer", "cup", "striped", "dotted", "ringed", "crossed", "area",
    "horizontal", "vertical",
})  # fmt: skip
_RELATION: Final = re.compile(r" (to the left of|to the right of|in front of|behind) (the .+)$")
_BEARING_DEG: Final = {"behind": 0, "to the left of": 90, "in front of": 180, "to the right of": 270}
"""Directions on the table, counted from straight ahead of the robot towards its left."""
_ORDER: Final = re.compile(r"^(first|then) ")
_TASK_OF: Final = {
    "bowl": CellTask.PLACE,
    "socket": CellTask.INSERT,
    "cube": CellTask.STACK,
    "area": CellTask.WIPE,
}


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    words: frozenset[str]
    x_m: float
    y_m: float


def parse_goals(text: str, cell: CellScene) -> tuple[Goal, ...]:
    """Return the goals that an instruction asks for in a scene.

    Args:
        text: The instruction.
        cell: What is on the table.

    Raises:
        UsageError: The text asks for nothing, or a description fits none or several things.
    """
    items = _items(cell)
    found = []
    for part in re.split(r"[.!?]\s*", text.lower()):
        wanted = _ORDER.sub("", part.strip())
        matches = [match for pattern in _PATTERNS if (match := pattern.match(wanted))]
        if matches:
            target, destination = (_find(matches[0][group], items) for group in "td")
            task = _TASK_OF[destination.name.split()[-1]]
            found.append(Goal(task, target.name, destination.name))
    if not found:
        raise UsageError("the instruction asks for nothing", got=text)
    return tuple(found)


def _items(cell: CellScene) -> tuple[_Item, ...]:
    items = []
    for item in cell.scene.objects:
        words = {str(item.colour), str(item.kind), *([str(item.mark)] if item.mark else [])}
        items.append(_Item(f"{item.colour} {item.kind}", frozenset(words), item.x_m, item.y_m))
    areas = (_Item(area.name, frozenset(area.name.split()), *area.centre_m) for area in cell.areas)
    return (*items, *areas)


def _find(phrase: str, items: Sequence[_Item]) -> _Item:
    """Return the only thing that a description fits."""
    relation = _RELATION.search(phrase)
    head = phrase if relation is None else phrase[: relation.start()]
    words = {word for word in re.findall(r"[a-z]+", head) if word in _WORDS}
    words |= {word for word, hints in _HINTS.items() if re.search(rf"\b({'|'.join(hints)})\b", head)}
    among = [item for item in items if words <= item.words]
    if " object" in head or " thing" in head:
        among = [item for item in among if "area" not in item.words]
    if relation is None and (not words or len(among) != 1):
        raise _unclear(phrase, among)
    if relation is None:
        return among[0]
    anchor = _find(relation[2], items)
    return _nearest_bearing(phrase, _BEARING_DEG[relation[1]], anchor, [i for i in among if i != anchor])


def _nearest_bearing(phrase: str, wanted_deg: float, anchor: _Item, among: Sequence[_Item]) -> _Item:
    """Return the only thing within 45 degrees of a direction, as the robot sees it."""
    fitting = []
    for item in among:
        ahead, left = anchor.x_m - item.x_m, anchor.y_m - item.y_m
        bearing_deg = math.degrees(math.atan2(left, ahead))
        if abs((bearing_deg - wanted_deg + 180.0) % 360.0 - 180.0) < 45.0:
            fitting.append(item)
    if len(fitting) != 1:
        raise _unclear(phrase, fitting)
    return fitting[0]


def _unclear(phrase: str, fitting: Sequence[_Item]) -> UsageError:
    names = [item.name for item in fitting] or ["nothing fits"]
    return UsageError("a description fits none or several things", got=phrase, available=names)
