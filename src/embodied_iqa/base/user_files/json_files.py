"""JSON in which every key occurs once in its object and every number is finite.

Python's parser keeps the last of two equal keys and reads ``NaN``, ``Infinity`` and, for ``1e999``, infinity.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.texts import Place, doubled, path_of, read_text

MOST_JSON_BYTES: Final = 64 << 20
"""Python objects of a file need up to ten times its size."""

MOST_DATASET_BYTES: Final = 1 << 30
"""For data sets in one file: twice the instances of COCO's training images, the largest one that is read.

Files of ours that grow with their input have this limit too, where they are written and where they are read.
"""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


class _RefusedError(ValueError):
    """The text has a key twice or a number that is not finite; where is still to be found."""


def load_json(path: Path, what: str, *, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """Return the content of a JSON file.

    Args:
        path: The file.
        what: What the file holds, for the message: ``the model card``.
        most_bytes: Largest size.

    Raises:
        InputError: The file cannot be read, is not JSON, has a key twice in one object, or a number that is
            not finite; the message names the place.
    """
    return parse_json(read_text(path, what, most_bytes=most_bytes), f"{what} {path}".lstrip())


def parse_json(text: str, where: str, first_line: int = 1) -> Any:
    """Return the content of a JSON text.

    Args:
        text: The text.
        where: Its file, for the message.
        first_line: Line of the file in which the text begins.

    Raises:
        InputError: As for `load_json`.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_members, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        place = Place(error.lineno + first_line - 1, error.colno)
        raise InputError(f"{place.in_file(where)}: not JSON: {error.msg}") from None
    except _RefusedError:
        raise _refusal(text, where, first_line) from None
    except RecursionError:
        raise InputError(f"{where}: not JSON: too many levels") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"{where}: not JSON: {error}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _RefusedError
    return members


def _refuse_constant(_word: str) -> float:
    raise _RefusedError


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _RefusedError
    return number


@dataclass(slots=True)
class _Level:
    """An object or a list that is open at a place of the text.

    Attributes:
        key: The present key of an object, or index in a list.
        is_key: Whether a key of the object comes next.
        starts: Where each key of the object begins; None for a list.
    """

    key: str | int
    is_key: bool
    starts: dict[str, int] | None

    @classmethod
    def opened(cls, bracket: str) -> _Level:
        return cls("", is_key=True, starts={}) if bracket == "{" else cls(0, is_key=False, starts=None)

    def next(self) -> None:
        """Pass a comma."""
        self.is_key = self.starts is not None
        if isinstance(self.key, int):
            self.key += 1


def _refusal(text: str, where: str, first_line: int) -> InputError:
    """Return the error of the first refused part of a text; the text is JSON up to there."""
    levels: list[_Level] = []
    for match in _TOKEN.finditer(text):
        part, start = match.group(), match.start()
        if part in "{[":
            levels.append(_Level.opened(part))
        elif part in "]}":
            levels.pop()
        elif part == ",":
            levels[-1].next()
        elif levels and (starts := levels[-1].starts) is not None and levels[-1].is_key:
            key = json.loads(part)
            levels[-1].key, levels[-1].is_key = key, False
            keys = [level.key for level in levels]
            if key in starts:
                first, second = (_place(text, at, first_line) for at in (starts[key], start))
                return doubled(where, keys, first, second)
            starts[key] = start
        elif _is_not_finite(part):
            place = _place(text, start, first_line).in_file(where)
            path = path_of(level.key for level in levels)
            return InputError(f"{place}: {path or 'the file'}", expected="a finite number", got=part)
    return InputError(f"{where}: not JSON")


def _is_not_finite(token: str) -> bool:
    try:
        return not math.isfinite(float(token))
    except ValueError:
        return False


def _place(text: str, index: int, first_line: int) -> Place:
    line = text.count("\n", 0, index)
    return Place(line + first_line, index - text.rfind("\n", 0, index))
