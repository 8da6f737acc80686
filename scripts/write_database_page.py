"""Write the tables of a database's report as a Markdown page.

python scripts/write_database_page.py DB --summary build.json --out docs/results/full-build.md

`build.json` is what `embodied-iqa build --json` printed. The pictures that the page links are parts of
`embodied-iqa report DB`, as a browser draws them; the page only links them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.data.analysis.study import study
from embodied_iqa.data.database.execution import joined_execution
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.pages.reports.database.report import build_page
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.page import Chapter
from embodied_iqa.pages.reports.kit.table import Column, Row, Table

_PICTURES: Final = {"distributions": "Spreads", "jnd": "Levels", "breakdowns": "Means", "execution": "Runs"}


def main() -> int:
    """Read, compute, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("--summary", type=Path, required=True, help="what build --json printed")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peak-mib", type=int, required=True, help="peak memory of all processes together")
    parser.add_argument("--note", default="", help="a sentence about how it was measured")
    arguments = parser.parse_args()
    store = DatabaseStore(arguments.database)
    summary = load_json(arguments.summary, "the summary")
    pictures = arguments.out.parent / "pictures"
    text = "\n\n".join(_page(store, summary, arguments.peak_mib, pictures, arguments.note)) + "\n"
    write_text_whole(arguments.out, text)
    return 0


def _page(
    store: DatabaseStore, summary: dict[str, Any], peak_mib: int, pictures: Path, note: str
) -> Iterator[str]:
    grid = load_grid(store)
    runs = joined_execution(store)
    found = study(grid, load_attributes(store, grid.pairs), None if runs is None else runs_of_table(runs))
    page = build_page(found, store.path.name, store.record().tree(), "")
    yield f"# A full database with the embedded panel\n\n{prose(f'{page.headline} {page.lead}')}"
    yield _build_steps(summary, peak_mib)
    if note:
        yield prose(note)
    yield from (prose(f"- {remark}", indent="  ") for remark in page.remarks)
    for chapter in page.chapters:
        yield from _chapter(chapter, pictures)


def _build_steps(summary: dict[str, Any], peak_mib: int) -> str:
    """Return what the build made, and the time of each step."""
    columns = (
        Column("step"),
        Column("rows"),
        Column("seconds", 0),
        Column("rows/s", 0),
        Column("outside of models"),
    )
    rows: list[Row] = [
        (
            name,
            step["rows"],
            float(step["seconds"]),
            step["rows"] / step["seconds"] if step["seconds"] else None,
            None if (outside := step["share_outside_inference"]) is None else f"{100 * outside:.0f} %",
        )
        for name, step in summary["steps"].items()
    ]
    seconds = sum(step["seconds"] for step in summary["steps"].values())
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["counts"].items() if name != "failures")
    took = (
        f"{counts}; {seconds / 60:.0f} minutes on two cores, at most {peak_mib:,} MiB of memory for all "
        f"processes together, {summary['megabytes']:,.0f} MB on disk."
    )
    return f"{prose(took)}\n\n{Table('steps', 'Steps', columns, rows).markdown()}"


def _chapter(chapter: Chapter, pictures: Path) -> Iterator[str]:
    yield f"## {chapter.title}\n\n{prose(chapter.lead)}\n\n{prose(f'The paper: {chapter.paper}')}"
    picture = pictures / f"database-{chapter.anchor}.webp"
    if chapter.anchor in _PICTURES and picture.is_file():
        yield f"![{_PICTURES[chapter.anchor]}](pictures/{picture.name})"
    for part in chapter.parts:
        for table in part.tables:
            yield titled_table(table)


if __name__ == "__main__":
    sys.exit(main())
