"""Vision samples on disk: images, segmentations and crops as arrays, in parts written atomically."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kept import keep_open
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.panel.format import shrink
from embodied_iqa.models.vision.predictions import Instances
from embodied_iqa.models.vision.samples.rendered import VisionSample, rendered_sample
from embodied_iqa.models.vision.samples.truth import (
    COLOURED_CLASSES,
    CROP_PX,
    KIND_CLASSES,
    coloured_class,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

PART_IMAGES: Final = 30
"""Images of a part; cameras alternate. Every part is full, so that trainings of any size share them."""
NO_INSTANCE: Final = 255
"""Value in a stored segmentation where no object is visible."""
_IMAGES, _INSTANCES, _CROPS, _TRUTH = "images.npy", "instances.npy", "crops.npy", "truth.npz"


@dataclass(frozen=True, slots=True)
class StoredSize:
    """Sizes of what is stored.

    Attributes:
        image_px: Width and height of images; segmentations keep the camera's size.
        crop_px: Side of the crops.
    """

    image_px: tuple[int, int]
    crop_px: int


TRAINING: Final = StoredSize((320, 240), 96)
"""Reduced as far as no network's input is larger."""
HELD_OUT: Final = StoredSize((640, 480), CROP_PX)
"""As the camera delivers them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Arrays of a part; see `SampleStore`."""

    images: NDArray[np.uint8]
    instances: NDArray[np.uint8]
    crops: NDArray[np.uint8]
    truth: dict[str, NDArray[Any]]


