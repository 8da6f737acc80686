"""Tables in Parquet files, and their rows as dataclasses: a schema, a table from rows, rows from a table.

A field is text (also an enum), a number, a truth value or a dataclass; a tuple of these; or
one of these or None. `Annotated` gives another Arrow type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.files import write_whole

Row = TypeVar("Row")
Convert = Callable[[Any], Any]
_DIGEST: Final = b"embodied_iqa.plan"
_ARROW: Final = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def write_table(path: Path, table: Any, schema: Any, digest: str = "") -> None:
    """Write Parquet (zstd), whole or not at all; the same rows give the same bytes.

    Args:
        path: The file.
        table: An Arrow table.
        schema: The columns.
        digest: Hash of everything that the rows depend on; kept in the file, see `read_digest`.

    Raises:
        InputError: It cannot be written.
    """
    table = table.cast(schema).replace_schema_metadata(stamped(schema, digest).metadata)
    write_whole(path, lambda fresh: pq.write_table(table, fresh, compression="zstd"))


def stamped(schema: Any, digest: str) -> Any:
    """Return a schema that carries a digest, see `read_digest`."""
    return schema.with_metadata({_DIGEST: digest.encode()})


def read_table(path: Path, names: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Read Parquet as an Arrow table.

    Args:
        path: The file.
        names: The columns that the file must have, in this order.
        columns: Only read these; None for all.

    Raises:
        InputError: The file is missing, damaged or has other columns.
    """
    try:
        found = pq.read_schema(path).names
        if found != list(names):
            raise InputError(f"{path} has other columns", expected=", ".join(names), got=", ".join(found))
        table = pq.read_table(path, columns=None if columns is None else list(columns), partitioning=None)
        table.validate(full=True)  # such as text that is not UTF-8
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}") from None
    return table


def read_digest(path: Path) -> str | None:
    """Return the digest that `write_table` kept; None where the file is missing or damaged."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return None
    return bytes(metadata.get(_DIGEST, b"")).decode()


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
    return hint if issubclass(hint, str) and hint is not str else None


def _is_row(hint: Any) -> bool:
    return is_dataclass(hint)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
