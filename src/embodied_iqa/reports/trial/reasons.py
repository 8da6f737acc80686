"""Reasons of many frames in a few words: what differs in numbers only is told once, with its range."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["merge_reasons"]

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
_SEPARATOR: Final = "; "


def merge_reasons(reasons: Iterable[str]) -> tuple[str, ...]:
    """Merge reasons that differ in numbers only.

    "detail 0.12 below 0.31" and "detail 0.15 below 0.31" become "detail 0.12 to 0.15 below 0.31". A reason
    that names several things, separated by semicolons, counts as several.

    Args:
        reasons: By frame; empty ones are left out.

    Returns:
        Different reasons, in the order in which they first came.
    """
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    parts = (part.strip() for reason in reasons for part in reason.split(_SEPARATOR))
    for part in filter(None, parts):
        found.setdefault(tuple(_NUMBER.split(part)), []).append(tuple(_NUMBER.findall(part)))
    return tuple(_with_ranges(words, numbers) for words, numbers in found.items())


def _with_ranges(words: tuple[str, ...], numbers: list[tuple[str, ...]]) -> str:
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    return words[0] + "".join(number + word for number, word in zip(ranges, words[1:], strict=True))


def _range(column: tuple[str, ...]) -> str:
    """Return the smallest and largest of numbers, written as they were."""
    low, high = min(column, key=float), max(column, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
