"""Values of metrics on images: measured once, kept in Parquet files.

``values/<image set>/<metric>/part-NNNNN.parquet`` holds a row for each pair of a block of references. A
part carries a hash of images and metric; another version of either replaces it, so that the files never
hold more than a row for each metric and pair of the plan.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.tables import read_digest, read_table, schema_of, table_of, write_table
from embodied_iqa.data.database.building.build_options import BLOCK
from embodied_iqa.models.subjects.constants_files import file_stem
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name
from embodied_iqa.quality.metrics.image_set import ImageSet, PairImages
from embodied_iqa.quality.metrics.learned.inputs import NetworkInput
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.metric import Metric, MetricInfo

Array = NDArray[np.float64]
_MOST_LOADED: Final = 64
_metrics: Final[dict[str, Metric]] = {}
"""Metrics that this process keeps loaded."""


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A row of a part."""

    pair_id: str
    value: float
    """In the metric's own direction; may be infinite; NaN where it failed."""
    milliseconds: float
    """Wall time of the measurement."""
    error: str | None
    """Why there is no value."""


_SCHEMA: Final = schema_of(MeasuredValue)

SharedInputs = dict[NetworkInput, tuple[NDArray[Any], float]]
"""What trained metrics take of one image, and the seconds that it took to measure."""


