"""Writes what pycocotools makes of the images of `coco_cases`; needs pycocotools.

python tests/write_coco_cases.py
"""

from __future__ import annotations

import contextlib
import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from pycocotools.mask import area, encode

from coco_cases import CLASSES, HEIGHT_PX, WIDTH_PX, Case, all_images, all_sets
from embodied_iqa.models.vision.predictions import Instances

ANSWERS = Path(__file__).parent / "unit/models/vision/coco_average_precision.json"


def reference_precision(cases: list[Case], *, masks: bool) -> float:
    """Return AP as pycocotools reports it, -1 if there is nothing to find."""
    kind = "segm" if masks else "bbox"
    with contextlib.redirect_stdout(io.StringIO()):
        truth = _dataset([case.truth for case in cases])
        found = _dataset([case.predicted for case in cases])
        judge = COCOeval(truth, found, kind)
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return float(judge.stats[0])


def _dataset(images: list[Instances]) -> COCO:
    rows: list[dict[str, Any]] = []
    for number, objects in enumerate(images):
        for i in range(len(objects)):
            rows.append(_row(objects, i) | {"id": len(rows) + 1, "image_id": number})
    coco = COCO()
    coco.dataset = {
        "images": [{"id": n, "width": WIDTH_PX, "height": HEIGHT_PX} for n in range(len(images))],
        "categories": [{"id": n, "name": name} for n, name in enumerate(CLASSES)],
        "annotations": rows,
    }
    coco.createIndex()
    return coco


def _row(objects: Instances, i: int) -> dict[str, Any]:
    left, top, right, bottom = objects.boxes_px[i].tolist()
    assert objects.masks is not None
    mask = encode(np.asfortranarray(objects.masks[i].astype(np.uint8)))
    return {
        "category_id": CLASSES.index(objects.labels[i]),
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": mask,
        "area": float(area(mask)),
        "iscrowd": int(objects.crowd is not None and objects.crowd[i]),
        "score": float(objects.scores[i]),
    }


def main() -> None:
    """Write the answers."""
    answers = {
        "pycocotools": version("pycocotools"),
        "images": [_both([case]) for case in all_images()],
        "sets": [_both(cases) for cases in all_sets()],
    }
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")


def _both(cases: list[Case]) -> list[float]:
    return [reference_precision(cases, masks=masks) for masks in (False, True)]


if __name__ == "__main__":
    main()
