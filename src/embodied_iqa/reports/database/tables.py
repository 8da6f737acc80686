"""The results as tables: the page shows them and CSV files hold them in full."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from embodied_iqa.reports.kit.formatting import ABSENT, clean_text, number

__all__ = ["Cell", "Column", "Table", "cell_text", "csv_cell", "heat_step"]

Cell = str | int | float | None
"""None and NaN stand for what does not exist."""
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: Heading on the page.
        digits: Of numbers with a fraction.
        heat: The values that are all pale and all deep; None for no colour.
        name: In the CSV file; the title in lower case with underscores where empty.
        shown: Whether the page shows it; the CSV file always does.
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
        name: Of its CSV file, without the ending.
        title: On the page.
        columns: Headings.
        rows: As many cells as columns each.
        note: What a reader has to know.
        folded: Whether the page shows it only when asked, because a figure does so already.
        remarks: Words that stand behind a row's name on the page, by the row's first cell.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[int, ...]:
        """Numbers of the columns that the page shows."""
        return tuple(number for number, column in enumerate(self.columns) if column.shown)

    def csv_rows(self) -> list[list[str]]:
        """Return the lines of the CSV file, heading first."""
        names = [column.csv_name for column in self.columns]
        return [names, *([csv_cell(cell) for cell in row] for row in self.rows)]


def cell_text(cell: Cell, column: Column) -> str:
    """Return a cell as people read it."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return ABSENT
    if isinstance(cell, float):
        return number(cell, column.digits)
    return f"{cell:,}" if isinstance(cell, int) else clean_text(cell)


def csv_cell(cell: Cell) -> str:
    """Return a cell for a CSV file: numbers in full, nothing where there is none."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def heat_step(cell: Cell, heat: Sequence[float] | None) -> int | None:
    """Return how deep a cell is coloured, 0 to 10; None for not at all."""
    if heat is None or cell is None or isinstance(cell, str) or not math.isfinite(cell):
        return None
    share = (cell - heat[0]) / (heat[1] - heat[0])
    return round(_STEPS * min(1.0, max(0.0, share)))
