"""Parquet files of others: chosen columns in batches of rows, with errors of one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.base.errors import InputError, first_line


def column_types(path: Path) -> dict[str, Any]:
    """Return the Arrow type of each column.

    Raises:
        InputError: The file is missing or damaged, or names a column twice.
    """
    try:
        schema = pq.read_schema(path)
        types = {field.name: field.type for field in schema}
    except (OSError, ValueError, pa.ArrowException) as error:  # such as a name that is not UTF-8
        raise unreadable(path, error) from None
    if len(types) < len(schema):
        raise InputError(f"{path} names a column twice")
    return types


def batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[dict[str, list[Any]]]:
    """Iterate over a file: the values of each column, up to ``rows`` rows at a time.

    Raises:
        InputError: The file is missing or damaged, or lacks a column.
    """
    present = column_types(path)
    missing = [name for name in columns if name not in present]
    if missing:
        raise InputError(f"{path} lacks a column", expected=missing[0], available=present)
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(rows, columns=list(columns)):
                batch.validate(full=True)  # such as text that is not UTF-8
                yield {name: batch.column(name).to_pylist() for name in columns}
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:  # such as a date beyond Python's
        raise unreadable(path, error) from None


def unreadable(path: Path, error: BaseException) -> InputError:
    """Return the error of a file that pyarrow cannot read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
    return InputError(f"{path} cannot be read: {reason}")
