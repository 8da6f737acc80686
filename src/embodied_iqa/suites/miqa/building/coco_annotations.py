"""Annotations of a COCO file, checked where they enter: a bad one is named and leaves out its image."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.miqa.building.masks import counts_of, mask_of, rings_of

_MOST_PIXELS: Final = 1 << 28
_MOST_CHECKED: Final = 1 << 25

_Box = tuple[float, float, float, float]
"""Left, top, right and bottom [px]."""


@dataclass(frozen=True, slots=True)
class CocoObject:
    """An annotation; one without a box and a mask gives the class of its image."""

    name: str
    label: str
    box_px: _Box | None
    segmentation: Any
    is_crowd: bool


@dataclass(frozen=True, slots=True)
class CocoImage:
    """An image with its annotations, none of them bad; width and height where the file states them."""

    file: str
    objects: tuple[CocoObject, ...]
    category: str
    size_px: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Tables:
    """The three tables of a COCO file; names and sizes of the images are by their ids.

    Of images that share an id nobody knows whose its annotations are: ``ambiguous`` has their names.
    """

    labels: dict[int, str]
    images: dict[int, tuple[str, tuple[int, int] | None]]
    annotations: Sequence[dict[str, Any]]
    ambiguous: dict[str, int]


def _tables(tree: Any, file: Path) -> _Tables:
    """Return the tables of a COCO file.

    Raises:
        InputError: It is no COCO file.
    """
    try:
        labels = {int(row["id"]): str(row["name"]) for row in tree["categories"]}
        listed = [(int(row["id"]), str(row["file_name"]), _size_of(row)) for row in tree["images"]]
        annotations = [dict(row) for row in tree["annotations"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{file} is not a COCO file: {type(error).__name__} {error}",
            expected="images, annotations and categories",
        ) from error
    images = {number: (name, size_px) for number, name, size_px in listed}
    times = Counter(number for number, _, _ in listed)
    ambiguous = {name: number for number, name, _ in listed if times[number] > 1}
    return _Tables(labels, images, annotations, ambiguous)


def listed_images(tree: Any, file: Path) -> tuple[list[CocoImage], dict[str, str]]:
    """Return the images of a COCO file, sorted by name, and why others are unusable, by name.

    An annotation that belongs to no image is unusable by itself.

    Raises:
        InputError: It is no COCO file.
    """
    tables = _tables(tree, file)
    objects: dict[int, list[CocoObject]] = {number: [] for number in tables.images}
    categories: dict[int, str] = {}
    unusable = {name: f"another image has its id, {number}" for name, number in tables.ambiguous.items()}
    for place, row in enumerate(tables.annotations):
        name = f"annotation {row.get('id', f'number {place}')}"
        owner = _whole_number(row.get("image_id"))
        if owner not in tables.images:
            unusable[name] = f"it belongs to no image; got image_id {row.get('image_id')!r}"
            continue
        image, size_px = tables.images[owner]
        try:
            found = _object(row, name, tables.labels, size_px)
        except InputError as error:
            unusable.setdefault(image, f"{name}: {error}")
            continue
        if found.box_px is None:
            categories[owner] = found.label
        else:
            objects[owner].append(found)
    for number, (image, _) in tables.images.items():
        if without := _without_mask(objects[number]):
            unusable.setdefault(image, f"{without} has no mask, but others of the image have one")
    images = [
        CocoImage(image, tuple(objects[number]), categories.get(number, ""), size_px)
        for number, (image, size_px) in tables.images.items()
        if image not in unusable
    ]
    return sorted(images, key=lambda item: item.file), unusable


def _without_mask(objects: Sequence[CocoObject]) -> str:
    """Return the first annotation that has no mask where others have one; empty without any."""
    missing = [item.name for item in objects if not item.segmentation]
    return missing[0] if 0 < len(missing) < len(objects) else ""


def _size_of(row: Any) -> tuple[int, int] | None:
    """Return width and height of an image as the file states them; None where it does not."""
    if row.get("width") is None or row.get("height") is None:
        return None
    return int(row["width"]), int(row["height"])


def _whole_number(value: Any) -> int | None:
    """Return an id; annotation tools write some as text."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _object(row: Any, name: str, labels: dict[int, str], size_px: tuple[int, int] | None) -> CocoObject:
    """Return one annotation.

    Raises:
        InputError: It has an unknown category, no area, or a box that does not fit its image or mask.
    """
    category = _whole_number(row.get("category_id"))
    if category not in labels:
        raise InputError("unknown category", expected="an id of `categories`", got=row.get("category_id"))
    label = labels[category]
    segmentation = row.get("segmentation")
    box = _box(row["bbox"]) if row.get("bbox") else None
    if isinstance(segmentation, dict) and segmentation:
        _check_runs(segmentation, size_px)
    extent = _extent(segmentation, box)
    if extent is not None and not isinstance(segmentation, dict):
        _check_thin(segmentation, size_px or (math.ceil(extent[2]) + 1, math.ceil(extent[3]) + 1))
    box = box or extent
    if box is None:
        return CocoObject(name, label, None, None, False)
    if size_px is not None and not _meet(box, (0.0, 0.0, float(size_px[0]), float(size_px[1]))):
        raise InputError(
            "its box lies outside of the image", expected=f"within {size_px[0]}x{size_px[1]}", got=list(box)
        )
    if extent is not None and not _meet(box, extent):
        raise InputError("its box and its mask do not meet", expected=list(extent).__repr__(), got=list(box))
    return CocoObject(name, label, box, segmentation or None, bool(row.get("iscrowd", 0)))


