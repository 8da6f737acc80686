"""Tables 5 to 8 of the paper in their form, with the published rows; transfer and paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embodied_iqa.miqa.evaluation.results import Breakdown, MetricRow, MiqaEvaluation, SubsetRow
from embodied_iqa.reports.kit.table import Cell, Column, Row, Table
from embodied_iqa.reports.miqa.published import PublishedRow, published_rows
from embodied_iqa.vision.predictions import VisionTask

_RANGE = (0.0, 1.0)
_STATISTICS = {"srcc": "SRCC", "plcc": "PLCC", "krcc": "KRCC", "rmse": "RMSE"}
_PUBLISHED = "published"
_LEVELS = range(1, 6)


def agreement_table(result: MiqaEvaluation, task: VisionTask) -> Table:
    """Return a table in the form of table 5: a row for each metric, best first."""
    columns = (
        Column("Metric"),
        Column("SRCC", 3, _RANGE),
        Column("Low", 3),
        Column("High", 3),
        *(Column(title, 3) for name, title in _STATISTICS.items() if name != "srcc"),
        Column("Trained on"),
        Column("ms", 1),
        Column("Failures"),
    )
    rows: list[Row] = [
        (
            row.metric,
            row.agreement.srcc,
            row.low,
            row.high,
            *(getattr(row.agreement, name) for name in ("plcc", "krcc", "rmse")),
            row.trained_on,
            row.milliseconds,
            row.failures,
        )
        for row in of_task(result, task)
    ]
    rows += [
        (f"{_PUBLISHED}: {row.model}", row.srcc, None, None, row.plcc, row.krcc, row.rmse, "", None, None)
        for row in _published(task, result, "all")
    ]
    note = "Low and high: 95 % interval of SRCC from drawing references. PLCC and RMSE after the logistic."
    return Table(f"agreement_{task}", f"{task}: all held-out pictures", columns, rows, note)


def subset_table(result: MiqaEvaluation, task: VisionTask, by: Breakdown) -> Table:
    """Return SRCC by region mode (table 7), by type (table 8) or by pair of levels."""
    rows = [row for row in result.subsets if row.task is task and row.by is by]
    values = list(dict.fromkeys(row.value for row in rows))
    found = {(row.metric, row.value): row for row in rows}
    columns = (Column("Metric"), *(Column(value, 3, _RANGE, name=_csv(value)) for value in values))
    own = [(name, *_srcc(found, name, values)) for name in dict.fromkeys(row.metric for row in rows)]
    return Table(
        f"{by}_{task}", f"{task}: SRCC by {by}", columns, [*own, *_published_lines(result, task, by, values)]
    )


def level_table(result: MiqaEvaluation, task: VisionTask, metric: str) -> Table:
    """Return PLCC of one metric by pair of levels: level inside by row, outside by column."""
    found = {
        row.value: row.agreement.plcc
        for row in result.subsets
        if (row.task, row.by, row.metric) == (task, Breakdown.LEVELS, metric)
    }
    columns = (Column("Region"), *(Column(f"background {level}", 3, _RANGE) for level in _LEVELS))
    rows = [
        (f"level {inside}", *(found.get(f"{inside}:{outside}") for outside in _LEVELS)) for inside in _LEVELS
    ]
    note = "Pairs with fewer than 10 pictures have no value. Published: PLCC rises with the severity."
    return Table(f"levels_{task}", f"{task}: PLCC of {metric} by pair of levels", columns, rows, note)


def transfer_table(result: MiqaEvaluation) -> Table:
    """Return SRCC and PLCC of trained metrics on the labels of every task, as figure 8."""
    tasks = [facts.task for facts in result.tasks]
    cells = {(row.metric, row.task): row for row in result.metrics}
    columns = [Column("Metric"), Column("Trained on")]
    for title in ("SRCC", "PLCC"):
        columns += [Column(f"{title} on {task}", 3, _RANGE) for task in tasks]
    trained = dict.fromkeys((row.metric, row.trained_on) for row in result.metrics if row.trained_on)
    rows: list[Row] = [
        (
            name,
            target,
            *(_value(cells.get((name, task)), word) for word in ("srcc", "plcc") for task in tasks),
        )
        for name, target in trained
    ]
    moved = [row for row in published_rows() if row.by == "trained on"]
    for source in dict.fromkeys(row.value for row in moved):
        at = {row.task: row for row in moved if row.value == source}
        numbers = (
            getattr(at[task], word) if task in at else None for word in ("srcc", "plcc") for task in tasks
        )
        rows.append((f"{_PUBLISHED}: RA-MIQA", source, *numbers))
    return Table("transfer", "Trained on one task, tested on another", columns, rows)


def difference_table(result: MiqaEvaluation, task: VisionTask) -> Table:
    """Return the difference of SRCC between every two metrics with its interval."""
    return Table.of(
        f"{task}: differences of SRCC",
        [row for row in result.differences if row.task is task],
        {
            Column("Metric"): lambda row: row.first,
            Column("Other"): lambda row: row.second,
            Column("Difference", 3): lambda row: row.value,
            Column("Low", 3): lambda row: row.low,
            Column("High", 3): lambda row: row.high,
            Column("Certain"): lambda row: "yes" if row.certain else "no",
        },
        "95 % interval from the same draws of references for both; certain if it excludes 0.",
        name=f"differences_{task}",
    )


def of_task(result: MiqaEvaluation, task: VisionTask) -> list[MetricRow]:
    """Return the rows of a task, best metric first."""
    return [row for row in result.metrics if row.task is task]


def _published(task: VisionTask, result: MiqaEvaluation, by: str) -> Iterator[PublishedRow]:
    for row in published_rows():
        if (row.task, row.label, row.by) == (str(task), str(result.label), by):
            yield row


def _published_lines(
    result: MiqaEvaluation, task: VisionTask, by: Breakdown, values: Sequence[str]
) -> Iterator[Row]:
    rows = list(_published(task, result, str(by)))
    for model in dict.fromkeys(row.model for row in rows):
        found = {row.value: row.srcc for row in rows if row.model == model}
        yield f"{_PUBLISHED}: {model}", *(found.get(value) for value in values)


def _srcc(found: Mapping[tuple[str, str], SubsetRow], name: str, values: Sequence[str]) -> Iterator[Cell]:
    for value in values:
        row = found.get((name, value))
        yield None if row is None else row.agreement.srcc


def _value(row: MetricRow | None, word: str) -> Cell:
    if row is None:
        return None
    value: float | None = getattr(row.agreement, word)
    return value


def _csv(value: str) -> str:
    return value.replace(":", "_").replace("-", "_").lower()
