"""What metrics and the gate measure of a pair: from benchmarks beside the database, or computed at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.errors import UserError
from embodied_iqa.data.database.building.build_options import BLOCK
from embodied_iqa.data.database.schema import Pair
from embodied_iqa.pages.studio.browse.browser_images import PairImages, Which
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic, measure
from embodied_iqa.quality.metrics.benchmark.beside import benchmarks_beside
from embodied_iqa.quality.metrics.benchmark.values import measured, stored_values
from embodied_iqa.quality.metrics.built_in import built_in
from embodied_iqa.quality.metrics.image_set import PairImages as MeasuredImages
from embodied_iqa.quality.metrics.metric import MetricContext

_CHEAP: Final = ("psnr", "ssim", "gmsd")


@dataclass(frozen=True, slots=True)
class StatisticRow:
    """A number of both images."""

    name: str
    reference: float
    distorted: float


@dataclass(frozen=True, slots=True)
class MetricRow:
    """What a metric says of a pair.

    Attributes:
        name: Of the metric.
        value: In its own direction; may be infinite; None where it has none.
        direction: In words; empty where the benchmark does not say.
        source: Name of the benchmark, or that it was computed for this page.
    """

    name: str
    value: float | None
    direction: str
    source: str


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured of a pair.

    Attributes:
        metrics: By name.
        statistics: Of the gate.
        remarks: What could not be measured or read, and why.
    """

    metrics: tuple[MetricRow, ...]
    statistics: tuple[StatisticRow, ...]
    remarks: tuple[str, ...]


def measures_of(overview: Overview, images: PairImages) -> Measures:
    """Return the metrics of a pair, stored ones first, and the statistics of both images."""
    remarks: list[str] = []
    rows: dict[str, MetricRow] = {}
    statistics: tuple[StatisticRow, ...] = ()
    with _remarked(remarks):
        rows = {row.name: row for row in _stored(overview, images.pair)}
    with _remarked(remarks):
        first, second = (images.rgb(which) for which in Which)
        pair = MeasuredImages(images.pair.pair_id, second, first, MetricContext(images.reference.view))
        rows |= {name: _computed(name, pair) for name in _CHEAP if name not in rows}
        statistics = tuple(_statistics(measure(first), measure(second)))
    return Measures(tuple(rows[name] for name in sorted(rows)), statistics, tuple(remarks))


@contextmanager
def _remarked(remarks: list[str]) -> Iterator[None]:
    """Add what cannot be read or measured to the remarks."""
    try:
        yield
    except UserError as error:
        remarks.append(str(error))


def _computed(name: str, pair: MeasuredImages) -> MetricRow:
    found = measured(built_in(name), pair)
    return MetricRow(name, None if found.error else found.value, _direction(name), "computed")


def _stored(overview: Overview, pair: Pair) -> Iterator[MetricRow]:
    """Yield what the benchmarks beside the database have measured, the newest last."""
    block, name = _block(overview, pair), overview.store.path.resolve().name
    for folder, results in reversed(benchmarks_beside(overview.store).results.items()):
        used = [metric.name for metric in results.metrics if not metric.trained_on]
        for metric, value in stored_values(folder, name, used, block, pair.pair_id).items():
            yield MetricRow(metric, value, _direction(metric), folder.name)


def _block(overview: Overview, pair: Pair) -> int:
    """Return the block of the pair in a benchmark: it counts the references that have pairs."""
    rows = overview.rows(
        "SELECT count(DISTINCT reference_id) AS place FROM pairs "
        "WHERE rowid < (SELECT min(rowid) FROM pairs WHERE reference_id = ?)",
        [pair.reference_id],
    )
    return int(rows[0]["place"]) // BLOCK


def _statistics(first: ImageStatistics, second: ImageStatistics) -> Iterator[StatisticRow]:
    for name in Statistic:
        yield StatisticRow(str(name), float(first.value(name)), float(second.value(name)))


def _direction(metric: str) -> str:
    try:
        higher = built_in(metric).info.higher_is_better
    except UserError:
        return ""  # a benchmark does not say
    return "higher is better" if higher else "lower is better"