@dataclass(frozen=True, slots=True)
class Want:
    """Values that are needed.

    Attributes:
        metric: Name.
        info: Its description.
        version: Hash of everything that its values depend on, besides the images.
        key: Name of its folder, unique in the image set.
        blocks: The pairs by block of references, see `blocks_of`.
    """

    metric: str
    info: MetricInfo
    version: str
    key: str
    blocks: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a metric.

    Attributes:
        values: ``(pairs,)`` in the order of the request; NaN where it was not measured or failed.
        milliseconds: Median wall time of an image; NaN without any.
        failures: Number of images by reason.
    """

    values: Array
    milliseconds: float
    failures: Mapping[str, int]


def blocks_of(
    pair_ids: Sequence[str], reference_ids: Sequence[str], chosen: NDArray[np.bool_] | None = None
) -> dict[int, tuple[str, ...]]:
    """Return pairs by block of references; the blocks of a choice are parts of the blocks of all.

    Args:
        pair_ids: ``(N,)`` all pairs; those of a reference are neighbours.
        reference_ids: ``(N,)``.
        chosen: ``(N,)`` None for all.
    """
    rows = np.ones(len(pair_ids), np.bool_) if chosen is None else chosen
    found: dict[int, tuple[str, ...]] = {}
    groups = groupby(zip(reference_ids, pair_ids, rows.tolist(), strict=True), lambda row: row[0])
    for number, (_, group) in enumerate(groups):
        own = tuple(name for _, name, is_chosen in group if is_chosen)
        if own:
            found[number // BLOCK] = found.get(number // BLOCK, ()) + own
    return found


class ValueStore:
    """The kept values of one image set.

    Args:
        folder: Of the benchmark.
        images: The set.
    """

    def __init__(self, folder: Path, images: ImageSet) -> None:
        self._folder = folder
        self._images = images

    def jobs(self, wants: Iterable[Want]) -> list[Job]:
        """Return a job for each block with missing values: its images are read once for all metrics."""
        missing: dict[int, list[_Part]] = {}
        digests: dict[tuple[str, ...], str] = {}
        for want in wants:
            for block, names in want.blocks.items():
                if names not in digests:
                    digests[names] = self._images.digest(names)
                file = self._file(want.key, block)
                digest = digest_of("values", 1, want.version, digests[names])
                if read_digest(file) != digest:
                    missing.setdefault(block, []).append(_Part(want.metric, file, names, digest))
        job = partial(_measure_block, self._images)
        return [partial(job, block, tuple(parts)) for block, parts in sorted(missing.items())]

    def read(self, want: Want, pair_ids: Sequence[str]) -> Values:
        """Return the values of a metric; pairs that were not wanted are NaN.

        Raises:
            InputError: A part is missing or damaged.
        """
        place = {name: at for at, name in enumerate(pair_ids)}
        values, times, failures = np.full(len(pair_ids), np.nan), [], Counter[str]()
        for block in want.blocks:
            table = read_table(self._file(want.key, block), _SCHEMA.names)
            rows = [place[name] for name in table["pair_id"].to_pylist()]
            values[rows] = table["value"].to_numpy()
            times.append(table["milliseconds"].to_numpy())
            failures.update(reason for reason in table["error"].to_pylist() if reason is not None)
        median = float(np.median(np.concatenate(times))) if times else float("nan")
        return Values(values, median, dict(failures))

    def _file(self, key: str, block: int) -> Path:
        return _part_file(self._folder, self._images.name, key, block)


def stored_values(
    folder: Path, images: str, metrics: Sequence[str], block: int, pair_id: str
) -> dict[str, float]:
    """Return what a benchmark has measured of one pair; metrics without a value are left out.

    Args:
        folder: Of the benchmark.
        images: Name of the image set.
        metrics: Names; trained ones have a value for each split and none here.
        block: Of the pair, where every reference has scores; references without any move it to earlier ones.
        pair_id: The pair.

    Raises:
        InputError: A part is damaged.
    """
    for number in range(block, -1, -1):
        files = {name: _part_file(folder, images, name, number) for name in metrics}
        values = {name: _value_in(file, pair_id) for name, file in files.items() if file.is_file()}
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            return known
    return {}


def _value_in(file: Path, pair_id: str) -> float | None:
    for row in read_table(file, _SCHEMA.names).to_pylist():
        if row["pair_id"] == pair_id:
            return None if row["error"] is not None else float(row["value"])
    return None


def _part_file(folder: Path, images: str, key: str, block: int) -> Path:
    return folder / "values" / file_stem(images) / file_stem(key) / f"part-{block:05d}.parquet"


@dataclass(frozen=True, slots=True)
class _Part:
    metric: str
    file: Path
    pair_ids: tuple[str, ...]
    digest: str


def _measure_block(images: ImageSet, block: int, parts: tuple[_Part, ...]) -> BlockReport:
    """Measure a block of images with all metrics that lack it."""
    started = time.perf_counter()
    metrics = [_loaded(part.metric) for part in parts]
    wanted = [frozenset(part.pair_ids) for part in parts]
    rows: list[list[MeasuredValue]] = [[] for _ in parts]
    names = tuple(dict.fromkeys(name for part in parts for name in part.pair_ids))
    inference_s = 0.0
    for pair in images.read(names):
        inputs: SharedInputs = {}
        for metric, own, found in zip(metrics, wanted, rows, strict=True):
            if pair.pair_id in own:
                found.append(measured(metric, pair, inputs))
                inference_s += found[-1].milliseconds / 1e3
    failures: Counter[str] = Counter()
    for part, found in zip(parts, rows, strict=True):
        failures[part.metric] += sum(row.error is not None for row in found)
        write_table(part.file, table_of(MeasuredValue, found), _SCHEMA, part.digest)
    count = sum(map(len, rows))
    return BlockReport(block, count, dict(+failures), time.perf_counter() - started, inference_s)


def measured(metric: Metric, pair: PairImages, inputs: SharedInputs | None = None) -> MeasuredValue:
    """Measure one image; an image that the metric refuses has no value and a reason.

    Args:
        metric: The metric.
        pair: The image.
        inputs: Of the same image, shared by trained metrics: each is measured once, and its time counts for
            every metric that takes it.
    """
    started, shared_s = time.perf_counter(), 0.0
    value, reason = float("nan"), None
    try:
        if inputs is not None and isinstance(metric, TrainedMetric):
            if metric.input in inputs:
                shared_s = inputs[metric.input][1]
            else:
                found = metric.input.measure(pair.distorted, pair.reference, pair.context)
                inputs[metric.input] = found, time.perf_counter() - started
            value = metric.measure_from(inputs[metric.input][0], pair.context)
        else:
            value = metric.measure(pair.distorted, pair.reference, pair.context)
    except InputError as error:
        reason = first_line(error)
    if reason is None and np.isnan(value):
        reason = "the metric gave no number"
    own_s = time.perf_counter() - started
    return MeasuredValue(pair.pair_id, float(value), 1e3 * (shared_s + own_s), reason)


def _loaded(name: str) -> Metric:
    """Return a metric that this process keeps; the least recently used one makes room."""
    metric = _metrics.pop(name) if name in _metrics else metric_by_name(name)
    _metrics[name] = metric
    while len(_metrics) > _MOST_LOADED:
        close_metric(_metrics.pop(next(iter(_metrics))))
    return metric


def close_loaded() -> None:
    """Close the metrics that this process keeps."""
    while _metrics:
        close_metric(_metrics.popitem()[1])


def finite_values(values: Array, sign: int) -> Array:
    """Return values with higher as better; infinite ones just beyond the finite ones, NaN stays.

    Identical images have an infinite PSNR: they rank first, and linear correlation stays defined.
    """
    signed = sign * values
    known = signed[np.isfinite(signed)]
    if not len(known):
        return np.where(np.isnan(signed), np.nan, 0.0)
    margin = max(float(np.ptp(known)) * 0.01, 1e-9)
    return np.clip(signed, float(known.min()) - margin, float(known.max()) + margin)
