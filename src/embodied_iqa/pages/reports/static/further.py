"""Chapters: distorted images, static scores against execution, items that every subject fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.pages.reports.kit.formatting import plural
from embodied_iqa.pages.reports.kit.image_encoding import bytes_for_each, data_uri
from embodied_iqa.pages.reports.kit.page import Chapter, ImageCard, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.pages.reports.static.grey import grey_cells, grey_table
from embodied_iqa.pages.reports.static.stored_results import StaticResults
from embodied_iqa.suites.static_benchmark.benchmark import read_items, read_record
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.static_to_simulated import PUBLISHED, Relation, S2dRow
from embodied_iqa.suites.static_benchmark.tsv import ItemTable
from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaResults
from embodied_iqa.suites.static_benchmark.vlm_scores import ConditionScore, VlmScores, without_dummies

MOST_IMAGES: Final = 24
_PERCENT: Final = (0.0, 100.0)


def distorted_chapters(results: StaticResults) -> Iterator[Chapter]:
    """Yield the chapter on distorted images, where there are any."""
    tables = []
    if results.vlm is not None and any(row.conditions for row in results.vlm.subjects):
        tables.append(distorted_vlms(results.vlm))
        cells = list(grey_cells(results.vlm.subjects))
        tables += [grey_table(cells)] if cells else []
    if results.vla is not None and any(row.level for row in results.vla.rows):
        tables.append(_distorted_vlas(results.vla))
    if tables:
        yield Chapter(
            "distorted",
            "Distorted images",
            "The same items and tasks with every image distorted, against the score on clean images. "
            "Grey: images without content, to show what the text alone gives away.",
            "",
            (Part("", tuple(tables)),),
        )


def s2d_chapters(results: StaticResults) -> Iterator[Chapter]:
    """Yield the chapter on execution, where it was compared."""
    if not results.s2d:
        return
    relation = results.s2d[0].relation
    published = ", ".join(map(str, PUBLISHED))
    yield Chapter(
        "s2d",
        f"Does the static score predict execution? ({relation})",
        "Pearson's correlation over tasks, with the bootstrap interval over tasks; undefined, not 0, where "
        "one side is constant.",
        f"static-to-real, Octo on 50 instances: {published}.",
        (Part("", (s2d_table(results.s2d, relation),)),),
    )


def s2d_table(rows: Sequence[S2dRow], relation: Relation) -> Table:
    """Return the correlation of static scores with execution: a row for each subject and score."""
    return Table.of(
        f"{relation}",
        rows,
        {
            Column("Subject"): lambda row: row.subject,
            Column("Static score", name="score"): lambda row: str(row.score),
            Column("Tasks"): lambda row: row.plcc.tasks,
            Column("Static", 2): lambda row: row.static,
            Column("Execution", 2): lambda row: row.execution,
            Column("PLCC", 3): lambda row: row.plcc.value,
            Column("Low", 3): lambda row: row.plcc.low,
            Column("High", 3): lambda row: row.plcc.high,
            Column("Undefined"): lambda row: row.plcc.undefined or None,
        },
        name="s2d",
    )


def failed_chapters(results: StaticResults) -> Iterator[Chapter]:
    """Yield the chapter on items that no subject has right."""
    scores = results.vlm
    if scores is None:
        return
    count = len(scores.failed_by_all)
    cards: tuple[ImageCard, ...] = ()
    remark = ""
    try:
        cards = tuple(_cards(results, scores))
    except InputError as error:
        remark = f" Images are left out: {error}."
    asked = len(without_dummies(row.subject for row in scores.subjects))
    more = f" The first {len(cards)} are shown." if 0 < len(cards) < count else ""
    yield Chapter(
        "failed",
        "Items that every subject fails",
        f"{plural(count, 'item')} on clean images, of {plural(asked, 'subject')}; dummies count only where "
        f"nothing else was asked.{more}{remark}",
        "",
        (Part("", (), images=cards),) if cards else (),
    )


def _cards(results: StaticResults, scores: VlmScores) -> Iterator[ImageCard]:
    shown = scores.failed_by_all[:MOST_IMAGES]
    if not shown:
        return
    if read_record(results.bench).md5 != scores.benchmark_md5:
        raise InputError(f"{results.bench} was changed since the evaluation")
    table = read_items(results.bench)
    items = {item.index: item for item in table.items}
    limit = bytes_for_each(len(shown))
    for index in shown:
        yield _card(table, items[index], limit)


def _card(table: ItemTable, item: Item, limit: int) -> ImageCard:
    kind = ", ".join(str(part) for part in (item.dimension, item.person) if part is not None)
    options = (
        f"{letter}. {text}{' (right)' * (letter == item.answer)}"
        for letter, text in zip(item.letters, item.options, strict=True)
    )
    head = [line for line in (kind, item.hint, item.question) if line]
    return ImageCard(f"Item {item.index}", data_uri(table.image(item), limit), (*head, *options))


def distorted_vlms(scores: VlmScores) -> Table:
    """Return hits under each condition against those on clean images, a row each."""
    pairs: list[tuple[str, ConditionScore]] = [
        (row.subject, one) for row in scores.subjects for one in row.conditions
    ]
    return Table.of(
        "VLMs",
        pairs,
        {
            Column("Subject"): lambda pair: pair[0],
            Column("Images"): lambda pair: pair[1].condition,
            Column("Hits", 2, _PERCENT): lambda pair: 100.0 * pair[1].hits.value,
            Column("Low", 2): lambda pair: 100.0 * pair[1].hits.low,
            Column("High", 2): lambda pair: 100.0 * pair[1].hits.high,
            Column("Minus clean", 2): lambda pair: 100.0 * pair[1].minus_clean,
            Column("Right to wrong"): lambda pair: pair[1].right_to_wrong,
            Column("Wrong to right"): lambda pair: pair[1].wrong_to_right,
            Column("Same letter", 2): lambda pair: _percent(pair[1].consistency),
            Column("Unparsed", 2): lambda pair: 100.0 * pair[1].unparsed,
        },
        "In percent; the flips are numbers of items.",
        name="vlm_distorted",
        folded=len(pairs) > MOST_IMAGES,
    )


def _distorted_vlas(results: VlaResults) -> Table:
    rows = [row for row in results.rows if row.level]
    return Table.of(
        "VLAs",
        rows,
        {
            Column("Subject"): lambda row: row.subject,
            Column("Images"): lambda row: f"{row.distortion}:{row.level}",
            Column("Timing"): lambda row: str(row.timing),
            Column("Overall", 2, _PERCENT): lambda row: row.overall,
            Column("Low", 2): lambda row: row.low,
            Column("High", 2): lambda row: row.high,
            Column("Minus clean", 2): lambda row: row.change,
            Column("Refused"): lambda row: row.refused,
            Column("Failed"): lambda row: row.failed,
        },
        name="vla_distorted",
        folded=len(rows) > MOST_IMAGES,
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
