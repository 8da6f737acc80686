"""Tables 5 to 8 of the paper in their form, with the published rows; transfer and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.imaging.distortions.region import region_combinations
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.kit.formatting import certain_word
from embodied_iqa.pages.reports.kit.table import Cell, Column, Row, Table
from embodied_iqa.pages.reports.miqa.published_metrics import PublishedRow, published_rows
from embodied_iqa.quality.metrics.benchmark.logistic import FEWEST_FITTED
from embodied_iqa.suites.miqa.evaluation.evaluation_results import (
    Breakdown,
    FallRow,
    MetricRow,
    MiqaEvaluation,
    SubsetRow,
)

_RANGE = (0.0, 1.0)
_STATISTICS = {"srcc": "SRCC", "plcc": "PLCC", "krcc": "KRCC", "rmse": "RMSE"}
_PUBLISHED = "published"
_LEVELS = range(1, 6)
_SMALL = 10.0
"""Scores from here on have one decimal."""
_FALL_SHARES: Mapping[Column, Callable[[FallRow], Cell]] = MappingProxyType(
    {
        Column("In order", 3, _RANGE): lambda row: row.ordered.value,
        Column("Low", 3, name="in_order_low"): lambda row: row.ordered.low,
        Column("High", 3, name="in_order_high"): lambda row: row.ordered.high,
        Column("Monotone", 3, _RANGE): lambda row: row.monotone.value,
        Column("Monotone low", 3): lambda row: row.monotone.low,
        Column("Monotone high", 3): lambda row: row.monotone.high,
    }
)


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
    quoted: list[Row] = [
        (f"{_PUBLISHED}: {row.model}", row.srcc, None, None, row.plcc, row.krcc, row.rmse, "", None, None)
        for row in _published(task, result, "all")
    ]
    note = (
        "Low and high: 95 % interval of SRCC from drawing references. PLCC and RMSE: after the logistic, "
        f"which is fitted to {FEWEST_FITTED} images or more."
    )
    title = f"{task}: all held-out images"
    return Table(f"agreement_{task}", title, columns, [*rows, *quoted], note, quoted=len(quoted))


def subset_table(result: MiqaEvaluation, task: VisionTask, by: Breakdown) -> Table:
    """Return SRCC by region mode (table 7), by type (table 8) or by pair of levels."""
    rows = [row for row in result.subsets if row.task is task and row.by is by]
    values = list(dict.fromkeys(row.value for row in rows))
    found = {(row.metric, row.value): row for row in rows}
    columns = (Column("Metric"), *(Column(value, 3, _RANGE, name=_csv(value)) for value in values))
    own = [(name, *_srcc(found, name, values)) for name in dict.fromkeys(row.metric for row in rows)]
    quoted = tuple(_published_lines(result, task, by, values))
    return Table(f"{by}_{task}", f"{task}: SRCC by {by}", columns, [*own, *quoted], quoted=len(quoted))


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
    note = (
        f"Pearson's correlation of {metric} with the labels. Pairs with fewer than 10 images have no "
        "value. Published: PLCC rises with the severity."
    )
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
    moved = [row for row in published_rows() if (row.by, row.label) == ("trained on", result.label)]
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
            Column("Certain"): lambda row: certain_word(row.low, certain=row.certain),
        },
        "95 % interval from the same draws of references for both; certain if it excludes 0. Fewer "
        f"than {FEWEST_REFERENCES} references have none.",
        name=f"differences_{task}",
    )


def fall_table(result: MiqaEvaluation, task: VisionTask) -> Table:
    """Return whether scores and labels fall with the levels: a row for each metric over all types."""
    return Table.of(
        f"{task}: do scores fall when levels rise?",
        result.falls_of(task),
        {
            Column("Metric"): lambda row: row.metric,
            **_FALL_SHARES,
            Column("Types that fall"): lambda row: "{} of {}".format(*result.falling_types(task, row.metric)),
        },
        "Types that fall: types whose mean score falls from each uniform level to the next, of those with "
        "images at two uniform levels or more.",
        name=f"falls_{task}",
    )


def type_fall_table(result: MiqaEvaluation, task: VisionTask, metric: str) -> Table:
    """Return how the scores of one metric fall with the levels of each type.

    The CSV file has the mean score at each of the 25 pairs of levels.
    """
    rows = [row for row in result.falls if (row.task, row.metric) == (task, metric)]
    digits = _digits(value for row in rows for value in row.uniform if value is not None)
    columns: dict[Column, Callable[[FallRow], Cell]] = {Column("Type"): lambda row: row.kind}
    for place, (inside, outside) in enumerate(region_combinations()):
        column = Column(f"Level {inside}", digits, name=f"mean_{inside}_{outside}", shown=inside == outside)
        columns[column] = partial(_mean_at, place)
    columns |= _FALL_SHARES
    columns[Column("References")] = lambda row: row.references
    title = f"{task}: mean score of {metric} by level and type"
    note = (
        f"Level 1 to 5: mean score of {metric} at the same level inside and outside of the region. Where "
        "images are drawn, levels differ in their references. References: with two such levels or more."
    )
    return Table.of(title, rows, columns, note, name=f"falls_by_type_{task}")


def _mean_at(place: int, row: FallRow) -> Cell:
    return row.means[place]


def _digits(values: Iterable[float]) -> int:
    """Return the decimals at which scores of any scale have three digits or so."""
    return 3 if max(map(abs, values), default=0.0) < _SMALL else 1


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


def _srcc(rows: Mapping[tuple[str, str], SubsetRow], name: str, values: Sequence[str]) -> Iterator[Cell]:
    for value in values:
        row = rows.get((name, value))
        yield None if row is None else row.agreement.srcc


def _value(row: MetricRow | None, word: str) -> Cell:
    if row is None:
        return None
    value: float | None = getattr(row.agreement, word)
    return value


def _csv(value: str) -> str:
    return value.replace(":", "_").replace("-", "_").lower()
