"""References from the user's images with a COCO file."""

from __future__ import annotations

import hashlib
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
from embodied_iqa.models.vision.predictions import Instances, VisionTask
from embodied_iqa.models.vision.samples.truth import square_around
from embodied_iqa.suites.miqa.building.coco_annotations import CocoImage, CocoObject, listed_images
from embodied_iqa.suites.miqa.building.masks import mask_of
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view, cut_view
from embodied_iqa.suites.miqa.names import check_reference

CROP_PX: Final = 224
"""Side of the images that classifiers see, cut around the largest object [px]."""


@dataclass(frozen=True)
class CocoSource:
    """Images with instances; those without any are left out and counted, those with a bad annotation named.

    The region of interest is all instances that are not a crowd. Classifiers see the whole image where an
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
    images: tuple[CocoImage, ...] = field(init=False)
    left_out: int = field(init=False)
    unusable: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        tree = load_json(self.file, "the instances", most_bytes=MOST_DATASET_BYTES)
        listed, unusable = listed_images(tree, self.file)
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

    def categories(self, task: VisionTask) -> frozenset[str]:
        """Return the classes of the images, or of their objects."""
        if task is VisionTask.CLASSIFICATION:
            return frozenset(
                name for item in self.images for name in ({item.category} - {""} or _labels(item))
            )
        return frozenset(name for item in self.images for name in _labels(item))

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


def _labels(item: CocoImage) -> set[str]:
    return {one.label for one in item.objects if not one.is_crowd}


def _check_size(rgb: Any, item: CocoImage) -> None:
    """Raise InputError where the annotations were made at another size, and lie elsewhere in this image."""
    height_px, width_px = rgb.shape[:2]
    if item.size_px is not None and item.size_px != (width_px, height_px):
        stated = "x".join(map(str, item.size_px))
        raise InputError(
            "size differs from that in the COCO file", expected=stated, got=f"{width_px}x{height_px}"
        )


def _reference(rgb: Any, item: CocoImage) -> MiqaReference:
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


def _mask(item: CocoObject, height_px: int, width_px: int) -> Any:
    mask = mask_of(item.segmentation, height_px, width_px)
    if not mask.any():
        raise InputError(f"{item.name}: its mask has no area", expected="a pixel whose centre lies inside")
    return mask


def _boxed(box: Sequence[float], height_px: int, width_px: int) -> Any:
    left, top, right, bottom = (round(edge) for edge in box)
    mask = np.zeros((height_px, width_px), bool)
    mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return mask
