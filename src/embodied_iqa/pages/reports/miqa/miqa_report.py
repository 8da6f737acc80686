"""The report of an evaluation of machine-vision quality: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_json
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder
from embodied_iqa.pages.reports.kit.formatting import interval_words, number, plural, share
from embodied_iqa.pages.reports.kit.page import Chapter, Part, Tile
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.pages.reports.miqa.published_metrics import published_rows
from embodied_iqa.pages.reports.miqa.tables import (
    agreement_table,
    difference_table,
    fall_table,
    level_table,
    of_task,
    subset_table,
    transfer_table,
    type_fall_table,
)
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, load_metric_card
from embodied_iqa.suites.miqa.evaluation.evaluation_results import (
    EVALUATION_FILE,
    Breakdown,
    MetricRow,
    MiqaEvaluation,
)

_PAPER: Final = "RA-MIQA"
_PAPER_LEAD: Final = (
    "Rows marked as published are numbers of the paper on its own images and labels: they show the order "
    "of magnitude, and orders may be compared, but they are no comparison on equal terms."
)

_TRAININGS: Final = "Images and references of the training part, with those that choose the epoch."
_FALLS_LEAD: Final = (
    "In order: share of the pairs of images of a reference and type in which the worse one has the lower "
    "score; worse is a higher level inside or outside of the region and none lower. Monotone: share of the "
    "references whose score falls from each uniform level to the next, of those with two or more. "
    "Intervals: 95 %, from drawing references. The labels stand beside the metrics: models that lose the "
    "object at level 3 lose no more at level 5."
)


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a folder of `embodied-iqa evaluate miqa`, to be written to ``out``.

    Raises:
        InputError: The evaluation is missing or damaged.
    """
    file = folder / EVALUATION_FILE
    result = read_json(MiqaEvaluation, file, "an evaluation")
    return build_page(result, file.read_text(encoding="utf-8"), tables_folder(out))


def build_page(result: MiqaEvaluation, record: str, tables: str) -> ChapterPage:
    """Assemble the page.

    Args:
        result: The evaluation.
        record: Its JSON text.
        tables: Name of the folder of CSV files beside the page.
    """
    images = sum(facts.images for facts in result.tasks)
    return ChapterPage(
        name=result.database,
        headline=_headline(result),
        tiles=tuple(_tiles(result)),
        remarks=result.remarks,
        lead=f"{plural(len({row.metric for row in result.metrics}), 'metric')} on {images:,} held-out "
        f"images, {result.label} labels of {', '.join(str(facts.task) for facts in result.tasks)}.",
        chapters=(*evaluation_chapters(result), *_trainings(result)),
        record_text=record,
        tables_folder=tables,
    )


def _headline(result: MiqaEvaluation) -> str:
    best = _best(result)
    if best is None or best.agreement.srcc is None:
        return "No metric has a defined correlation with the labels."
    references = next(facts.references for facts in result.tasks if facts.task == best.task)
    ends = interval_words(best.low, best.high, references)
    if best.low is None:
        srcc = number(best.agreement.srcc)
        return f"{best.metric} has the highest SRCC on {best.task}, not shown to be best: {srcc} ({ends})"
    return f"Best on {best.task}: {best.metric}, SRCC {number(best.agreement.srcc)} ({ends})"


def _best(result: MiqaEvaluation) -> MetricRow | None:
    rows = of_task(result, result.tasks[0].task) if result.tasks else []
    return rows[0] if rows else None


def _tiles(result: MiqaEvaluation) -> Iterator[Tile]:
    for facts in result.tasks:
        row = of_task(result, facts.task)[0]
        references = plural(facts.references, "reference")
        note = f"{row.metric}, {references}"
        value = row.agreement.srcc
        yield Tile(f"Best SRCC, {facts.task}", number(value), note, share(value, 1.0))


def evaluation_chapters(result: MiqaEvaluation) -> Iterator[Chapter]:
    """Yield the chapters: agreement, differences, region modes, types, levels, falls, transfer."""
    tasks = [facts.task for facts in result.tasks]
    spread = ", ".join(f"{facts.task} {number(facts.deviation, 3)}" for facts in result.tasks)
    whole = (Part("", tuple(agreement_table(result, task) for task in tasks)),)
    lead = f"{_PAPER_LEAD} Standard deviation of our labels: {spread}."
    yield Chapter("agreement", "Which metric predicts the labels?", lead, _paper_srcc(result), whole)
    differences = (Part("", tuple(difference_table(result, task) for task in tasks)),)
    yield Chapter("differences", "Is one metric better than another?", "", "", differences)
    modes = (Part("", tuple(subset_table(result, task, Breakdown.MODE) for task in tasks)),)
    yield Chapter("modes", "By region mode", "", "BG-DD is the hardest, UD the easiest.", modes)
    kinds = (Part("", tuple(subset_table(result, task, Breakdown.KIND) for task in tasks)),)
    paper = "Noise and pixelate are the easiest; contrast (cls) and fog (det, ins) the hardest."
    yield Chapter("types", "By type of distortion", "", paper, kinds)
    levels = tuple(level_table(result, task, of_task(result, task)[0].metric) for task in tasks)
    yield Chapter("levels", "By pair of levels", "", "PLCC rises with the severity.", (Part("", levels),))
    if result.falls:
        names = {task: _shown(result, task) for task in tasks}
        falls = (
            Part("", tuple(fall_table(result, task) for task in tasks)),
            Part("", tuple(type_fall_table(result, task, name) for task, name in names.items())),
        )
        yield Chapter("falls", "Does the score fall with the level?", _FALLS_LEAD, "", falls)
    if len(tasks) > 1:
        paper = "From detection to segmentation it transfers well, from classification it does not."
        yield Chapter("transfer", "Across tasks", "", paper, (Part("", (transfer_table(result),)),))


def _paper_srcc(result: MiqaEvaluation) -> str:
    """Return SRCC of the paper's metric on the same kind of labels."""
    rows = [
        row for row in published_rows() if (row.model, row.by, row.label) == (_PAPER, "all", result.label)
    ]
    return f"{_PAPER}, {result.label} labels: {', '.join(f'{row.task} {number(row.srcc)}' for row in rows)}."


def _shown(result: MiqaEvaluation, task: VisionTask) -> str:
    """Return the best trained metric, else the best one."""
    rows = of_task(result, task)
    return next((row.metric for row in rows if row.trained_on), rows[0].metric)


def _trainings(result: MiqaEvaluation) -> Iterator[Chapter]:
    """Yield the chapter on how metrics were trained, of those whose folders are still there."""
    names = dict.fromkeys(row.metric.removeprefix("trained:") for row in result.metrics if row.trained_on)
    cards = [load_metric_card(Path(name)) for name in names if (Path(name) / CARD_FILE).is_file()]
    if not cards:
        return
    facts = {
        "Images": "pairs",
        "References": "references",
        "Epochs": "epochs",
        "Best epoch": "best_epoch",
        "Parameters": "parameters",
    }
    columns = [Column("Metric"), Column("Target"), *map(Column, facts), Column("Validation SRCC", 3)]
    rows: list[Row] = []
    for card in cards:
        numbers = (int(str(card.training[name])) for name in facts.values())
        chosen = card.training["validation_srcc"]
        rows.append((card.name, card.target, *numbers, None if chosen is None else float(str(chosen))))
    table = Table("trainings", "Trained metrics", columns, rows, _TRAININGS)
    yield Chapter("trainings", "How the metrics were trained", "", "", (Part("", (table,)),))
