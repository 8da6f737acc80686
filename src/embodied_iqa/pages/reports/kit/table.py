"""Tables: one record with one cell format for HTML, Markdown and CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from embodied_iqa.pages.reports.kit.formatting import ABSENT, clean_text, number

Cell = str | int | float | None
"""None and NaN stand for a value that does not exist."""
Row = tuple[Cell, ...]
T = TypeVar("T")
_HEAT_STEPS: Final = 10
_PIPE: Final = r"\|"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: Heading in HTML and Markdown.
        digits: Decimals of floats.
        heat: Values of the palest and the deepest colour; None for no colour.
        name: Heading in the CSV file; by default the title in lower case with underscores.
        shown: False for columns of the CSV file only.
    """

    title: str
    digits: int = 2
    heat: tuple[float, float] | None = None
    name: str = ""
    shown: bool = True

    @property
    def csv_name(self) -> str:
        """Heading in the CSV file."""
        return self.name or self.title.lower().replace(" ", "_").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names the row.

    Attributes:
        name: Of its CSV file, without the suffix.
        title: Heading.
        columns: Headings and formats.
        rows: As many cells as columns each.
        note: Explanation of the columns.
        folded: Whether the page hides it at first, because a figure shows the same numbers; Markdown has a
            CSV file instead.
        sorted_by: Title of the column by which the page sorts at first; empty for a fixed order. Readers
            choose another column.
        detail: Whether only the page and its CSV files have it; Markdown leaves it out.
        quoted: Number of rows at the end that quote a paper; Markdown leaves them out of a long table.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    folded: bool = False
    sorted_by: str = ""
    detail: bool = False
    quoted: int = 0

    @classmethod
    def of(
        cls,
        title: str,
        items: Iterable[T],
        columns: Mapping[Column, Callable[[T], Cell]],
        note: str = "",
        *,
        name: str = "",
        folded: bool = False,
        detail: bool = False,
    ) -> Table:
        """Return a table with a row for each item and a function that returns the cell of each column."""
        rows = tuple(tuple(cell(item) for cell in columns.values()) for item in items)
        return cls(name, title, tuple(columns), rows, note, folded, detail=detail)

    @property
    def shown(self) -> tuple[int, ...]:
        """Indices of the columns in HTML and Markdown."""
        return tuple(index for index, column in enumerate(self.columns) if column.shown)

    def ranks(self, row: int) -> tuple[int, ...]:
        """Return the place of a row when the page sorts by each of the shown columns, from 0."""
        return tuple(self._places(index)[row] for index in self.shown)

    def _places(self, index: int) -> tuple[int, ...]:
        """Return the place of each row by one column: words by alphabet, numbers from the highest down."""
        order = sorted(range(len(self.rows)), key=lambda row: _sort_key(self.rows[row][index]))
        return tuple(order.index(row) for row in range(len(self.rows)))

    def markdown(self) -> str:
        """Return the table as Markdown."""
        titles = (self.columns[index].title for index in self.shown)
        texts = ((cell_text(row[i], self.columns[i]) for i in self.shown) for row in self.rows)
        return "\n".join([_line(titles), "|" + "---|" * len(self.shown), *map(_line, texts)])

    def write_csv(self, folder: Path) -> None:
        """Write every column with all digits to ``<name>.csv``; absent values are empty."""
        with (folder / f"{self.name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(column.csv_name for column in self.columns)
            writer.writerows([_csv_cell(cell) for cell in row] for row in self.rows)


def cell_text(cell: Cell, column: Column) -> str:
    """Return a cell as text."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return ABSENT
    if isinstance(cell, float):
        return number(cell, column.digits)
    return f"{cell:,}" if isinstance(cell, int) else clean_text(cell)


def heat_class(cell: Cell, column: Column) -> str:
    """Return the CSS class of a cell's colour, "h0" to "h10"; empty for no colour."""
    if column.heat is None or cell is None or isinstance(cell, str) or not math.isfinite(cell):
        return ""
    low, high = column.heat
    return f"h{round(_HEAT_STEPS * min(1.0, max(0.0, (cell - low) / (high - low))))}"


def _sort_key(cell: Cell) -> tuple[int, float, str]:
    """Return what sorts numbers first, from the highest down, then words, then absent values."""
    if isinstance(cell, str):
        return 1, 0.0, cell.casefold()
    if cell is None or not math.isfinite(cell):
        return 2, 0.0, ""
    return 0, -float(cell), ""


def _csv_cell(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', _PIPE) for cell in cells)} |"
