"""Manifest of a task's labels: format, seeds, models and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.layout import TaskFolder

FORMAT_VERSION: Final = 2


class Images(StrEnum):
    """Where distorted images come from."""

    SEEDS = "seeds"
    """Made again from the source image, its mask and the seed."""
    FILES = "files"
    """Files of the database."""
    IMPORTED = "imported"
    """Files of the published folder."""


class WeightSource(StrEnum):
    """What the weights of the models were measured on."""

    CARD = "card"
    """Held-out images of the model's card."""
    CLEAN = "clean references"
    """The clean references of this database."""


@dataclass(frozen=True, slots=True)
class LabelModel:
    """A model whose predictions the labels compare.

    Attributes:
        name: Of the model.
        version: Of the model.
        performance: On clean images, in [0, 1].
        weight: Share in the labels; those of all models sum to 1.
    """

    name: str
    version: str
    performance: float
    weight: float


@dataclass(frozen=True, slots=True)
class Manifest:
    """How the labels of a task were made.

    Attributes:
        task: The task.
        source: Source of the references, in words.
        images: Where distorted images come from.
        folder: Folder of imported images; empty otherwise.
        seed: Of distortions, drawn images and the split.
        share: Share of the 250 images of a reference that is labelled; 1 for an import.
        weights_from: What the weights were measured on; None where the published labels do not say.
        models: In the order of `ModelValues`; empty for an import.
        references: Number of references.
        rows: Number of labelled images.
        missing: Labelled images of an import that have no file.
        version: Of the format.
    """

    task: VisionTask
    source: str
    images: Images
    folder: str
    seed: int
    share: float
    weights_from: WeightSource | None
    models: tuple[LabelModel, ...]
    references: int
    rows: int
    missing: int = 0
    version: int = FORMAT_VERSION


def write_manifest(folder: TaskFolder, manifest: Manifest) -> None:
    """Write the manifest of a task; this completes its labels."""
    write_json_whole(folder.manifest_file, unstructure(manifest))


def read_manifest(folder: TaskFolder) -> Manifest:
    """Return the manifest of a task.

    Raises:
        InputError: There is none, or it is of another version.
    """
    if not folder.manifest_file.is_file():
        names = [str(task) for task in VisionTask if TaskFolder(folder.root, task).manifest_file.is_file()]
        raise InputError(
            f"{folder.root} has no finished labels of {folder.task}",
            expected="a database of `embodied-iqa miqa build` or `miqa import`",
            available=names or ["none"],
        )
    manifest = read_json(Manifest, folder.manifest_file, "the manifest")
    if manifest.version != FORMAT_VERSION or manifest.task is not folder.task:
        raise InputError(
            f"{folder.manifest_file} is of another version or task",
            expected=f"{folder.task}, version {FORMAT_VERSION}",
            got=f"{manifest.task}, version {manifest.version}",
        )
    return manifest
