"""Numbers and words as people read them; what was not measured is told, never shown as a number."""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["ABSENT", "clean_text", "number", "plural", "seconds", "share"]

ABSENT: Final = "\N{EM DASH}"
"""Stands for a value that does not exist."""
_SECOND_NS: Final = 1_000_000_000
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """Return a number with its unit; ABSENT for None, and words for what is not finite."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    text = f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def seconds(duration_ns: int, digits: int = 2) -> str:
    """Return a duration such as "3.25 s"."""
    return number(duration_ns / _SECOND_NS, digits, "s")


def share(value: float | None, whole: float) -> float | None:
    """Return a value in percent of the whole, in [0, 100]; None where there is no finite value."""
    if value is None or not math.isfinite(value):
        return None
    return round(min(100.0, max(0.0, 100 * value / whole)), 1)


def plural(count: int, noun: str) -> str:
    """Return such as "1 frame" or "3,000 frames"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def clean_text(text: str) -> str:
    """Return text without what no page may contain: control characters and lone surrogates."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
