"""Conversion between dataclasses and Arrow: a schema, a table from rows, rows from a table.

A field is text (also an enum), a number, a truth value or a dataclass; a tuple of these; or
one of these or None. `Annotated` gives another Arrow type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import pyarrow as pa

Row = TypeVar("Row")
Convert = Callable[[Any], Any]
_ARROW: Final = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


@cache
def schema_of(kind: Any) -> Any:
    """Return the Arrow schema of a dataclass: a column a field, nullable where the field may be None."""
    return pa.schema([pa.field(name, _arrow(hint), nullable=null) for name, hint, null in _fields(kind)])


def table_of(kind: Any, rows: Iterable[object]) -> Any:
    """Return rows as an Arrow table."""
    rows, schema = list(rows), schema_of(kind)
    columns = []
    for field in schema:
        values: list[Any] = [getattr(row, field.name) for row in rows]
        if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
            values = [[asdict(item) for item in value] for value in values]
        columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def rows_of(kind: type[Row], table: Any) -> list[Row]:
    """Return the rows of an Arrow table that has exactly the columns of `schema_of`."""
    columns, hashable = [], cast("Any", kind)
    for name, hint, nullable in _fields(hashable):
        values = table[name].to_pylist()
        convert = _converter(hint)
        if convert is not None and nullable:
            values = [None if value is None else convert(value) for value in values]
        elif convert is not None:
            values = [convert(value) for value in values]
        columns.append(values)
    return [kind(*values) for values in zip(*columns, strict=True)]


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, type without None, and whether None is allowed."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        kinds = get_args(hints[field.name])
        nullable = NoneType in kinds
        found.append((field.name, kinds[0] if nullable else hints[field.name], nullable))
    return tuple(found)


def _arrow(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    if get_origin(hint) is tuple:
        return pa.list_(_arrow(get_args(hint)[0]))
    if _is_row(hint):
        return pa.struct(list(schema_of(hint)))
    return pa.string() if issubclass(hint, str) else _ARROW[hint]


def _converter(hint: Any) -> Convert | None:
    """Return the conversion of a value that Arrow gives; None where it is the field's value already."""
    if get_origin(hint) is Annotated:
        return None
    if get_origin(hint) is tuple:
        inner = _converter(get_args(hint)[0])
        return tuple if inner is None else lambda values: tuple(map(inner, values))
    if _is_row(hint):
        steps = [
            (name, _or_none(_converter(one) or _same) if null else _converter(one) or _same)
            for name, one, null in _fields(hint)
        ]
        return lambda item: hint(*(convert(item[name]) for name, convert in steps))
    return hint if issubclass(hint, StrEnum) else None


def _is_row(hint: Any) -> bool:
    return is_dataclass(hint)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
