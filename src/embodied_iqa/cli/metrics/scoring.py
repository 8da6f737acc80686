"""`embodied-iqa metrics score`: values of images of any origin."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.progress import track
from embodied_iqa.cli.metrics.references import References
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.data.database.reference_frames import open_clean
from embodied_iqa.data.frames.cameras import topics_of
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.imaging.images.stored_images import Frames, UnreadableImage
from embodied_iqa.quality.metrics import Metric, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name, metric_names
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric


@dataclass(frozen=True, slots=True)
class Scored:
    """An image and its value, or the reason why it has none.

    Attributes:
        image: The file, below the folder that was named.
        value: None where it failed.
        error: Empty where it did not.
        outside: A trained metric has learned nothing from such images; None where that is not known.
    """

    image: str
    value: float | None
    error: str = ""
    outside: bool | None = None


def score(arguments: argparse.Namespace) -> int:
    """Measure every image by every metric and print the values; return 1 if one has no value."""
    frames, names = open_clean(arguments.images), metric_names(arguments.names)
    topics = topics_of(frames, arguments.only_topic)
    context = MetricContext(view=parse_view(arguments.view) if arguments.view else None)
    metrics: list[Metric] = []
    found = []
    try:
        for name in names:
            metrics.append(metric_by_name(name))
            _check_reference(metrics[-1].info, arguments.reference)
        for metric in metrics:
            references = None
            if metric.info.needs is Needs.REFERENCE and arguments.reference is not None:
                references = References(arguments.reference, frames.path)
            scored = scores_of(metric, frames, references, context, topics)
            found.append((metric.info, list(scored)))
    finally:
        for metric in metrics:
            close_metric(metric)
    if len(found) == 1:
        print_scores(*found[0], as_json=arguments.json)
    elif arguments.json:
        print_json({"metrics": [_tree(*one) for one in found]})
        for one in found:
            _print_failures(*one)
    else:
        _print_together(found)
    return int(any(row.value is None for _, scored in found for row in scored))


def _check_reference(info: MetricInfo, reference: Path | None) -> None:
    if info.needs is Needs.REFERENCE and reference is None:
        raise UsageError(f"{info.name} compares with a reference", expected="--reference PATH")
    if reference is not None and not reference.exists():
        expected = "an image, or a folder with the same names"
        raise InputError("no such reference", got=str(reference), expected=expected)


def scores_of(
    metric: Metric,
    frames: Frames,
    references: References | None,
    context: MetricContext,
    topics: Sequence[str] = (),
) -> Iterator[Scored]:
    """Yield the value of every image, by the order of the source; what cannot be measured says why."""
    for image in track(frames.images(topics), metric.info.name, frames.count(topics)):
        if isinstance(image, UnreadableImage):
            yield Scored(image.what, None, str(image.error))
            continue
        try:
            undistorted = references.find(image.name) if references is not None else None
            pair = PairImages(image.name, image.rgb, undistorted, context)
            yield Scored(image.name, *_measured(metric, pair))
        except InputError as error:
            place = str(image.source) if isinstance(image.source, Path) else image.name
            reason = str(error)
            yield Scored(image.name, None, reason if place in reason else f"{place!r}: {reason}")


def _measured(metric: Metric, pair: PairImages) -> tuple[float, str, bool | None]:
    """Return the value, no error, and whether a trained metric has learned from such images."""
    if not isinstance(metric, TrainedMetric):
        return metric.measure(pair.distorted, pair.reference, pair.context), "", None
    values = metric.input.measure(pair.distorted, pair.reference, pair.context)
    return metric.measure_from(values, pair.context), "", metric.outside_training(values)


def print_scores(info: MetricInfo, scored: list[Scored], *, as_json: bool) -> None:
    """Print the values, their mean, and on stderr why images have none."""
    if as_json:
        print_json(_tree(info, scored))
        _print_failures(info, scored)
    else:
        _print_together([(info, scored)])


def _tree(info: MetricInfo, scored: list[Scored]) -> dict[str, object]:
    rows = [
        {
            "image": row.image,
            "value": _plain(row.value),
            "error": row.error or None,
            "outside_training": row.outside,
        }
        for row in scored
    ]
    mean = _mean(scored)[0]
    return {
        "metric": info.name,
        "higher_is_better": info.higher_is_better,
        "mean": mean,
        "images": rows,
    }


def _mean(scored: list[Scored]) -> tuple[float | None, int]:
    """Return the mean of the finite values, and their number."""
    finite = [row.value for row in scored if row.value is not None and math.isfinite(row.value)]
    return (fmean(finite) if finite else None), len(finite)


def _print_together(scores: list[tuple[MetricInfo, list[Scored]]]) -> None:
    """Print a table with a column for each metric, the means, and on stderr why images have no value."""
    names = [info.name for info, _ in scores]
    table = table_of("image", *names, right=tuple(names))
    for rows in zip(*(scored for _, scored in scores), strict=True):
        if any(row.value is not None for row in rows):
            table.add_row(rows[0].image, *map(_shown, rows))
    if table.row_count:
        console().print(table)
    for info, scored in scores:
        if len(scored) > 1 and any(row.value is not None for row in scored):
            direction = "higher" if info.higher_is_better else "lower"
            mean, count = _mean(scored)
            average = "-" if mean is None else f"{mean:.6g}"
            metric = f"{info.name}: " if len(scores) > 1 else ""
            print(f"{metric}mean {average} of {count} images, {direction} is better")
        _print_failures(info, scored)


def _shown(row: Scored) -> str:
    if row.value is None:
        return "-"
    return f"{row.value:.6g}" + " (outside training)" * bool(row.outside)


def _print_failures(info: MetricInfo, scored: list[Scored]) -> None:
    failed = [row for row in scored if row.value is None]
    outside = sum(bool(row.outside) for row in scored)
    if outside:
        what = f"{outside} of {len(scored)} images are unlike those that {info.name} was trained on"
        print(f"embodied-iqa: outside training: {what}; do not rely on their values", file=sys.stderr)
    for row in failed:
        print(f"embodied-iqa: {row.error}", file=sys.stderr)
    if failed and len(scored) > 1:
        print(f"embodied-iqa: {len(failed)} of {len(scored)} images have no value", file=sys.stderr)


def _plain(value: float | None) -> float | str | None:
    """Return a value as JSON knows it: infinity, as of PSNR of equal images, is a word."""
    return value if value is None or math.isfinite(value) else str(value)
