"""Tables of the sub-commands that fit into the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

_UNBOUNDED: Final = 1 << 16
_FOLDED: Final = 16
"""Longer words, such as paths and types, may be broken between two lines."""


class FittingTable(Table):
    """A table that breaks no word; where it would have to, its rows come one below the other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, its columns as wide as their words need and as the room allows."""
        unbounded = options.update(width=_UNBOUNDED)
        sizes = [
            [Measurement.get(console, unbounded, cell) for cell in (column.header, *column.cells)]
            for column in self.columns
        ]
        widest = [max(size.maximum for size in cells) for cells in sizes]
        words = [max(min(size.minimum, _FOLDED) for size in cells) for cells in sizes]
        room = options.max_width - max(0, len(self.columns) - 1)
        if sum(widest) > room >= sum(words):
            for column, width in zip(self.columns, _widths(words, widest, room), strict=True):
                column.width = width
        if sum(words) <= room:
            yield from super().__rich_console__(console, options)
        else:
            yield self._stacked()

    def _stacked(self) -> Table:
        """Return the rows one below the other: a column in each line, and an empty line at the end."""
        stacked = Table(title=self.title, title_justify="left", show_header=False, box=None, pad_edge=False)
        for style in ("bold", None):
            stacked.add_column(overflow="fold", style=style)
        for row in zip(*(column.cells for column in self.columns), strict=True):
            for column, cell in zip(self.columns, row, strict=True):
                stacked.add_row(column.header, cell)
            stacked.add_row()
        return stacked


def _widths(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that fill the room, from the least to the most that each can use."""
    widths = list(least)
    for _ in range(room - sum(least)):
        narrow = min((at for at in range(len(widths)) if widths[at] < most[at]), key=widths.__getitem__)
        widths[narrow] += 1
    return widths
