"""Frozen dataclasses as plain data and back, checked against their annotations (cattrs).

JSON and YAML files are read with `read_json` or `structure`: a missing or unknown key, a value of another
type or a number that is not finite is an error of one line that names the place in the file. Values are not
converted, except that a whole number is accepted where a float is expected and words become enums.
"""

from __future__ import annotations

import json
import math
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, Union, get_origin

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.lazy import Later
from embodied_iqa.base.user_files.json_files import MOST_JSON_BYTES, load_json

if TYPE_CHECKING:
    import cattrs
    from cattrs import strategies
else:  # a fifth of the time that the gate takes to import
    cattrs, strategies = Later("cattrs"), Later("cattrs.strategies")


class _Versioned(Protocol):
    @property
    def format(self) -> int: ...


T = TypeVar("T")
V = TypeVar("V", bound=_Versioned)
Plain = str | bool | int | float | None
_NAMES: Final = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}


def read_json(kind: type[T], path: Path, what: str, *, most_bytes: int = MOST_JSON_BYTES) -> T:
    """Read a record from a JSON file.

    Args:
        kind: Of the record.
        path: The file.
        what: What the file holds, for the message: ``the model card``.
        most_bytes: Largest size.

    Raises:
        InputError: The file cannot be read, is not JSON, or does not match the record.
    """
    return structure(kind, load_json(path, what, most_bytes=most_bytes), f"{what} {path}")


def read_versioned(kind: type[V], path: Path, what: str, version: int) -> V:
    """Read a record that states the version of its file's layout.

    Raises:
        InputError: As for `read_json`, or the version is another one.
    """
    record = read_json(kind, path, what)
    if record.format != version:
        raise InputError(f"{path} has another format", expected=str(version), got=record.format)
    return record


def write_record(record: object, path: Path) -> None:
    """Write a record as JSON, its fields in their order, whole or not at all."""
    text = json.dumps(unstructure(record), indent=1, ensure_ascii=False, allow_nan=False)
    write_text_whole(path, text + "\n")


def structure(kind: type[T], tree: object, where: str) -> T:
    """Return plain data as a record.

    Args:
        kind: A dataclass, or any annotated type: ``tuple[Point, ...]``.
        tree: Dictionaries, lists, text, numbers and None.
        where: What the data come from, for the message.

    Raises:
        InputError: The data do not match; the message lists each place.
    """
    try:
        return _converter().structure(tree, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError, AttributeError) as error:
        faults = cattrs.transform_error(error, path="", format_exception=_explain)
        places = (fault.replace(" @ .", " at ").removesuffix(" @ ") for fault in faults)
        raise InputError(f"{where}: {'; '.join(places)}") from error


def unstructure(record: object) -> Any:
    """Return a record as dictionaries, lists and plain values, in the order of its fields."""
    return _converter().unstructure(record)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    strategies.configure_union_passthrough(Plain, converter)
    for kind in (bool, int, float, str):
        converter.register_structure_hook(kind, _checked)
    return converter


def _checked(value: Any, kind: type) -> Any:
    """Return a value of exactly this type; a word or number of an enum, and a whole number as a float."""
    if issubclass(kind, StrEnum):
        if value not in set(map(str, kind)):
            raise ValueError(f"unknown word {value!r}, available: {', '.join(kind)}")
        return kind(value)
    if issubclass(kind, IntEnum):
        if type(value) is not int or value not in set(map(int, kind)):
            raise ValueError(f"unknown number {value!r}, available: {', '.join(str(int(n)) for n in kind)}")
        return kind(value)
    if issubclass(kind, str) and kind is not str:  # text with rules of its own, such as the name of a view
        return value if isinstance(value, kind) else kind(_checked(value, str))
    number: Any = float(value) if kind is float and type(value) is int else value
    if type(number) is not kind or (kind is float and not math.isfinite(value)):
        raise ValueError(f"expected {_NAMES.get(kind, kind.__name__)}, got {value!r}")
    return number


def _explain(error: BaseException, kind: type | None) -> str:
    match error:
        case cattrs.ForbiddenExtraKeysError():
            return f"unknown keys {', '.join(sorted(error.extra_fields))}"
        case KeyError():
            return f"missing {error.args[0]}"
        case TypeError() | AttributeError():
            return f"expected {_name(kind)}"
    return str(error)


def _name(kind: Any) -> str:
    if get_origin(kind) in {tuple, list}:
        return "a list"
    return "a plain value" if get_origin(kind) in {UnionType, Union} else _NAMES.get(kind, "a mapping")
