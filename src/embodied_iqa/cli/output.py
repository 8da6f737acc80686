"""Console of the sub-commands, and the hint with which they end."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.lazy import importing

if TYPE_CHECKING:
    from rich.console import Console

    from embodied_iqa.cli.fitting_table import FittingTable
    from embodied_iqa.pages.reports.kit.table import Table as ReportTable

_FILE_WIDTH: Final = 200
_PROGRAM: Final = "embodied-iqa"


def console() -> Console:
    """Return a console as wide as the terminal or COLUMNS; in a file or pipe wide enough for every table."""
    with importing("rich"):  # not of the light install
        from rich.console import Console
    is_known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if is_known else _FILE_WIDTH, emoji=False)


def breakable(words: str) -> str:
    """Return words by commas so that a narrow column can break the line between them."""
    return words.replace(",", ", ")


def printable(text: str) -> str:
    """Return a text from a file for the terminal: escapes stand for characters that do not print."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def table_of(*headings: str, title: str | None = None, right: Collection[str] = ()) -> FittingTable:
    """Return an empty table that 80 columns suffice for.

    Args:
        headings: Of the columns.
        title: Printed above.
        right: Headings of columns of numbers.
    """
    with importing("rich"):
        from rich.markup import escape

        from embodied_iqa.cli.fitting_table import FittingTable
    table = FittingTable(
        title=None if title is None else escape(title),
        title_justify="left",
        header_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def print_json(result: object) -> None:
    """Print a record, or a tree with records, as JSON."""
    from embodied_iqa.base.records import unstructure  # an import of its own weight

    print(json.dumps(unstructure(result), indent=2))


def print_report_table(table: ReportTable) -> None:
    """Print a table of a report, without the rows that quote a paper and the columns without a value."""
    from embodied_iqa.pages.reports.kit.table import cell_text

    rows = table.rows[: len(table.rows) - table.quoted]
    shown = [at for at in table.shown if any(row[at] not in {None, ""} for row in rows)]
    columns = [table.columns[at] for at in shown]
    numbers = [table.columns[at].title for at in shown if not isinstance(rows[0][at], str)]
    printed = table_of(*(column.title for column in columns), title=table.title, right=numbers)
    for row in rows:
        printed.add_row(*(cell_text(row[at], table.columns[at]) for at in shown))
    console().print(printed)
    if table.note:
        print(table.note)


def print_left_out(reasons: Iterable[str]) -> None:
    """Print on stderr what was left out of a result, each with its reason."""
    for reason in reasons:
        print(f"embodied-iqa: left out: {printable(reason)}", file=sys.stderr)


def print_note(note: str) -> None:
    """Print a note on stderr, unless it is empty."""
    if note:
        print(f"note: {printable(note)}", file=sys.stderr)


def print_progress(what: str) -> None:
    """Print on stderr what is being done, before it takes its time."""
    print(printable(what), file=sys.stderr, flush=True)


def own_command() -> str:
    """Return the command that runs, as it can be typed again."""
    return f"{_PROGRAM} {shlex.join(sys.argv[1:])}"


def program() -> str:
    """Return what a terminal calls this program: its path where it is not the one on the PATH."""
    own, found = Path(sys.argv[0]), shutil.which(_PROGRAM)
    if own.parts[-2:] == ("embodied_iqa", "__main__.py") and not found:
        return f"{shlex.quote(sys.executable)} -m embodied_iqa"
    if own.name != _PROGRAM or not own.is_file():
        return _PROGRAM
    if found and Path(found).samefile(own):
        return _PROGRAM
    near = os.path.relpath(own)
    return shlex.quote(min(str(own), near if os.sep in near else f".{os.sep}{near}", key=len))


def next_command(*words: object) -> None:
    """Print the command that is useful after this one, on stderr; the user replaces words in capitals."""
    print(f"next: {program()} {shlex.join(map(str, words))}", file=sys.stderr)
