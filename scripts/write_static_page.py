"""Write the results page of the static benchmark from stored results.

python scripts/write_static_page.py --vlm RESULTS --vla RESULTS --grey RESULTS --note TEXT --out PAGE

`RESULTS` is a folder of `embodied-iqa evaluate static`; that of `--grey` is of items of
`scripts/make_grey_items.py`, and may be given several times.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.records import read_json
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.page import Chapter
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.pages.reports.static.further import distorted_chapters, s2d_chapters
from embodied_iqa.pages.reports.static.grey import dimension_cells, grey_table
from embodied_iqa.pages.reports.static.leaderboards import HERE, vla_chapter, vlm_chapter
from embodied_iqa.pages.reports.static.stored_results import read_static_results
from embodied_iqa.suites.static_benchmark.answers import AnswerPart, ItemAnswer
from embodied_iqa.suites.static_benchmark.asking import option_scores
from embodied_iqa.suites.static_benchmark.benchmark import read_items, read_record
from embodied_iqa.suites.static_benchmark.conditions import CLEAN
from embodied_iqa.suites.static_benchmark.items import Dimension, Item

_LEAD = (
    "Subjects on made items and trajectories of the simulated cell "
    "([static-benchmark.md](../static-benchmark.md)): the numbers do not compare with published ones. All "
    "numbers as found, with 95 % intervals: Wilson's for shares, bootstrap over tasks for points and "
    "correlations."
)
_GREY = (
    "Items without pictures (`scripts/make_grey_items.py`): their text is that of made items, and every "
    "picture is grey."
)
_UNPARSED = (
    "Grey pictures, in percent of the items. No word: the answer has no word of an option that the others "
    "lack; tie: two options are equally near."
)
_BY_QUESTION = (
    "All subjects together: answers to one item by several subjects are not independent, so there are no "
    "intervals."
)
_BY_TASK = "vla_tasks"


def main() -> int:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vlm", type=Path, required=True, metavar="RESULTS")
    parser.add_argument("--vla", type=Path, required=True, metavar="RESULTS")
    parser.add_argument("--grey", type=Path, action="append", default=[], metavar="RESULTS")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", action="append", default=[], help="a paragraph about the measurement")
    arguments = parser.parse_args()
    parts = page(arguments.vlm, arguments.vla, arguments.grey, arguments.note)
    write_text_whole(arguments.out, "\n\n".join(parts) + "\n")
    return 0


def page(vlm: Path, vla: Path, greys: Sequence[Path], notes: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    of_vlms, of_vlas = read_static_results(vlm), read_static_results(vla)
    if of_vlms.vlm is None or of_vlas.vla is None:
        raise InputError("results are missing", expected="--vlm with vlm.json, --vla with vla.json")
    yield "# Static benchmark"
    yield prose(_LEAD)
    yield from map(prose, notes)
    command = "scripts/write_static_page.py --vlm RESULTS --vla RESULTS --grey RESULTS --out PAGE"
    yield prose(f"`{command}` writes this page.")
    yield "## Vision-language models"
    yield from _tables([vlm_chapter(of_vlms.vlm), *distorted_chapters(of_vlms)])
    if greys:
        yield "### Text alone"
        yield prose(_GREY)
        yield from _grey_tables(greys)
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


def _grey_tables(greys: Sequence[Path]) -> Iterator[str]:
    """Yield the hits of each folder, then where answers without a letter come from in all of them."""
    answered: list[tuple[str, Item, ItemAnswer]] = []
    for folder in greys:
        results = read_static_results(folder)
        if results.vlm is None:
            raise InputError("results are missing", expected="--grey with vlm.json", got=str(folder))
        title = f"Hits: {read_record(results.bench).source}"
        yield titled_table(grey_table(list(dimension_cells(results.vlm.subjects)), title=title))
        answered += _answers(folder, results.bench)
    yield titled_table(_unparsed_table(answered))
    yield titled_table(_question_table(answered))


def _answers(results: Path, bench: Path) -> Iterator[tuple[str, Item, ItemAnswer]]:
    """Yield every answer with its subject and item."""
    items = {item.index: item for item in read_items(bench).items}
    for file in sorted((results / "answers").glob(f"*/{CLEAN}/*.json")):
        part = read_json(AnswerPart, file, "answers")
        yield from ((part.subject, items[answer.index], answer) for answer in part.answers)


def _unparsed_table(answered: Sequence[tuple[str, Item, ItemAnswer]]) -> Table:
    """Return why answers have no letter, by subject and dimension."""
    counts: dict[tuple[str, Dimension | None], Counter[str]] = {}
    for subject, item, answer in answered:
        scores = option_scores(answer.text, item)
        reason = "letter" if answer.letter else "empty" if not scores else "tie" if max(scores) else "none"
        counts.setdefault((subject, item.dimension), Counter())[reason] += 1
    return Table.of(
        "Answers without a letter",
        sorted(counts.items(), key=lambda pair: str(pair[0])),
        {
            Column("Subject"): lambda pair: pair[0][0],
            Column("Dimension"): lambda pair: str(pair[0][1]),
            Column("Items"): lambda pair: pair[1].total(),
            Column("No word", 1): lambda pair: 100.0 * pair[1]["none"] / pair[1].total(),
            Column("Tie", 1): lambda pair: 100.0 * pair[1]["tie"] / pair[1].total(),
            Column("Empty", 1): lambda pair: 100.0 * pair[1]["empty"] / pair[1].total(),
        },
        _UNPARSED,
        name="grey_unparsed",
    )


def _question_table(answered: Sequence[tuple[str, Item, ItemAnswer]]) -> Table:
    """Return the hits by kind of question: its first three words, of stage items its last two."""
    counts: dict[str, Counter[str]] = {}
    for _, item, answer in answered:
        words = item.question.split()
        kind = " ".join(words[-2:] if item.dimension is Dimension.STAGE else words[:3])
        found = counts.setdefault(f"{item.dimension}: {kind}", Counter())
        found.update(asked=1, lettered=bool(answer.letter), right=answer.letter == item.answer)
    return Table.of(
        "By question",
        sorted(counts.items()),
        {
            Column("Question"): lambda pair: pair[0],
            Column("Answers"): lambda pair: pair[1]["asked"],
            Column("Letters"): lambda pair: pair[1]["lettered"],
            Column("Of answered", 1): lambda pair: (
                100.0 * pair[1]["right"] / pair[1]["lettered"] if pair[1]["lettered"] else None
            ),
        },
        _BY_QUESTION,
        name="grey_questions",
        folded=True,
    )


if __name__ == "__main__":
    main()
