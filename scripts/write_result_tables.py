"""Write each table of the results pages as a CSV file, with a link to it in the last cell of its heading.

The cells are those of the page, without its marks: a CSV file never says anything else than its page. Run it
after a page has changed; a test compares both.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).resolve().parents[1] / "docs/results"
FOLDER: Final = "tables"
_RULE: Final = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_LINK: Final = re.compile(rf"(?: ·)? \[CSV\]\({FOLDER}/[\w.-]+\.csv\)")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_MARKS: Final = (
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"[`]|\*\*|<br>"), ""),
    (re.compile(r"\\\|"), "|"),
    (re.compile("\N{NO-BREAK SPACE}"), " "),
)
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of a page.

    Attributes:
        name: Of its CSV file: page and heading.
        rows: Cells as they are read, the heading first.
        begin: Index of the line of its heading.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]
    begin: int


def tables_of(stem: str, lines: Sequence[str]) -> Iterator[PageTable]:
    """Yield the tables of a page in their order; those below one heading are numbered from the second on."""
    used: dict[str, int] = {}
    heading, fenced, at = "", False, 0
    while at < len(lines):
        line = lines[at]
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            heading = line.lstrip("# ")
        at += 1
        if fenced or at >= len(lines) or not (line.startswith("|") and _RULE.fullmatch(lines[at])):
            continue
        begin = at - 1
        while at < len(lines) and lines[at].startswith("|"):
            at += 1
        slug = _NOT_IN_NAMES.sub("-", f"{stem} {heading}".lower()).strip("-")[:_LONGEST].strip("-")
        used[slug] = used.get(slug, 0) + 1
        name = slug if used[slug] == 1 else f"{slug}-{used[slug]}"
        yield PageTable(
            f"{name}.csv", tuple(map(_cells, [_without_link(lines[begin]), *lines[begin + 2 : at]])), begin
        )


def with_links(stem: str, text: str) -> tuple[str, dict[str, str]]:
    """Return a page with a link in each table, and the CSV files by name."""
    lines = text.splitlines()
    files = {table.name: _csv(table.rows) for table in tables_of(stem, lines)}
    for table in tables_of(stem, lines):
        heading = _without_link(lines[table.begin]).removesuffix("|").rstrip()
        apart = " ·" if heading.endswith("]") else ""  # else a unit in brackets begins a reference
        lines[table.begin] = f"{heading}{apart} [CSV]({FOLDER}/{table.name}) |"
    return "\n".join(lines) + "\n", files


def pages() -> list[Path]:
    """Return the pages: results and details."""
    return sorted(RESULTS.rglob("*.md"))


def main() -> int:
    """Write all pages and files; return the exit code."""
    for page in pages():
        text, files = with_links(page.stem, page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        if files:
            (page.parent / FOLDER).mkdir(exist_ok=True)
        for name, content in files.items():
            (page.parent / FOLDER / name).write_text(content, encoding="utf-8")
    return 0


def _without_link(heading: str) -> str:
    return _LINK.sub("", heading)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(_plain(cell) for cell in _CELL_END.split(line.strip())[1:-1])


def _plain(cell: str) -> str:
    for pattern, replacement in _MARKS:
        cell = pattern.sub(replacement, cell)
    return cell.strip()


def _csv(rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


if __name__ == "__main__":
    sys.exit(main())
