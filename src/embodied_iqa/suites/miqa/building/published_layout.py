"""Import of the published layout of MIQD-2.5M: its labels, over images that stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.models.vision.labels import composite
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.published_labels import (
    PublishedLabels,
    read_published,
    read_published_split,
)
from embodied_iqa.suites.miqa.layout import ImageFolder, TaskFolder
from embodied_iqa.suites.miqa.manifest import Images, Manifest
from embodied_iqa.suites.miqa.miqa_images import mask_file, source_file
from embodied_iqa.suites.miqa.names import TYPES, ImageName
from embodied_iqa.suites.miqa.rows import MiqaRow, Part
from embodied_iqa.suites.miqa.splits import split_references
from embodied_iqa.suites.miqa.writing import write_task

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What was read, and what is missing and therefore left out.

    Attributes:
        manifest: Of the task.
        missing_images: Labelled images without a file.
        missing_sources: References without a source image; all of their labels are left out.
        without_mask: References without a mask of their region; their labels are kept.
        unpaired: Images that only one of the two label files of detection has.
        examples: Some of the missing files.
        published_split: Whether the folder has a split; otherwise one was drawn.
    """

    manifest: Manifest
    missing_images: int
    missing_sources: int
    without_mask: int
    unpaired: int
    examples: tuple[str, ...]
    published_split: bool


def import_labels(source: Path, task: VisionTask, out: Path, seed: int = 0) -> ImportSummary:
    """Read published labels of a task into a database; images are read where they are.

    Args:
        source: Folder with ``labels``, and for classification and detection ``src_images`` and ``images``;
            segmentation reads those of ``miqa_det`` beside it.
        task: The task.
        out: The database; other tasks in it stay.
        seed: Of the split, where the folder has none.

    Raises:
        InputError: The folder has another layout, a label is not usable, or the labels of the task exist.
    """
    labels, unpaired = read_published(source, task)
    images = _image_folder(source, task)
    sources = {name: _has(source_file, images, name) for name in sorted({key.reference for key in labels})}
    split = read_published_split(source, sources)
    kept: list[ImageName] = []
    missing: list[ImageName] = []
    for name in (name for name in labels if sources[name.reference]):
        (kept if (images.images / name.path).is_file() else missing).append(name)
    if not kept:
        raise InputError(
            f"{images.path} has none of the {len(labels)} labelled images",
            expected=f"src_images and images, such as images/{next(iter(labels)).path}",
        )
    rows = _rows(labels, kept, split, seed)
    references = {row.reference for row in rows}
    manifest = Manifest(
        task, f"published layout, {source.resolve().name}", Images.IMPORTED, str(images.path), seed, 1.0,
        None, (), len(references), len(rows), len(labels) - len(rows),
    )  # fmt: skip
    _write(out, task, manifest, rows)
    gone = [name for name, found in sources.items() if not found]
    return ImportSummary(
        manifest,
        len(missing),
        len(gone),
        sum(not _has(mask_file, images, name) for name in references),
        unpaired,
        (*gone[:_SHOWN], *(name.path for name in missing[:_SHOWN])),
        bool(split),
    )


def _write(out: Path, task: VisionTask, manifest: Manifest, rows: list[MiqaRow]) -> None:
    with JobFolder(out, "label import", resumes=False).locked():
        folder = TaskFolder(out, task)
        if folder.manifest_file.exists():
            raise InputError(f"{folder.path} has labels", expected="a database without this task")
        write_task(folder, manifest, rows)


def _image_folder(source: Path, task: VisionTask) -> ImageFolder:
    own, beside = source.resolve(), source.resolve().parent / "miqa_det"
    shared = task is VisionTask.SEGMENTATION and not (own / "images").is_dir()
    return ImageFolder(beside if shared else own)


def _has(find: Callable[[ImageFolder, str], Path], folder: ImageFolder, reference: str) -> bool:
    try:
        find(folder, reference)
    except InputError:
        return False
    return True


def _rows(
    labels: Mapping[ImageName, PublishedLabels],
    kept: Iterable[ImageName],
    split: Mapping[str, tuple[Part, str]],
    seed: int,
) -> list[MiqaRow]:
    kept = sorted(
        kept, key=lambda name: (name.reference, list(TYPES).index(name.kind), name.inside, name.outside)
    )
    if not split:
        drawn = split_references({name.reference: "" for name in kept}, seed)
        split = {name: (part, "") for name, part in drawn.items()}
    rows = []
    for name in kept:
        part, category = split[name.reference]
        found = labels[name]
        rows.append(
            MiqaRow(
                image=name.path,
                reference=name.reference,
                category=category,
                kind=name.kind,
                roi_level=name.inside,
                background_level=name.outside,
                mode=name.mode,
                part=part,
                composite=composite(found.weighted_consistency, found.weighted_accuracy),
                **asdict(found),
            )
        )
    return rows
