"""Measured inputs of one training in a file that is mapped into memory, so that it may exceed the memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole

_VALUES, _VIEWS, _RECORD = "values.npy", "views.npy", "record.json"
_MISSING: Final = -1
"""Camera of a row that is not measured yet."""


class InputStore:
    """Rows of measured inputs; those that an interrupted process wrote are kept.

    Attributes:
        values: ``(N, ...)`` mapped into memory, writable.
        views: ``(N,)`` int64; a row counts as measured once its camera is written, after its values.
    """

    def __init__(self, values: NDArray[Any], views: NDArray[np.int64]) -> None:
        self.values, self.views = values, views

    @classmethod
    def opened(cls, folder: Path, digest: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Self:
        """Open a store, or begin a new one where the folder holds other inputs or none.

        Args:
            folder: Of the files.
            digest: Of everything that the rows depend on, and of their order.
            shape: Of all rows, such as ``(N, H, W, 3)``.
            dtype: Of a number.

        Raises:
            InputError: The folder cannot be written.
        """
        record = {"digest": digest, "shape": list(shape), "dtype": dtype.str}
        try:
            if _recorded(folder) != record:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                open_memmap(folder / _VALUES, "w+", dtype, tuple(shape)).flush()
                _reserve(folder / _VALUES)
                np.save(folder / _VIEWS, np.full(shape[0], _MISSING, np.int64))
                write_json_whole(folder / _RECORD, record)
            return cls(open_memmap(folder / _VALUES, "r+"), open_memmap(folder / _VIEWS, "r+"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot keep inputs in {folder}: {error}", expected="space there, or delete the folder"
            ) from error

    def write(self, row: int, flat: NDArray[Any]) -> None:
        """Write a measured row: the camera, then its values."""
        self.values[row] = flat[1:].reshape(self.values.shape[1:])
        self.views[row] = flat[0]

    def missing(self) -> NDArray[np.int64]:
        """Return the rows that are not measured."""
        return np.flatnonzero(self.views == _MISSING)


def _reserve(file: Path) -> None:
    """Reserve the space: writing to a mapped file on a full disk would end the process."""
    with file.open("r+b") as opened:
        os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def _recorded(folder: Path) -> object:
    try:
        return json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
