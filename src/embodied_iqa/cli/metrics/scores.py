"""Values of images, their means, and how they are printed.

Images of `embodied-iqa distort` have a mean for each type and level, too: its manifest lists which is which.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean

from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.imaging.distortions.manifest import Record
from embodied_iqa.quality.metrics import MetricInfo


@dataclass(frozen=True, slots=True)
class Scored:
    """An image and its value, or the reason why it has none.

    Attributes:
        image: The file, below the folder that was named.
        value: None where it failed.
        error: Empty where it did not.
        outside: A trained metric has learned nothing from such images; None where that is not known.
        made: How `embodied-iqa distort` made the image; None for any other image.
    """

    image: str
    value: float | None
    error: str = ""
    outside: bool | None = None
    made: Record | None = None


@dataclass(frozen=True, slots=True)
class _DistortionMean:
    """Mean of the images of one type and level.

    Attributes:
        folder: Their folder, TYPE_LEVEL.
        type: The distortion's id.
        name: The distortion's name.
        level: Its level; with a region, the level inside.
        outside_level: Level outside the region; None without a region.
        mean: Of the finite values; None where there is none.
        count: Number of the finite values.
    """

    folder: str
    type: str
    name: str
    level: int
    outside_level: int | None
    mean: float | None
    count: int


def print_scores(info: MetricInfo, scored: Sequence[Scored], *, as_json: bool) -> None:
    """Print the values of a metric, their means, and on stderr why images have none."""
    print_all_scores([(info, scored)], as_json=as_json)


def print_all_scores(found: Sequence[tuple[MetricInfo, Sequence[Scored]]], *, as_json: bool) -> None:
    """Print the values of metrics of the same images, their means, and on stderr why images have none."""
    if not as_json:
        _print_images(found)
        _print_distortions(found)
        for info, scored in found:
            _print_mean(info, scored, named=len(found) > 1)
    elif len(found) == 1:
        print_json(_tree(*found[0]))
    else:
        print_json({"metrics": [_tree(*one) for one in found]})
    of_all = set.intersection(*({row.error for row in scored if row.error} for _, scored in found))
    for row in found[0][1]:
        if row.error in of_all:
            print(f"embodied-iqa: {row.error}", file=sys.stderr)
    for info, scored in found:
        _print_failures(info, scored, of_all, named=len(found) > 1)


def _tree(info: MetricInfo, scored: Sequence[Scored]) -> dict[str, object]:
    rows = [
        {
            "image": row.image,
            "value": _plain(row.value),
            "error": row.error or None,
            "outside_training": row.outside,
        }
        for row in scored
    ]
    return {
        "metric": info.name,
        "higher_is_better": info.higher_is_better,
        "mean": _mean(scored)[0],
        "count": _mean(scored)[1],
        "distortions": _means(scored),
        "images": rows,
    }


def _plain(value: float | None) -> float | str | None:
    """Return a value as JSON knows it: infinity, as of PSNR of equal images, is a word."""
    return value if value is None or math.isfinite(value) else str(value)


def _mean(scored: Sequence[Scored]) -> tuple[float | None, int]:
    """Return the mean of the finite values, and their number."""
    finite = [row.value for row in scored if row.value is not None and math.isfinite(row.value)]
    return (fmean(finite) if finite else None), len(finite)


def _means(scored: Sequence[Scored]) -> list[_DistortionMean]:
    """Return the means of each type and level, in this order."""
    groups: dict[str, list[Scored]] = {}
    records: dict[str, Record] = {}
    for row in scored:
        if row.made is not None:
            folder = PurePosixPath(row.made.output).parts[0]
            groups.setdefault(folder, []).append(row)
            records[folder] = row.made
    order = sorted(groups, key=lambda folder: (records[folder].type, records[folder].level, folder))
    return [_distortion_mean(folder, records[folder], groups[folder]) for folder in order]


def _distortion_mean(folder: str, made: Record, scored: Sequence[Scored]) -> _DistortionMean:
    return _DistortionMean(folder, made.type, made.name, made.level, made.outside_level, *_mean(scored))


def _print_images(found: Sequence[tuple[MetricInfo, Sequence[Scored]]]) -> None:
    """Print a table with a column for each metric."""
    names = [info.name for info, _ in found]
    table = table_of("image", *names, right=names)
    for rows in zip(*(scored for _, scored in found), strict=True):
        if any(row.value is not None for row in rows):
            table.add_row(rows[0].image, *map(_shown, rows))
    if table.row_count:
        console().print(table)


def _shown(row: Scored) -> str:
    return _number(row.value) + " (outside training)" * bool(row.outside)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _print_distortions(found: Sequence[tuple[MetricInfo, Sequence[Scored]]]) -> None:
    """Print the means of each type and level; the rows of the images suffice where these have one each."""
    means = [_means(scored) for _, scored in found]
    if not any(mean.count > 1 for each in means for mean in each):
        return
    names = [info.name for info, _ in found]
    headings = [heading for name in names for heading in (name, "images")]
    table = table_of("distortion", "name", *headings, title="means of each type and level", right=headings)
    for rows in zip(*means, strict=True):
        cells = [cell for mean in rows for cell in (_number(mean.mean), str(mean.count))]
        table.add_row(rows[0].folder, rows[0].name, *cells)
    console().print(table)


def _print_mean(info: MetricInfo, scored: Sequence[Scored], *, named: bool) -> None:
    if len(scored) > 1 and any(row.value is not None for row in scored):
        direction = "higher" if info.higher_is_better else "lower"
        mean, count = _mean(scored)
        metric = f"{info.name}: " if named else ""
        infinite = sum(row.value is not None for row in scored) - count
        without = f"; {infinite} infinite value{'s are' if infinite > 1 else ' is'} not in it" * bool(
            infinite
        )
        print(f"{metric}mean {_number(mean)} of {count} images, {direction} is better{without}")


def _print_failures(
    info: MetricInfo, scored: Sequence[Scored], printed: Container[str], *, named: bool
) -> None:
    metric = f"{info.name}: " if named else ""
    failed = [row for row in scored if row.value is None]
    outside = sum(bool(row.outside) for row in scored)
    if outside:
        of = len(scored) - len(failed)  # of the others nothing is known
        what = f"{outside} of {of} images are unlike those that {info.name} was trained on"
        print(f"embodied-iqa: outside training: {what}; do not rely on their values", file=sys.stderr)
    for row in failed:
        if row.error not in printed:
            print(f"embodied-iqa: {metric}{row.error}", file=sys.stderr)
    if failed and len(scored) > 1:
        print(f"embodied-iqa: {metric}{len(failed)} of {len(scored)} images have no value", file=sys.stderr)
