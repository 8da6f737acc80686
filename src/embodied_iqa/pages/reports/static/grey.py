"""Tables of grey images: is a subject at chance in every dimension, where only the text can help it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from embodied_iqa.base.records import read_json
from embodied_iqa.models.scoring.proportions import Share, simultaneous_z, wilson
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Table
from embodied_iqa.pages.reports.static.stored_results import StaticResults
from embodied_iqa.suites.static_benchmark.asking import option_scores
from embodied_iqa.suites.static_benchmark.benchmark import RECORD_FILE, read_items, read_record
from embodied_iqa.suites.static_benchmark.conditions import CLEAN, GREY, GREY_ITEMS
from embodied_iqa.suites.static_benchmark.items import Dimension, Item
from embodied_iqa.suites.static_benchmark.stored_answers import AnswerPart, ItemAnswer
from embodied_iqa.suites.static_benchmark.vlm_scores import UNKNOWN, GroupScore, SubjectScore, without_dummies

_ALL = "all"
_LEAD: Final = "Items without images: their text is that of made items, and every image is grey."
_UNPARSED: Final = (
    "Grey images, in percent of the items. No word: the answer has no word of an option that the others "
    "lack; tie: two options are equally near."
)
_BY_QUESTION: Final = (
    "All subjects together: answers to one item by several subjects are not independent, so there are no "
    "intervals."
)
GreyCell = tuple[str, GroupScore]
"""A subject and its score in a dimension."""


def grey_cells(subjects: Sequence[SubjectScore]) -> Iterator[GreyCell]:
    """Yield the scores on grey images of each subject and dimension, dummies aside."""
    asked = without_dummies(row.subject for row in subjects)
    for row in (row for row in subjects if row.subject in asked):
        for condition in row.conditions:
            if condition.condition == GREY:
                yield from ((row.subject, one) for one in condition.dimensions if one.dimension != _ALL)


def dimension_cells(subjects: Iterable[SubjectScore]) -> Iterator[GreyCell]:
    """Yield the scores of each subject and dimension, where the images of the benchmark are grey."""
    for row in subjects:
        for one in row.groups:
            if one.person == _ALL and one.dimension not in {_ALL, UNKNOWN}:
                yield row.subject, one


def grey_table(cells: Sequence[GreyCell], name: str = "vlm_grey", title: str = "Grey images") -> Table:
    """Return the hits of all and of answered items, with the intervals of each cell and of all at once."""
    z = simultaneous_z(max(1, len(cells)))
    columns = [Column("Subject"), Column("Dimension"), Column("Items"), Column("Hits", 1)]
    columns += [Column("Unparsed", 1), Column("Answered"), Column("Chance", 1), Column("Of answered", 1)]
    columns += [Column("Low", 1), Column("High", 1), Column("Low of all", 1), Column("High of all", 1)]
    rows = [(subject, one.dimension, *_numbers(one, z)) for subject, one in cells]
    return Table(name, title, tuple(columns), rows, _note(cells, z))


def _numbers(score: GroupScore, z: float) -> tuple[Cell, ...]:
    all_items = (score.hits.n, 100.0 * score.hits.value, 100.0 * score.unparsed)
    found = score.of_answered
    if found is None:
        return (*all_items, 0, None, None, None, None, None, None)
    wide = _widened(found.hits, z)
    shares = (found.chance, found.hits.value, found.hits.low, found.hits.high, wide.low, wide.high)
    return (*all_items, found.hits.n, *(100.0 * share for share in shares))


def _widened(hits: Share, z: float) -> Share:
    return wilson(round(hits.value * hits.n), hits.n, z)


def _note(cells: Sequence[GreyCell], z: float) -> str:
    answered = [one.of_answered for _, one in cells if one.of_answered is not None]
    inside = sum(one.hits.low <= one.chance <= one.hits.high for one in answered)
    wide = [(_widened(one.hits, z), one.chance) for one in answered]
    inside_wide = sum(share.low <= chance <= share.high for share, chance in wide)
    count = len(answered)
    return (
        "In percent. Hits counts unparsed answers as wrong, as all scores do; Of answered is the share of "
        "right answers among those with a letter, which is at chance where the text gives nothing away. Low "
        f"and High: 95 % of each cell, with chance inside in {inside} of {count} cells ({0.05 * count:.2g} "
        "are outside in the mean without any effect). Low and High of all: 95 % of all cells at once "
        f"(Bonferroni), with chance inside in {inside_wide} of {count}."
    )


def text_alone_chapters(results: StaticResults) -> Iterator[Chapter]:
    """Yield the chapter on items that were made with grey images only, where the benchmark is one of them."""
    if results.vlm is None or not (results.bench / RECORD_FILE).is_file():
        return
    source = read_record(results.bench).source
    if source.startswith(GREY_ITEMS):
        answered = list(_answers(results))
        cells = list(dimension_cells(results.vlm.subjects))
        tables = (
            grey_table(cells, "grey_items", f"Hits: {source}"),
            _unparsed_table(answered),
            _question_table(answered),
        )
        yield Chapter("text", "What does the text alone give away?", _LEAD, "", (Part("", tables),))


def _answers(results: StaticResults) -> Iterator[tuple[str, Item, ItemAnswer]]:
    """Yield every answer with its subject and item."""
    items = {item.index: item for item in read_items(results.bench).items}
    for file in sorted((results.folder / "answers").glob(f"*/{CLEAN}/*.json")):
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
