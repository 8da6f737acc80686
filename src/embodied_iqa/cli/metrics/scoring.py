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
    """Measure every image and print the values; return 1 if none could be measured."""
    path, reference = arguments.images, arguments.reference
    files = image_files(path, recursive=True) if path.is_dir() else [path]
    context = MetricContext(view=parse_view(arguments.view) if arguments.view else None)
    metric = metric_by_name(arguments.name)
    try:
        _check_reference(metric.info, reference)
        scored = list(scores_of(metric, path, files, reference, context))
    finally:
        close_metric(metric)
    print_scores(metric.info, scored, as_json=arguments.json)
    return 0 if any(row.value is not None for row in scored) else 1


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
    for file in track(files, metric.info.name):
        name = file.relative_to(root)
        try:
            undistorted = None
            if metric.info.needs is Needs.REFERENCE and reference is not None:
                undistorted = read_image(_reference_of(name, reference))
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


def _reference_of(name: Path, reference: Path) -> Path:
    """Return the reference of an image: the same name in the folder, with any ending.

    Raises:
        InputError: There is none, or several.
    """
    if not reference.is_dir():
        return reference
    if (reference / name).is_file():
        return reference / name
    folder = (reference / name).parent
    found = [file for file in image_files(folder) if file.stem == name.stem] if folder.is_dir() else []
    if len(found) != 1:
        message = f"{name} has {len(found)} references in {reference}"
        raise InputError(message, expected="one image of this name")
    return found[0]


def print_scores(info: MetricInfo, scored: list[Scored], *, as_json: bool) -> None:
    """Print the values, their mean, and on stderr why images have none."""
    values = [row.value for row in scored if row.value is not None]
    failed = [row for row in scored if row.value is None]
    finite = [value for value in values if math.isfinite(value)]
    mean = fmean(finite) if finite else None
    if as_json:
        rows = [
            {
                "picture": row.image,
                "value": _plain(row.value),
                "error": row.error or None,
                "outside_training": row.outside,
            }
            for row in scored
        ]
        tree = {"metric": info.name, "higher_is_better": info.higher_is_better, "mean": mean}
        print_json(tree | {"pictures": rows})
    elif values:
        table = table_of("image", info.name, right=(info.name,))
        for row in scored:
            if row.value is not None:
                table.add_row(row.image, f"{row.value:.6g}" + " (outside training)" * bool(row.outside))
        console().print(table)
        if len(scored) > 1:
            direction = "higher" if info.higher_is_better else "lower"
            average = "-" if mean is None else f"{mean:.6g}"
            print(f"mean {average} of {len(finite)} images, {direction} is better")
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
