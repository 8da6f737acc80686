"""Circular evaluation: every item once for each rotation of its options, as MMBench has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.suites.static_benchmark.items import LETTERS, Item
from embodied_iqa.suites.static_benchmark.stored_answers import ItemAnswer

_SMALLEST_STRIDE: Final = 1_000_000
_BARE_LETTER: Final = re.compile(r"[A-Z]")
_NAMES_LETTERS: Final = re.compile(
    r"\b(?i:both|either|neither|options?|all of|none of)\b.*\b[A-H]\b"
    r"|\b[A-H]\b\s*(?:,|and|or|&|/)\s*\b[A-H]\b"
)


@dataclass(frozen=True, slots=True)
class CircularScore:
    """Hits where every rotation must be right.

    Attributes:
        hits: Share of items.
        minus_plain: This share minus that of unrotated items.
        incomplete: Number of items with a missing rotation; they are never hits.
        chance: Mean of (1/k)^k, guessing each rotation independently.
    """

    hits: Share
    minus_plain: float
    incomplete: int
    chance: float


def stride_of(items: Iterable[Item]) -> int:
    """Return what a rotation adds to an index: 10^6, or the next power of ten above every index."""
    largest = max((item.index for item in items), default=0)
    stride = _SMALLEST_STRIDE
    while stride <= largest:
        stride *= 10
    return stride


def can_rotate(item: Item) -> bool:
    """Return whether the options keep their meaning under other letters: none of them names letters."""
    return not any(
        _BARE_LETTER.fullmatch(option.strip()) or _NAMES_LETTERS.search(option) for option in item.options
    )


def rotated(item: Item, turns: int, stride: int) -> Item:
    """Return an item whose options and answer moved on by letters: A to B, the last one to A.

    Args:
        item: The unrotated item.
        turns: Number of letters, from 0 to the number of options - 1.
        stride: What a turn adds to the index.
    """
    count = len(item.options)
    options = tuple(item.options[(place - turns) % count] for place in range(count))
    answer = LETTERS[(LETTERS.index(item.answer) + turns) % count]
    return replace(
        item, index=item.index + turns * stride, options=options, answer=answer, original=item.index
    )


def circular_items(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return k rotations of each item of k options, unrotated first; where none is possible, the item alone.

    An item alone is an incomplete group: circular scores never count it as right.

    Raises:
        UsageError: The items are rotated already.
    """
    if any(item.original is not None for item in items):
        raise UsageError("the items are rotated already", expected="a plain file, without g_index")
    stride = stride_of(items)
    return tuple(
        rotated(item, turns, stride)
        for item in items
        for turns in range(len(item.options) if can_rotate(item) else 1)
    )


def plain_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the unrotated items."""
    return tuple(item for item in items if item.index == item.group)


def circular_score(items: Sequence[Item], answers: Mapping[int, ItemAnswer], plain: float) -> CircularScore:
    """Return the share of items whose k rotations are all present and right."""
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    hits, incomplete, chances = 0, 0, []
    for rows in groups.values():
        count = len(rows[0].options)
        complete = {row.answer for row in rows} == set(rows[0].letters) and len(rows) == count
        incomplete += not complete
        hits += complete and all(answers[row.index].letter == row.answer for row in rows)
        chances.append((1 / count) ** count if complete else 0.0)
    share = wilson(hits, len(groups))
    return CircularScore(share, share.value - plain, incomplete, float(np.mean(chances)))
