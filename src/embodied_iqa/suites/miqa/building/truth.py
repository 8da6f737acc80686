"""Truth of references as COCO JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.suites.miqa.building.masks import runs_of
from embodied_iqa.suites.miqa.building.reference import ReferenceView


@dataclass(frozen=True, slots=True)
class TrueObject:
    """An object of a reference.

    Attributes:
        category: Its class.
        bbox: Left, top, width, height [px].
        area: Pixels of the mask, or of the box.
        iscrowd: 1 where it holds several objects or is too small to count.
        counts: Run lengths of the mask, column by column; empty without a mask.
    """

    category: str
    bbox: tuple[float, float, float, float]
    area: int
    iscrowd: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReferenceTruth:
    """Truth of a reference, kept beside its labels until the database is finished.

    Attributes:
        reference: Its name.
        category: Class of the image, or of its main object.
        width: Of the image [px].
        height: Of the image [px].
        objects: Its objects.
    """

    reference: str
    category: str
    width: int
    height: int
    objects: tuple[TrueObject, ...]


def truth_of(reference: str, view: ReferenceView) -> ReferenceTruth:
    """Return the truth of a view."""
    height, width = view.rgb.shape[:2]
    found = view.instances
    objects = []
    for row, label in enumerate(found.labels):
        left, top, right, bottom = found.boxes_px[row].tolist()
        counts = () if found.masks is None else runs_of(found.masks[row])
        area = round((right - left) * (bottom - top)) if not counts else sum(counts[1::2])
        crowd = found.crowd is not None and bool(found.crowd[row])
        objects.append(TrueObject(label, (left, top, right - left, bottom - top), area, int(crowd), counts))
    return ReferenceTruth(reference, view.category, width, height, tuple(objects))


def write_coco(file: Path, truths: Sequence[ReferenceTruth]) -> None:
    """Write the truth of all references as COCO JSON, with run lengths as masks."""
    names = sorted({item.category for truth in truths for item in truth.objects})
    numbers = {name: at + 1 for at, name in enumerate(names)}
    images = [
        {
            "id": at + 1,
            "file_name": f"{truth.reference}.png",
            "width": truth.width,
            "height": truth.height,
            "category": truth.category,
        }
        for at, truth in enumerate(truths)
    ]
    objects = [(at + 1, truth, item) for at, truth in enumerate(truths) for item in truth.objects]
    annotations = [
        {"id": at + 1, "image_id": image, **_annotation(truth, item, numbers)}
        for at, (image, truth, item) in enumerate(objects)
    ]
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    write_json_whole(file, {"images": images, "annotations": annotations, "categories": categories})


def _annotation(truth: ReferenceTruth, item: TrueObject, numbers: Mapping[str, int]) -> dict[str, Any]:
    tree: dict[str, Any] = unstructure(item)
    counts, category = tree.pop("counts"), tree.pop("category")
    tree["category_id"] = numbers[category]
    if counts:
        tree["segmentation"] = {"size": [truth.height, truth.width], "counts": list(counts)}
    return tree
