"""Cache of measured inputs on disk: an image is measured once for each version of the input."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_folders import cache_folder

LIMIT_BYTES: Final = 2_000_000_000
_PRUNE_TO: Final = 0.9
_KEYS_AT_ONCE: Final = 500
_WAIT_S: Final = 60.0


class InputCache:
    """Arrays by key in one SQLite file of limited size; the oldest are removed first.

    Several processes may share it.

    Args:
        file: Created if missing.
        limit_bytes: Largest size of the arrays.

    Raises:
        InputError: The file cannot be written, or is damaged.
    """

    def __init__(self, file: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._file, self._limit = file, limit_bytes
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot keep inputs in {file}: {error.strerror}") from None
        with self._open() as base:
            base.execute(
                "CREATE TABLE IF NOT EXISTS inputs "
                "(number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, value BLOB NOT NULL)"
            )

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the arrays that are there, by key.

        Raises:
            InputError: The file is damaged.
        """
        found = {}
        with self._open() as base:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                part = keys[start : start + _KEYS_AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = base.execute(f"SELECT key, value FROM inputs WHERE key IN ({marks})", part)  # noqa: S608 - question marks only
                found.update({key: _array(value) for key, value in rows})
        return found

    def put(self, arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
        """Store arrays, and remove the oldest ones beyond the limit.

        Raises:
            InputError: The file cannot be written.
        """
        rows = [(key, _bytes(array)) for key, array in arrays]
        with self._open() as base:
            base.executemany("INSERT OR REPLACE INTO inputs (key, value) VALUES (?, ?)", rows)
            self._prune(base)

    def size_bytes(self) -> int:
        """Return the size of the arrays."""
        with self._open() as base:
            return _size(base)

    def _prune(self, base: sqlite3.Connection) -> None:
        if _used(base) <= self._limit or _size(base) <= self._limit:
            return
        kept = 0
        for number, size in base.execute("SELECT number, length(value) FROM inputs ORDER BY number DESC"):
            kept += size
            if kept > _PRUNE_TO * self._limit:
                base.execute("DELETE FROM inputs WHERE number <= ?", (number,))
                return

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, timeout=_WAIT_S)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise InputError(
                f"the cache {self._file} fails: {error}", expected="another folder, or delete the file"
            ) from None


def _used(base: sqlite3.Connection) -> int:
    """Return the size of the pages in use, more than that of the arrays; `_size` reads the whole table."""
    pages, free, page = (
        int(base.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * page


def _size(base: sqlite3.Connection) -> int:
    (size,) = base.execute("SELECT coalesce(sum(length(value)), 0) FROM inputs").fetchone()
    return int(size)


def _bytes(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _array(value: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.load(io.BytesIO(value), allow_pickle=False)
    return array


def input_cache() -> InputCache:
    """Return the cache of measured inputs in the user's folder, at most 2 GB."""
    return InputCache(cache_folder() / "metrics" / "inputs.sqlite")