class SampleStore:
    """Samples of a folder, mapped into memory.

    Args:
        folder: Of `draw_part`.
        limit: Largest number of images.

    Attributes:
        views: ``(N,)`` index in `CELL_VIEWS` of each image.
        image_of: ``(M,)`` image of each instance; the instances of an image follow each other.
        kinds: ``(M,)`` index in `KIND_CLASSES`.
        coloured: ``(M,)`` index in `COLOURED_CLASSES`.
        boxes: ``(M, 4)`` float32 left, top, right, bottom in [0, 1] of width and height.
        crowd: ``(M,)`` bool, too little is visible.
        main: ``(M,)`` bool, the object of the task.

    Raises:
        InputError: The folder has no part, or one is broken.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        files = sorted(folder.glob("part-*"))
        if not files:
            raise InputError(f"no vision samples in {folder}", expected="folders part-*")
        try:
            self._parts = [_load_part(file) for file in files]
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"broken vision samples in {folder}: {error}") from error
        counts = [len(part.images) for part in self._parts]
        self._starts = np.cumsum([0, *counts])
        self._first_crops = np.cumsum([0, *(len(part.crops) for part in self._parts)])
        self.views = self._joined("view")[:limit]
        image_of = np.concatenate(
            [part.truth["image"] + start for part, start in zip(self._parts, self._starts, strict=False)]
        )
        kept = image_of < len(self.views)
        self.image_of = image_of[kept]
        self.coloured, self.crowd, self.main = (
            self._joined(name)[kept] for name in ("coloured", "crowd", "main")
        )
        self.boxes = self._joined("box")[kept]
        self.kinds = self.coloured // (len(COLOURED_CLASSES) // len(KIND_CLASSES))

    def __len__(self) -> int:
        return len(self.views)

    def image(self, index: int) -> NDArray[np.uint8]:
        """Return ``(H, W, 3)`` uint8 RGB."""
        part, row = self._place(self._starts, index)
        image: NDArray[np.uint8] = part.images[row]
        return image

    def instance_map(self, index: int) -> NDArray[np.uint8]:
        """Return ``(H, W)`` uint8, the number within the image of each pixel's instance, or NO_INSTANCE.

        It has the camera's size, also where the image is reduced.
        """
        part, row = self._place(self._starts, index)
        shown: NDArray[np.uint8] = part.instances[row]
        return shown

    def crop(self, instance: int) -> NDArray[np.uint8]:
        """Return ``(S, S, 3)`` uint8 RGB."""
        part, row = self._place(self._first_crops, instance)
        crop: NDArray[np.uint8] = part.crops[row]
        return crop

    def instances(self, index: int) -> Instances:
        """Return the truth of an image, with masks."""
        rows = np.flatnonzero(self.image_of == index)
        shown = self.instance_map(index)
        height, width = shown.shape
        boxes = self.boxes[rows].astype(np.float64) * (width, height, width, height)
        masks = shown == np.arange(len(rows), dtype=np.uint8)[:, None, None]
        names = tuple(KIND_CLASSES[kind] for kind in self.kinds[rows])
        return Instances(names, np.ones(len(rows)), np.round(boxes), masks, self.crowd[rows])

    def _joined(self, name: str) -> NDArray[Any]:
        return np.concatenate([part.truth[name] for part in self._parts])

    def _place(self, starts: NDArray[np.int64], index: int) -> tuple[_Part, int]:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        return self._parts[part], int(index - starts[part])


def _load_part(folder: Path) -> _Part:
    images, instances, crops = (
        np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (_IMAGES, _INSTANCES, _CROPS)
    )
    with np.load(folder / _TRUTH, allow_pickle=False) as stored:
        return _Part(images, instances, crops, dict(stored))


def part_folders(folder: Path, images: int) -> Iterator[tuple[Path, int]]:
    """Yield folder and first image of each part that holds some of the first images."""
    for part, start in enumerate(range(0, images, PART_IMAGES)):
        yield folder / f"part-{part:04d}", start


def draw_part(folder: Path, seed: int, first: int, size: StoredSize) -> None:
    """Render the images of a seed from the number ``first`` and store them; an existing part is kept.

    Raises:
        InputError: The folder cannot be written.
    """
    if folder.is_dir():
        return
    views = CELL_VIEWS
    with keep_open():
        samples = [
            _Reduced.of(rendered_sample(seed + index // len(views), views[index % len(views)]), size)
            for index in range(first, first + PART_IMAGES)
        ]
    try:
        _save(samples, folder)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from error


def _save(samples: list[_Reduced], folder: Path) -> None:
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    np.save(partial / _IMAGES, np.stack([sample.image for sample in samples]))
    np.save(partial / _INSTANCES, np.stack([sample.instances for sample in samples]))
    np.save(partial / _CROPS, np.concatenate([sample.crops for sample in samples]))
    names = samples[0].truth
    truth: dict[str, NDArray[Any]] = {
        name: np.concatenate([sample.truth[name] for sample in samples]) for name in names
    }
    counts = [len(sample.crops) for sample in samples]
    truth["image"] = np.repeat(np.arange(len(samples)), counts)
    truth["view"] = np.array([CELL_VIEWS.index(sample.view) for sample in samples])
    np.savez(partial / _TRUTH, allow_pickle=False, **truth)
    partial.rename(folder)


@dataclass(frozen=True, slots=True, eq=False)
class _Reduced:
    """A sample as it is stored: reduced image and crops, segmentation, and truth by name."""

    view: View
    image: NDArray[np.uint8]
    instances: NDArray[np.uint8]
    crops: NDArray[np.uint8]
    truth: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, sample: VisionSample, size: StoredSize) -> _Reduced:
        height, width = sample.labels.shape
        numbers = np.full(sample.labels.max(initial=0) + 2, NO_INSTANCE, np.uint8)
        numbers[list(sample.object_of_instance)] = np.arange(len(sample.object_of_instance))
        shown = numbers[sample.labels]  # -1, the background, reads the extra last entry
        crops = [
            shrink(sample.crop(index).rgb, (size.crop_px, size.crop_px))
            for index in range(len(sample.instances))
        ]
        objects = [sample.scene.objects[index] for index in sample.object_of_instance]
        truth: dict[str, NDArray[Any]] = {
            "coloured": np.array([COLOURED_CLASSES.index(coloured_class(item)) for item in objects]),
            "box": (sample.instances.boxes_px / (width, height, width, height)).astype(np.float32),
            "crowd": np.asarray(sample.instances.crowd),
            "main": np.arange(len(objects)) == sample.main_index,
        }
        return cls(sample.view, shrink(sample.rgb, size.image_px), shown, np.stack(crops), truth)
