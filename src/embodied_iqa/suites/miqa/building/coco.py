"""References from the user's images with a COCO file."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES, load_json
from embodied_iqa.data.database.database_images import inside
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.models.vision.predictions import Instances
from embodied_iqa.models.vision.samples.truth import square_around
from embodied_iqa.suites.miqa.building.masks import mask_of, rings_of
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view, cut_view
from embodied_iqa.suites.miqa.names import check_reference

CROP_PX: Final = 224
"""Side of the images that classifiers see, cut around the largest object [px]."""

_MOST_PIXELS: Final = 1 << 28
_MOST_CHECKED: Final = 1 << 25

_Box = tuple[float, float, float, float]
"""Left, top, right and bottom [px]."""


@dataclass(frozen=True, slots=True)
class _Object:
    """An annotation; one without a box and a mask gives the class of its image."""

    name: str
    label: str
    box_px: _Box | None
    segmentation: Any
    is_crowd: bool


@dataclass(frozen=True, slots=True)
class _Image:
    file: str
    objects: tuple[_Object, ...]
    category: str
    size_px: tuple[int, int] | None


@dataclass(frozen=True)
class CocoSource:
    """Images with instances; those without any are left out and counted, those with a bad annotation named.

    The region of interest is all instances that are no crowd. Classifiers see the whole image where an
    annotation without a box gives its class, otherwise a cut of the largest object.

    Attributes:
        file: COCO JSON.
        folder: Contains the images.
        images: Sorted by name.
        left_out: Number of images without an instance.
        unusable: Why others are left out, by name: one bad annotation makes the truth of its image wrong.
    """

    file: Path
    folder: Path
    images: tuple[_Image, ...] = field(init=False)
    left_out: int = field(init=False)
    unusable: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        tree = load_json(self.file, "the instances", most_bytes=MOST_DATASET_BYTES)
        listed, unusable = _listed(tree, self.file)
        usable = tuple(item for item in listed if any(not one.is_crowd for one in item.objects))
        if not usable:
            raise InputError(
                f"{self.file} has no usable image with an instance",
                expected="boxes or masks",
                got="; ".join(f"{name}: {reason}" for name, reason in list(unusable.items())[:3]) or "none",
            )
        object.__setattr__(self, "images", usable)
        object.__setattr__(self, "left_out", len(listed) - len(usable))
        object.__setattr__(self, "unusable", unusable)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise InputError(f"{self.file} has two images of one name", got=twice[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the files, without suffix; with their folders where two files have one name."""
        stems = Counter(Path(item.file).stem for item in self.images)
        paths = [Path(item.file).with_suffix("") for item in self.images]
        return tuple(
            check_reference(path.name if stems[path.name] == 1 else "_".join(path.parts)) for path in paths
        )

    @property
    def description(self) -> str:
        """The names of file and folder; names and sizes identify the images."""
        folder = self.folder.resolve().name
        unusable = f", {len(self.unusable)} unusable" if self.unusable else ""
        return f"images of {folder} with {self.file.name}, {self.left_out} without instances{unusable}"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the instances."""
        return digest_of(hashlib.sha256(self.file.read_bytes()).hexdigest())

    def read(self, index: int) -> MiqaReference:
        """Read an image with its instances.

        Raises:
            InputError: The image cannot be read, or an instance is damaged.
        """
        item = self.images[index]
        rgb = read_image(inside(self.folder, item.file))
        try:
            _check_size(rgb, item)
            return _reference(rgb, item)
        except InputError as error:
            raise InputError(f"{self.file}, image {item.file}: {error}") from error


def _check_size(rgb: Any, item: _Image) -> None:
    """Raise InputError where the annotations were made at another size, and lie elsewhere in this picture."""
    height_px, width_px = rgb.shape[:2]
    if item.size_px is not None and item.size_px != (width_px, height_px):
        stated = "x".join(map(str, item.size_px))
        raise InputError(
            "size differs from that in the COCO file", expected=stated, got=f"{width_px}x{height_px}"
        )


def _reference(rgb: Any, item: _Image) -> MiqaReference:
    height_px, width_px = rgb.shape[:2]
    boxes = np.array([one.box_px for one in item.objects], np.float64)
    counted = np.array([not one.is_crowd for one in item.objects])
    has_masks = all(one.segmentation for one in item.objects)
    if has_masks:
        masks = np.stack([_mask(one, height_px, width_px) for one in item.objects])
    else:
        masks = np.stack([_boxed(box, height_px, width_px) for box in boxes.tolist()])
    instances = Instances(
        tuple(one.label for one in item.objects),
        np.ones(len(boxes)),
        boxes,
        masks if has_masks else None,
        ~counted,
    )
    region = masks[counted].any(axis=0)
    area = np.where(counted, masks.sum(axis=(1, 2)), -1)
    largest = int(np.argmax(area))
    label = item.category or item.objects[largest].label
    whole = ReferenceView(rgb, region, item.objects[largest].label, instances)
    if item.category:
        return MiqaReference(whole, crop_view(rgb, region, label))
    square = square_around(boxes[largest].tolist(), height_px, width_px)
    return MiqaReference(whole, cut_view(rgb, masks[largest], label, square, CROP_PX))


def _mask(item: _Object, height_px: int, width_px: int) -> Any:
    mask = mask_of(item.segmentation, height_px, width_px)
    if not mask.any():
        raise InputError(f"{item.name}: its mask has no area", expected="a pixel whose centre lies inside")
    return mask


def _boxed(box: Sequence[float], height_px: int, width_px: int) -> Any:
    left, top, right, bottom = (round(edge) for edge in box)
    mask = np.zeros((height_px, width_px), bool)
    mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return mask


def _listed(tree: Any, file: Path) -> tuple[list[_Image], dict[str, str]]:
    """Return the images of a COCO file, sorted by name, and why others are unusable, by name.

    Raises:
        InputError: It is no COCO file, or an annotation belongs to no image.
    """
    try:
        labels = {int(row["id"]): str(row["name"]) for row in tree["categories"]}
        sizes = {int(row["id"]): (str(row["file_name"]), _size_of(row)) for row in tree["images"]}
        rows = [dict(row) for row in tree["annotations"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{file} is not a COCO file: {type(error).__name__} {error}",
            expected="images, annotations and categories",
        ) from error
    if len(sizes) < len(tree["images"]):
        raise InputError(
            f"{file} lists two images of one id", expected=f"{len(tree['images'])} different ids"
        )
    objects: dict[int, list[_Object]] = {number: [] for number in sizes}
    categories: dict[int, str] = {}
    unusable: dict[str, str] = {}
    for place, row in enumerate(rows):
        name = f"annotation {row.get('id', f'number {place}')}"
        owner = _whole_number(row.get("image_id"))
        if owner not in sizes:
            raise InputError(
                f"{file}: {name} belongs to no image", expected="an id of `images`", got=row.get("image_id")
            )
        try:
            found = _object(row, name, labels, sizes[owner][1])
        except InputError as error:
            unusable.setdefault(sizes[owner][0], f"{name}: {error}")
            continue
        if found.box_px is None:
            categories[owner] = found.label
        else:
            objects[owner].append(found)
    images = []
    for number, (name, size_px) in sizes.items():
        masks = [bool(item.segmentation) for item in objects[number]]
        if any(masks) and not all(masks):
            without = objects[number][masks.index(False)].name
            unusable.setdefault(name, f"{without} has no mask, but others of the image have one")
        if name not in unusable:
            images.append(_Image(name, tuple(objects[number]), categories.get(number, ""), size_px))
    return sorted(images, key=lambda item: item.file), unusable


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


def _object(row: Any, name: str, labels: dict[int, str], size_px: tuple[int, int] | None) -> _Object:
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
    extent = _extent(segmentation, box)
    if extent is not None and not isinstance(segmentation, dict):
        _check_thin(segmentation, size_px or (math.ceil(extent[2]) + 1, math.ceil(extent[3]) + 1))
    box = box or extent
    if box is None:
        return _Object(name, label, None, None, False)
    if size_px is not None and not _meet(box, (0.0, 0.0, float(size_px[0]), float(size_px[1]))):
        raise InputError(
            "its box lies outside of the image", expected=f"within {size_px[0]}x{size_px[1]}", got=list(box)
        )
    if extent is not None and not _meet(box, extent):
        raise InputError("its box and its mask do not meet", expected=list(extent).__repr__(), got=list(box))
    return _Object(name, label, box, segmentation or None, bool(row.get("iscrowd", 0)))


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


def _run_size(segmentation: dict[str, Any]) -> tuple[int, int]:
    match segmentation.get("size"):
        case [int(height_px), int(width_px)] if 0 < height_px * width_px <= _MOST_PIXELS:
            return height_px, width_px
        case other:
            raise InputError("its mask has a wrong size", expected="[height, width] px", got=other)


def _meet(first: _Box, second: _Box) -> bool:
    return all(max(first[k], second[k]) < min(first[k + 2], second[k + 2]) for k in (0, 1))
