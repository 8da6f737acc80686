"""`embodied-iqa metrics score`: values of an image or of a folder of images."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.progress import track
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.imaging.distortions.manifest import MANIFEST_FILE, Manifest
from embodied_iqa.imaging.images.codecs import image_files, read_image
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.quality.metrics import Metric, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name
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
    """Measure every image by every metric and print the values; return 1 if none could be measured."""
    path, reference = arguments.images, arguments.reference
    files = image_files(path, recursive=True) if path.is_dir() else [path]
    context = MetricContext(view=parse_view(arguments.view) if arguments.view else None)
    metrics: list[Metric] = []
    try:
        for name in arguments.names:
            metrics.append(metric_by_name(name))
            _check_reference(metrics[-1].info, reference)
        found = [
            (metric.info, list(scores_of(metric, path, files, reference, context))) for metric in metrics
        ]
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
    return 0 if any(row.value is not None for _, scored in found for row in scored) else 1


def _check_reference(info: MetricInfo, reference: Path | None) -> None:
    if info.needs is Needs.REFERENCE and reference is None:
        raise UsageError(f"{info.name} compares with a reference", expected="--reference PATH")
    if reference is not None and not reference.exists():
        expected = "an image, or a folder with the same names"
        raise UsageError("no such reference", got=str(reference), expected=expected)


def scores_of(
    metric: Metric, path: Path, files: list[Path], reference: Path | None, context: MetricContext
) -> Iterator[Scored]:
    """Yield the value of every image of a file or folder."""
    root = path if path.is_dir() else path.parent
    outputs = _distorted_files(root)
    for file in track(files, metric.info.name):
        name = file.relative_to(root)
        try:
            undistorted = None
            if metric.info.needs is Needs.REFERENCE and reference is not None:
                undistorted = read_image(_reference_of(name, reference, outputs))
            pair = PairImages(str(name), read_image(file), undistorted, context)
            yield Scored(str(name), *_measured(metric, pair))
        except InputError as error:
            reason = str(error)
            yield Scored(str(name), None, reason if str(file) in reason else f"{str(file)!r}: {reason}")


def _measured(metric: Metric, pair: PairImages) -> tuple[float, str, bool | None]:
    """Return the value, no error, and whether a trained metric has learned from such images."""
    if not isinstance(metric, TrainedMetric):
        return metric.measure(pair.distorted, pair.reference, pair.context), "", None
    values = metric.input.measure(pair.distorted, pair.reference, pair.context)
    return metric.measure_from(values, pair.context), "", metric.outside_training(values)


def _distorted_files(root: Path) -> frozenset[str]:
    """Return the files that `embodied-iqa distort` wrote to a folder; none for another folder."""
    if not (root / MANIFEST_FILE).is_file():
        return frozenset()
    try:
        return frozenset(record.output for record in Manifest(root).records)
    except InputError:  # the manifest of something else
        return frozenset()


def _reference_of(name: Path, reference: Path, outputs: frozenset[str]) -> Path:
    """Return the reference of an image: the same name in the folder, with any ending.

    Of ``15_4/a.png``, which `embodied-iqa distort` wrote, it is ``a`` where there is no ``15_4/a``.

    Raises:
        InputError: There is none, or several.
    """
    if not reference.is_dir():
        return reference
    found = _named(reference / name)
    if not found and name.as_posix() in outputs:
        found = _named(reference.joinpath(*name.parts[1:]))
    if len(found) != 1:
        message = f"{name} has {len(found)} references in {reference}"
        raise InputError(message, expected="one image of this name")
    return found[0]


def _named(path: Path) -> list[Path]:
    """Return the file, or the images beside it with its name and another ending."""
    if path.is_file():
        return [path]
    return (
        [file for file in image_files(path.parent) if file.stem == path.stem] if path.parent.is_dir() else []
    )


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
            "picture": row.image,
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
        "pictures": rows,
    }


def _mean(scored: list[Scored]) -> tuple[float | None, int]:
    """Return the mean of the finite values, and their number."""
    finite = [row.value for row in scored if row.value is not None and math.isfinite(row.value)]
    return (fmean(finite) if finite else None), len(finite)


def _print_together(found: list[tuple[MetricInfo, list[Scored]]]) -> None:
    """Print a table with a column for each metric, the means, and on stderr why images have no value."""
    names = [info.name for info, _ in found]
    table = table_of("image", *names, right=tuple(names))
    for rows in zip(*(scored for _, scored in found), strict=True):
        if any(row.value is not None for row in rows):
            table.add_row(rows[0].image, *map(_shown, rows))
    if table.row_count:
        console().print(table)
    for info, scored in found:
        if len(scored) > 1 and any(row.value is not None for row in scored):
            direction = "higher" if info.higher_is_better else "lower"
            mean, count = _mean(scored)
            average = "-" if mean is None else f"{mean:.6g}"
            metric = f"{info.name}: " if len(found) > 1 else ""
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
