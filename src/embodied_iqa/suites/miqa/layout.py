"""Folders and files of a database in the layout of MIQD-2.5M."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.models.vision.predictions import VisionTask


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """Paths of one task in a database.

    Attributes:
        root: The database.
        task: The task.
    """

    root: Path
    task: VisionTask

    @property
    def path(self) -> Path:
        """``miqa_cls``, ``miqa_det`` or ``miqa_ins``."""
        return self.root / f"miqa_{self.task}"

    @property
    def images(self) -> ImageFolder:
        """Folder with the images; segmentation shares those of detection."""
        is_cls = self.task is VisionTask.CLASSIFICATION
        return ImageFolder(self.root / f"miqa_{'cls' if is_cls else 'det'}")

    @property
    def manifest_file(self) -> Path:
        """How the labels were made; written last."""
        return self.path / "manifest.json"

    @property
    def table_file(self) -> Path:
        """All labels."""
        return self.path / "labels.parquet"

    @property
    def labels(self) -> Path:
        """Labels in the published form, some files for each reference."""
        return self.path / "labels"

    @property
    def splits(self) -> Path:
        """``train.csv`` and ``val.csv``."""
        return self.path / "splits"

    def values_file(self, reference: str) -> Path:
        """Measures of every model on the images of a reference."""
        return self.path / "values" / f"{reference}.parquet"


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """Paths of images.

    Attributes:
        path: Such as ``miqa_det``.
    """

    path: Path

    @property
    def sources(self) -> Path:
        """Folder of the source images."""
        return self.path / "src_images"

    def source(self, reference: str) -> Path:
        """A source image of our own; published ones have other suffixes, see `miqa_images.source_file`."""
        return self.sources / f"{reference}.png"

    @property
    def images(self) -> Path:
        """Folder of the distorted images."""
        return self.path / "images"

    def mask(self, reference: str) -> Path:
        """Mask of the region of interest, white inside."""
        return self.path / "additional_info" / "masks" / f"{reference}_binary_mask.png"

    def truth_part(self, reference: str) -> Path:
        """Truth of one reference, from which `truth_file` is written."""
        return self.path / "additional_info" / "truth" / f"{reference}.json"

    @property
    def truth_file(self) -> Path:
        """Truth of all references as COCO JSON."""
        return self.path / "additional_info" / "instances.json"