def _box(numbers: Any) -> _Box:
    try:
        left, top, width, height = (float(number) for number in numbers)
    except (TypeError, ValueError):
        raise InputError("its box has another form", expected="[x, y, width, height]", got=numbers) from None
    if not np.isfinite([left, top, width, height]).all() or width <= 0 or height <= 0:
        raise InputError("its box has no area", expected="[x, y, width, height], sizes above 0", got=numbers)
    return left, top, left + width, top + height


def _extent(segmentation: Any, box: _Box | None) -> _Box | None:
    """Return the box around a mask; None without one, and for run lengths with a box: decoding takes long.

    Raises:
        InputError: The mask has no area.
    """
    if not segmentation:
        return None
    if isinstance(segmentation, dict):
        if box is not None:
            return None
        height_px, width_px = _run_size(segmentation)
        rows, columns = np.nonzero(mask_of(segmentation, height_px, width_px))
        if not len(rows):
            raise InputError("its mask has no area", expected="at least one pixel")
        return float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)
    rings = rings_of(segmentation)
    if all(len(ring) < 3 for ring in rings):
        raise InputError("its mask has no area", expected="polygons of three points or more")
    points = np.concatenate(rings)
    low, high = points.min(axis=0), points.max(axis=0)
    if not (high > low).all():
        raise InputError("its mask has no area", expected="polygons with an area")
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _check_thin(polygons: Any, size_px: tuple[int, int]) -> None:
    """Raise InputError where polygons are so thin that no pixel's centre is inside; others are not filled."""
    area = perimeter = 0.0
    for ring in rings_of(polygons):
        (x, y), (x_next, y_next) = ring.T, np.roll(ring, -1, axis=0).T
        area += abs(float((x * y_next - x_next * y).sum())) / 2
        perimeter += float(np.hypot(x_next - x, y_next - y).sum())
    width_px, height_px = size_px
    if area > perimeter or min(size_px) < 1 or width_px * height_px > _MOST_CHECKED:
        return
    if not mask_of(polygons, height_px, width_px).any():
        raise InputError("its mask has no area", expected="a pixel whose centre lies inside")


def _check_runs(segmentation: dict[str, Any], size_px: tuple[int, int] | None) -> None:
    """Raise InputError where run lengths are of another size than the image, damaged or empty."""
    height_px, width_px = _run_size(segmentation)
    if size_px is not None:
        width_px, height_px = size_px
    if not any(counts_of(segmentation, height_px, width_px)[1::2]):
        raise InputError("its mask has no area", expected="at least one pixel")


def _run_size(segmentation: dict[str, Any]) -> tuple[int, int]:
    match segmentation.get("size"):
        case [int(height_px), int(width_px)] if (
            min(height_px, width_px) > 0 and height_px * width_px <= _MOST_PIXELS
        ):
            return height_px, width_px
        case other:
            raise InputError("its mask has a wrong size", expected="[height, width] px", got=other)


def _meet(first: _Box, second: _Box) -> bool:
    return all(max(first[k], second[k]) < min(first[k + 2], second[k + 2]) for k in (0, 1))
