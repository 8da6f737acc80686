"""Write the results page of the static benchmark from stored results.

python scripts/write_static_page.py --vlm RESULTS --vla RESULTS --note TEXT --out docs/results/static.md

`RESULTS` is a folder of `embodied-iqa evaluate static`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from embodied_iqa.errors import InputError
from embodied_iqa.files import write_text_whole
from embodied_iqa.records import read_json
from embodied_iqa.reports.kit.markdown import prose, titled_table
from embodied_iqa.reports.kit.page import Chapter
from embodied_iqa.reports.kit.table import Column, Row, Table
from embodied_iqa.reports.static.further import distorted_chapters, s2d_chapters
from embodied_iqa.reports.static.leaderboards import HERE, vla_chapter, vlm_chapter
from embodied_iqa.reports.static.stored_results import read_static_results
from embodied_iqa.scoring.proportions import wilson
from embodied_iqa.static_benchmark.answers import AnswerPart
from embodied_iqa.static_benchmark.benchmark import read_items
from embodied_iqa.static_benchmark.circular import plain_items
from embodied_iqa.static_benchmark.conditions import GREY
from embodied_iqa.static_benchmark.items import Dimension, Item
from embodied_iqa.static_benchmark.subjects import load_answerer, parse_subjects
from embodied_iqa.subjects.options import VlmOptions

_LEAD = (
    "Subjects on made items and trajectories of the simulated cell "
    "([static-benchmark.md](../static-benchmark.md)): the numbers do not compare with published ones. All "
    "numbers as found, with 95 % intervals: Wilson's for shares, bootstrap over tasks for points and "
    "correlations."
)
_GREY = (
    "Hits in percent on pictures without content, by a reader that always answers: where nothing is nearest, "
    "a letter is drawn (the letter of `random`). In the scores such answers are wrong."
)
_BY_TASK = "vla_tasks"


def main() -> int:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vlm", type=Path, required=True, metavar="RESULTS")
    parser.add_argument("--vla", type=Path, required=True, metavar="RESULTS")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", action="append", default=[], help="a paragraph about the measurement")
    arguments = parser.parse_args()
    parts = page(arguments.vlm, arguments.vla, arguments.note)
    write_text_whole(arguments.out, "\n\n".join(parts) + "\n")
    return 0


def page(vlm: Path, vla: Path, notes: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    of_vlms, of_vlas = read_static_results(vlm), read_static_results(vla)
    if of_vlms.vlm is None or of_vlas.vla is None:
        raise InputError("results are missing", expected="--vlm with vlm.json, --vla with vla.json")
    yield "# Static benchmark"
    yield prose(_LEAD)
    yield from map(prose, notes)
    yield prose("`scripts/write_static_page.py --vlm RESULTS --vla RESULTS --out PAGE` writes this page.")
    yield "## Vision-language models"
    yield from _tables([vlm_chapter(of_vlms.vlm), *distorted_chapters(of_vlms)])
    items = plain_items(read_items(Path(of_vlms.bench)).items)
    yield titled_table(_grey_table(vlm, items))
    yield "## Vision-language-action models"
    yield from _tables([vla_chapter(of_vlas.vla), *s2d_chapters(of_vlas)])


def _tables(chapters: Sequence[Chapter]) -> Iterator[str]:
    """Yield the tables without published rows, and without those of single tasks."""
    for chapter in chapters:
        for table in (table for part in chapter.parts for table in part.tables):
            if table.name != _BY_TASK:
                yield titled_table(_measured(table))


def _measured(table: Table) -> Table:
    names = [column.title for column in table.columns]
    if "Source" not in names:
        return table
    place = names.index("Source")
    rows = [row for row in table.rows if row[place] == HERE]
    return Table(table.name, table.title, table.columns, rows, table.note)


def _grey_table(results: Path, items: Sequence[Item]) -> Table:
    """Return the hits on grey pictures by dimension, with a drawn letter for answers without one."""
    (guess,) = parse_subjects("random")
    drawn = load_answerer(guess, VlmOptions())
    columns = [Column("Subject"), Column("Dimension"), Column("Items"), Column("Chance", 1)]
    columns += [Column("Hits", 1), Column("Low", 1), Column("High", 1)]
    rows: list[Row] = []
    for folder in sorted((results / "answers").glob(f"*/{GREY}")):
        parts = [read_json(AnswerPart, file, "answers") for file in sorted(folder.glob("*.json"))]
        letters = {answer.index: answer.letter for part in parts for answer in part.answers}
        for dimension in Dimension:
            asked = [item for item in items if item.dimension is dimension and item.index in letters]
            guesses = map(str, drawn.answers(asked, [], []))
            hits = [
                (letters[item.index] or one) == item.answer for item, one in zip(asked, guesses, strict=True)
            ]
            share = wilson(sum(hits), len(hits))
            chance = float(np.mean([1 / len(item.options) for item in asked]))
            ends = (100 * number for number in (chance, share.value, share.low, share.high))
            rows.append((parts[0].subject, str(dimension), len(asked), *ends))
    return Table("grey", "Grey pictures", tuple(columns), tuple(rows), _GREY)


if __name__ == "__main__":
    main()
