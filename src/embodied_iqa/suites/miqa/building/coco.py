"""References from the user's pictures with a COCO file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES, load_json
from embodied_iqa.data.database.building.options import digest_of
from embodied_iqa.data.database.pictures import inside
from embodied_iqa.imaging.images.codecs import read_picture
from embodied_iqa.models.vision.predictions import Instances
from embodied_iqa.models.vision.samples.truth import square_around
from embodied_iqa.suites.miqa.building.masks import mask_of
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view, cut_view
from embodied_iqa.suites.miqa.names import check_reference

CROP_PX: Final = 224
"""Side of the pictures that classifiers see, cut around the largest object [px]."""


@dataclass(frozen=True, slots=True)
class _Object:
    label: str
    box_px: tuple[float, float, float, float]
    segmentation: Any
    is_crowd: bool


@dataclass(frozen=True, slots=True)
class _Picture:
    file: str
    objects: tuple[_Object, ...]
    category: str


@dataclass(frozen=True)
class CocoSource:
    """Pictures with instances; those without any are left out and counted.

    The region of interest is all instances that are no crowd. Classifiers see the whole picture where an
    annotation without a box gives its class, otherwise a cut of the largest object.

    Attributes:
        file: COCO JSON.
        folder: Contains the pictures.
        pictures: Sorted by name.
        left_out: Number of pictures without an instance.
    """

    file: Path
    folder: Path
    pictures: tuple[_Picture, ...] = field(init=False)
    left_out: int = field(init=False)

    def __post_init__(self) -> None:
        listed = _pictures_of(load_json(self.file, "the instances", most_bytes=MOST_DATASET_BYTES), self.file)
        usable = tuple(item for item in listed if any(not one.is_crowd for one in item.objects))
        if not usable:
            raise InputError(f"{self.file} has no picture with an instance", expected="boxes or masks")
        object.__setattr__(self, "pictures", usable)
        object.__setattr__(self, "left_out", len(listed) - len(usable))
        names = [Path(item.file).stem for item in usable]
        twice = (
            next((name for name in names if names.count(name) > 1), None)
            if len(set(names)) < len(names)
            else None
        )
        if twice is not None:
            raise InputError(f"{self.file} has two pictures of one name", got=twice)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the files, without suffix."""
        return tuple(check_reference(Path(item.file).stem) for item in self.pictures)

    @property
    def description(self) -> str:
        """The names of file and folder; names and sizes identify the pictures."""
        folder = self.folder.resolve().name
        return f"pictures of {folder} with {self.file.name}, {self.left_out} without instances"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the instances."""
        return digest_of(hashlib.sha256(self.file.read_bytes()).hexdigest())

    def read(self, index: int) -> MiqaReference:
        """Read a picture with its instances.

        Raises:
            InputError: The picture cannot be read, or an instance is damaged.
        """
        item = self.pictures[index]
        rgb = read_picture(inside(self.folder, item.file))
        try:
            return _reference(rgb, item)
        except InputError as error:
            raise InputError(f"{self.file}, picture {item.file}: {error}") from error


def _reference(rgb: Any, item: _Picture) -> MiqaReference:
    height_px, width_px = rgb.shape[:2]
    boxes = np.array([one.box_px for one in item.objects], np.float64)
    counted = np.array([not one.is_crowd for one in item.objects])
    has_masks = all(one.segmentation for one in item.objects)
    if has_masks:
        masks = np.stack([mask_of(one.segmentation, height_px, width_px) for one in item.objects])
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


def _boxed(box: Sequence[float], height_px: int, width_px: int) -> Any:
    left, top, right, bottom = (round(edge) for edge in box)
    mask = np.zeros((height_px, width_px), bool)
    mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return mask


def _pictures_of(tree: Any, file: Path) -> list[_Picture]:
    """Return the pictures of a COCO file, sorted by name."""
    try:
        labels = {int(row["id"]): str(row["name"]) for row in tree["categories"]}
        objects: dict[int, list[_Object]] = {int(row["id"]): [] for row in tree["images"]}
        categories: dict[int, str] = {}
        for row in tree["annotations"]:
            owner, label = int(row["image_id"]), labels[row["category_id"]]
            if row.get("bbox"):
                objects[owner].append(_object(row, label))
            else:
                categories[owner] = label
        found = [
            _Picture(str(row["file_name"]), tuple(objects[row["id"]]), categories.get(row["id"], ""))
            for row in tree["images"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{file} is not a COCO file: {type(error).__name__} {error}",
            expected="images, annotations and categories",
        ) from error
    return sorted(found, key=lambda item: item.file)


def _object(row: Any, label: str) -> _Object:
    left, top, width, height = (float(number) for number in row["bbox"])
    if not np.isfinite([left, top, width, height]).all() or width < 0 or height < 0:
        raise ValueError(f"box {row['bbox']}")
    box = (left, top, left + width, top + height)
    return _Object(label, box, row.get("segmentation"), bool(row.get("iscrowd", 0)))
