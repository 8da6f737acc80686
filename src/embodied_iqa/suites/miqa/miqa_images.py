"""The images of a database of machine-vision quality as an image set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.data.database.database_images import inside
from embodied_iqa.imaging.distortions.region import read_mask
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import Image
from embodied_iqa.suites.miqa.distorting import Distorter
from embodied_iqa.suites.miqa.layout import ImageFolder, TaskFolder
from embodied_iqa.suites.miqa.manifest import Images, read_manifest
from embodied_iqa.suites.miqa.names import parse_name

_SUFFIXES: Final = (".png", ".JPEG", ".jpg", ".jpeg")


@dataclass(frozen=True, slots=True)
class MiqaImages:
    """Distorted images of a task by their path below ``images/``; an `ImageSet`.

    The name of a reference gives its clean image.

    Attributes:
        root: The database.
        task: The task.
    """

    root: Path
    task: VisionTask

    @property
    def name(self) -> str:
        """Name of the database and the task."""
        return f"{self.root.resolve().name}-{self.task}"

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """Yield images with their references; those of one reference and type should be neighbours.

        Raises:
            InputError: A name has another form, or a file is missing or damaged.
        """
        origin = _origin(self.root, self.task)
        for reference, group in groupby(pair_ids, reference_of):
            rgb = read_image(source_file(origin.folder, reference))
            distorter: Distorter | None = None
            for pair_id in group:
                if pair_id == reference:
                    distorted = rgb
                elif origin.images is Images.SEEDS:
                    distorter = distorter or Distorter(rgb, self.region_mask(reference), origin.seed)
                    distorted = distorter.image(parse_name(pair_id))
                else:
                    parse_name(pair_id)
                    distorted = read_image(inside(origin.folder.images, pair_id))
                yield PairImages(pair_id, distorted, rgb if rgb.shape == distorted.shape else None)

    def region_mask(self, reference: str) -> NDArray[np.bool_]:
        """Return ``(H, W)``, true inside the region of interest of a reference.

        Raises:
            InputError: It is missing, as in a published folder without masks, or damaged.
        """
        return read_mask(mask_file(_origin(self.root, self.task).folder, reference))

    def reference(self, reference: str) -> Image:
        """Return the clean image of a reference, ``(H, W, 3)`` uint8 RGB."""
        return read_image(source_file(_origin(self.root, self.task).folder, reference))

    def digest(self, pair_ids: Sequence[str]) -> str:
        """Return a hash of names, seed and source images; of sizes of files that are only read."""
        origin = _origin(self.root, self.task)
        owners = sorted(set(map(reference_of, pair_ids)))
        if origin.images is Images.SEEDS:
            files = [
                (name, _hash(source_file(origin.folder, name)), _hash(origin.folder.mask(name)))
                for name in owners
            ]
            return digest_of("miqa", 1, origin.seed, list(pair_ids), files)
        sizes = [_size(origin.folder.images / name) for name in pair_ids]
        return digest_of("miqa files", 1, self.name, list(pair_ids), sizes)


def reference_of(pair_id: str) -> str:
    """Return the reference of an image, or of a clean one.

    Raises:
        InputError: The name has another form.
    """
    return parse_name(pair_id).reference if "/" in pair_id else pair_id


def source_file(folder: ImageFolder, reference: str) -> Path:
    """Return the file of a source image, whatever its suffix.

    Raises:
        InputError: There is none, or its name leads out of the folder.
    """
    files = (inside(folder.sources, f"{reference}{suffix}") for suffix in _SUFFIXES)
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise InputError(f"{folder.sources} has no source image of this name", got=reference)
    return found


def mask_file(folder: ImageFolder, reference: str) -> Path:
    """Return the file of a region's mask: our own place, or those of a published folder.

    Raises:
        InputError: There is none, or its name leads out of the folder.
    """
    name = folder.mask(reference).name
    found = [
        file
        for place in ("additional_info/masks", "additional_info", "masks")
        if (file := inside(folder.path / place, name)).is_file()
    ]
    if not found:
        raise InputError(f"{folder.path} has no mask of the region of a reference", got=reference)
    return found[0]


@dataclass(frozen=True, slots=True)
class _Origin:
    images: Images
    folder: ImageFolder
    seed: int


@lru_cache(maxsize=16)
def _origin_at(root: Path, task: VisionTask, _: int) -> _Origin:
    folder = TaskFolder(root, task)
    manifest = read_manifest(folder)
    images = ImageFolder(Path(manifest.folder)) if manifest.folder else folder.images
    return _Origin(manifest.images, images, manifest.seed)


def _origin(root: Path, task: VisionTask) -> _Origin:
    file = TaskFolder(root, task).manifest_file
    return _origin_at(root, task, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(maxsize=1024)
def _hash(file: Path) -> str:
    return sha256_of(file)


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0
