"""A leaderboard: rows with names and numbers with intervals, sorted by any column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.analysis.means import cell_means
from embodied_iqa.data.analysis.resampling import References

Array = NDArray[np.float64]
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Cell:
    """A number; None where it does not exist.

    Attributes:
        value: The number.
        low: Lower end of the 95 % interval, or None.
        high: Upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, low: float = math.nan, high: float = math.nan) -> Self:
        """Return a cell; NaN becomes None."""
        return cls(*(None if math.isnan(number) else float(number) for number in (value, low, high)))


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of numbers.

    Attributes:
        title: Heading.
        digits: Decimals.
        range: Values at the ends of the bar; None for no bar.
        note: What is measured; may be empty.
    """

    title: str
    digits: int = 2
    range: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A row.

    Attributes:
        names: As many as the board has names.
        cells: Of each column by its key.
    """

    names: tuple[str, ...]
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard.

    Attributes:
        title: Heading.
        names: Headings of the columns of words.
        columns: Headings of the numbers by key.
        rows: In the order of the page.
        note: How to read it.
        sort: Key of the column, or the heading of a name, that orders the rows.
        down: Largest first.
    """

    title: str
    names: tuple[str, ...]
    columns: Mapping[str, BoardColumn]
    rows: tuple[BoardRow, ...]
    note: str
    sort: str
    down: bool = True

    def sorted(self, sort: str, *, down: bool) -> Board:
        """Return the board in another order; absent numbers come last.

        Raises:
            UsageError: There is no such column.
        """
        if sort in self.names:
            place = self.names.index(sort)
            rows = sorted(self.rows, key=lambda row: row.names[place], reverse=down)
        elif sort in self.columns:
            rows = sorted(self.rows, key=lambda row: _key(row.cells.get(sort), down))
        else:
            raise UsageError("no such column", got=sort[:80], available=[*self.names, *self.columns])
        return replace(self, rows=tuple(rows), sort=sort, down=down)


def _key(cell: Cell | None, down: bool) -> tuple[bool, float]:  # noqa: FBT001 - the key of a sort
    if cell is None or cell.value is None:
        return True, 0.0
    return False, -cell.value if down else cell.value


def mean_cells(values: Array, groups: NDArray[np.int64], count: int, units: NDArray[np.str_]) -> list[Cell]:
    """Return the mean of each group with its interval from drawing whole units with replacement.

    Args:
        values: ``(N,)``; NaN does not count.
        groups: ``(N,)`` index of the group.
        count: Number of groups.
        units: ``(N,)`` what is drawn: reference or scene, because rows of one are not independent.
    """
    if not len(values):
        return [Cell(None)] * count
    found = cell_means(values, groups, count, References.drawn(units, draws=_DRAWS))
    return [Cell.of(*numbers) for numbers in zip(found.means, found.low, found.high, strict=True)]


def grouped(keys: Sequence[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Return the distinct keys, sorted, and the index of each key among them."""
    distinct = sorted(set(keys))
    place = {key: number for number, key in enumerate(distinct)}
    return distinct, np.array([place[key] for key in keys], np.int64)
