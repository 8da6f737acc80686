"""Write the results page of cell-manipulation from stored runs.

python scripts/write_planner_page.py RUN ... --note TEXT --out docs/results/manipulation.md

`RUN` is a folder of `embodied-iqa evaluate manipulation`, finished or not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.page import Chapter
from embodied_iqa.pages.reports.manipulation.chapters import (
    arms_chapter,
    distortion_chapter,
    failures_chapter,
    success_chapter,
)
from embodied_iqa.pages.reports.manipulation.study import PlannerStudy, load_study

_TITLE = "Planners in the cell"
_LEAD = (
    "Planners in the simulated cell, by EmbodiedBench's manipulation protocol with episodes, scenes and "
    "physics of our own ([manipulation-benchmark.md](../manipulation-benchmark.md)): the numbers do not "
    "compare with published ones. All numbers as found, with 95 % intervals: Wilson's for shares, Newcombe's "
    "for paired differences."
)


def main() -> int:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", action="append", default=[], help="a paragraph about the measurement")
    parser.add_argument("--title", default=_TITLE, help="heading of the page (default: %(default)s)")
    arguments = parser.parse_args()
    text = "\n\n".join(page(arguments.runs, arguments.note, arguments.title))
    write_text_whole(arguments.out, text + "\n")
    return 0


def page(runs: Sequence[Path], notes: Sequence[str], title: str = _TITLE) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    yield f"# {title}"
    yield prose(_LEAD)
    yield from map(prose, notes)
    yield prose("`scripts/write_planner_page.py RUN ... --out PAGE` writes this page.")
    for run in runs:
        study = load_study(run)
        yield f"## {study.planner}"
        yield prose(_shown(load_json(run / "run.json", "the plan of a run")))
        yield from _tables(study)


def _shown(plan: dict[str, Any]) -> str:
    prompt = plan["loop"]["prompt"]
    source = (
        f"detector {prompt['detector']}" if prompt["coordinates"] == "detector" else prompt["coordinates"]
    )
    words = [f"coordinates from {source}", f"{prompt['shots']} text examples"]
    words += ["no pictures"] if prompt["language_only"] else [f"pictures of {plan['size_px']} px"]
    words += [f"gate judged by {plan['judge']}"] if plan["judge"] else []
    return f"Options: {', '.join(words)}."


def _tables(study: PlannerStudy) -> Iterator[str]:
    chapters: list[Chapter | None] = [success_chapter(study), distortion_chapter(study)]
    chapters += [arms_chapter(study), failures_chapter(study)]
    for chapter in chapters:
        if chapter is not None:
            yield prose(chapter.lead)
            for part in chapter.parts:
                yield from map(titled_table, part.tables)


if __name__ == "__main__":
    main()
