"""Write the tables of a benchmark of metrics as a Markdown page.

python scripts/write_benchmark_page.py BENCHMARK --out docs/results/metrics.md --command "..." --note "..."

`BENCHMARK` is the folder of `embodied-iqa benchmark`. The page has every table of its report but some
breakdowns: those by background, main object, origin and person are in the report. `--further FOLDER TITLE
NOTE` adds a study of generalization of another benchmark, or ranking and differences if it has none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.records import read_json
from embodied_iqa.pages.reports.benchmark.report import build_page
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.page import Chapter
from embodied_iqa.pages.reports.kit.table import Table
from embodied_iqa.quality.metrics.benchmark.results import RESULTS, BenchmarkResults

_LEFT_OUT: Final = ("scores", "by_background_", "by_main_object_", "by_origin_", "by_person_")
_PICTURE: Final = "metrics-leaderboard.webp"
"""The figure of the report's leaderboard, beside the page in ``pictures``."""


def main() -> int:
    """Read, compute, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--command", action="append", required=True, help="that made it; may be repeated")
    parser.add_argument("--note", action="append", default=[], help="a paragraph about how it was measured")
    parser.add_argument(
        "--further", nargs=3, action="append", default=[], metavar=("FOLDER", "TITLE", "NOTE")
    )
    arguments = parser.parse_args()
    parts = [
        *_page(_read(arguments.benchmark), arguments),
        *(part for folder, *words in arguments.further for part in _further(_read(Path(folder)), *words)),
        prose("`scripts/write_benchmark_page.py` writes this page from the folders of benchmarks."),
    ]
    write_text_whole(arguments.out, "\n\n".join(part for part in parts if part) + "\n")
    return 0


def _page(results: BenchmarkResults, arguments: argparse.Namespace) -> Iterator[str]:
    page = build_page(results, "", "")
    yield f"# Quality metrics against the robot's scores\n\n{prose(f'{page.headline} {page.lead}')}"
    yield prose("What the numbers mean and how to run your own benchmark: [the guide](../benchmark.md).")
    yield "## How it was measured"
    yield "```\n" + "\n".join(arguments.command) + "\n```"
    yield from (prose(note) for note in arguments.note)
    yield from (prose(f"- {remark}", indent="  ") for remark in page.remarks)
    for chapter in page.chapters:
        yield from _chapter(chapter, arguments.out.parent / "pictures" / _PICTURE)


def _further(results: BenchmarkResults, title: str, note: str) -> Iterator[str]:
    yield f"## {title}\n\n{prose(note)}"
    wanted = ("unseen",) if results.unseen else ("leaderboard", "differences")
    for chapter in build_page(results, "", "").chapters:
        if chapter.anchor in wanted:
            yield from map(titled_table, _tables(chapter))


def _chapter(chapter: Chapter, picture: Path) -> Iterator[str]:
    tables = _tables(chapter)
    if tables:
        yield f"## {chapter.title}\n\n{prose(chapter.lead)}"
        yield prose(f"The paper: {chapter.paper}") if chapter.paper else ""
        if chapter.anchor == "leaderboard" and picture.is_file():
            yield f"![SRCC of each metric with its interval](pictures/{picture.name})"
        yield from map(titled_table, tables)


def _tables(chapter: Chapter) -> list[Table]:
    return [table for part in chapter.parts for table in part.tables if not table.name.startswith(_LEFT_OUT)]


def _read(folder: Path) -> BenchmarkResults:
    return read_json(BenchmarkResults, folder / RESULTS, "the benchmark")


if __name__ == "__main__":
    sys.exit(main())
