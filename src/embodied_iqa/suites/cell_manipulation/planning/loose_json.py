"""JSON as language models write it: within prose and fences, as Python literals, with trailing commas."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

_THOUGHTS: Final = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_OPENING: Final = re.compile(r"[\[{]")
_TRAILING: Final = re.compile(r",(\s*[\]}])")
_CLOSED_BY: Final = {"[": "]", "{": "}"}
_MOST_ATTEMPTS: Final = 40
_MOST_LITERAL: Final = 60_000
_PLAIN_QUOTES: Final = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_DECODER: Final = json.JSONDecoder(strict=False)


class Unreadable(ValueError):  # noqa: N818 - names the state of a text; it never reaches a user
    """A text that holds no value.

    Args:
        is_cut: Whether a value begins and does not end.
    """

    def __init__(self, *, is_cut: bool) -> None:
        super().__init__("cut off" if is_cut else "no value")
        self.is_cut = is_cut


def values_in(text: str) -> Iterator[Any]:
    """Yield the values of a text, those from the outermost brackets, in order.

    Nothing is read from inside a value that does not end: an incomplete plan is not executed.

    Raises:
        Unreadable: At the end, if no value was found, or one is cut off.
    """
    text = _THOUGHTS.sub("", text)
    place, found = 0, False
    for _ in range(_MOST_ATTEMPTS):
        opening = _OPENING.search(text, place)
        if opening is None:
            break
        value, end = _value_at(text, opening.start())
        if end is None:
            raise Unreadable(is_cut=True)
        if value is not _NOTHING:
            found = True
            yield value
        place = end
    if not found:
        raise Unreadable(is_cut=False)


def literal(text: str) -> Any:
    """Return the value of a whole text: JSON, a Python literal, or several of them by commas.

    Raises:
        Unreadable: It has none.
    """
    for read in (_json, _python):
        try:
            return read(text.strip())
        except _PROBLEMS:
            continue
    raise Unreadable(is_cut=False)


_NOTHING: Final = object()
_PROBLEMS: Final = (ValueError, SyntaxError, RecursionError, MemoryError, TypeError, OverflowError)


def _value_at(text: str, start: int) -> tuple[Any, int | None]:
    """Return the value that begins at a bracket and where it ends; None where the bracket is not closed."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except _PROBLEMS:
        pass
    else:
        return value, end
    closed = _end_of(text, start)
    if closed is None:
        return _NOTHING, None
    span = text[start:closed]
    for form in (span, span.translate(_PLAIN_QUOTES)):
        for read in (_json, _python):
            try:
                return read(form), closed
            except _PROBLEMS:
                continue
    return _NOTHING, start + 1


def _json(text: str) -> Any:
    return _DECODER.decode(_TRAILING.sub(r"\1", text))


def _python(text: str) -> Any:
    if len(text) > _MOST_LITERAL:
        raise ValueError("too long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.literal_eval(text)


def _end_of(text: str, start: int) -> int | None:
    """Return where the bracket at ``start`` is closed, or None; brackets in double quotes do not count."""
    depth, quoted = [], False
    marks = re.finditer(r'\\.|["\[\]{}]', text[start:], re.DOTALL)
    for mark in islice(marks, _MOST_LITERAL):
        sign = mark.group()
        if sign == '"':
            quoted = not quoted
        elif quoted or sign.startswith("\\"):
            continue
        elif sign in _CLOSED_BY:
            depth.append(_CLOSED_BY[sign])
        elif depth and sign == depth[-1]:
            depth.pop()
            if not depth:
                return start + mark.end()
    return None
