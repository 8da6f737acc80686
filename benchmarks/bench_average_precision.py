"""Average precision of one image: microseconds beside pycocotools, in one run on one core.

Both start from the same arrays and give the same value; the time of pycocotools includes encoding the
predicted masks, but not writing the annotations. COCOeval is made for whole data sets: its time for one
image is what labels of machine-vision quality would cost with it. The version is that of
requirements/bench-peers.txt, installed by bench_distortions_peers.py.

python benchmarks/bench_average_precision.py --json build/bench_average_precision.json
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from bench_distortions_peers import FOLDER, install_peers
from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.models.vision.average_precision import average_precision
from embodied_iqa.models.vision.predictions import Instances

CLASSES = ("cube", "ball", "cup", "plate")
SIZES_PX = ((160, 120), (640, 480))
PREDICTIONS = (6, 20, 100)
OBJECTS = 6
ROUNDS = 7
CALLS = 20
Row = dict[str, Any]


def median_us(run: Callable[[], object], calls: int) -> float:
    """Return the median of the processor time of a call [us]."""
    run()
    taken_us = []
    for _ in range(ROUNDS):
        started_s = time.process_time()
        for _ in range(calls):
            run()
        taken_us.append(1e6 * (time.process_time() - started_s) / calls)
    return statistics.median(taken_us)


def image(width_px: int, height_px: int, predictions: int) -> tuple[Instances, Instances]:
    """Return predictions, the first ones near the objects, and the objects."""
    draw = np.random.default_rng(predictions)
    truth = scattered(draw, width_px, height_px, OBJECTS)
    found = scattered(draw, width_px, height_px, predictions)
    boxes = found.boxes_px.copy()
    boxes[:OBJECTS] = truth.boxes_px + draw.integers(-2, 3, truth.boxes_px.shape)
    labels = (*truth.labels, *found.labels[OBJECTS:])
    return Instances(labels, found.scores, boxes, rectangles(boxes, width_px, height_px)), truth


def scattered(draw: np.random.Generator, width_px: int, height_px: int, count: int) -> Instances:
    """Return objects at random places, an eighth of the image wide and more."""
    corner = draw.integers(0, (width_px * 3 // 4, height_px * 3 // 4), (count, 2))
    size = draw.integers((width_px // 8, height_px // 8), (width_px // 4, height_px // 4), (count, 2))
    boxes = np.hstack([corner, corner + size]).astype(np.float64)
    labels = tuple(str(label) for label in draw.choice(CLASSES, count))
    return Instances(labels, np.sort(draw.random(count))[::-1], boxes, rectangles(boxes, width_px, height_px))


def rectangles(boxes: np.ndarray, width_px: int, height_px: int) -> np.ndarray:
    """Return the masks of boxes."""
    y, x = np.mgrid[0:height_px, 0:width_px]
    edges = boxes[:, :, None, None]
    return np.asarray((x >= edges[:, 0]) & (x < edges[:, 2]) & (y >= edges[:, 1]) & (y < edges[:, 3]))


def encode(objects: Instances) -> Any:
    """Return the run lengths of all masks."""
    stacked = np.asfortranarray(np.moveaxis(np.asarray(objects.masks, np.uint8), 0, -1))
    return import_module("pycocotools.mask").encode(stacked)


def dataset(objects: Instances, width_px: int, height_px: int) -> Any:
    """Return the objects of one image as COCO's data set."""
    coco = import_module("pycocotools.coco").COCO()
    area = import_module("pycocotools.mask").area
    encoded = encode(objects)
    rows = []
    for number, (left, top, right, bottom) in enumerate(objects.boxes_px.tolist()):
        mask = encoded[number]
        rows.append(
            {
                "id": number + 1,
                "image_id": 0,
                "category_id": CLASSES.index(objects.labels[number]),
                "bbox": [left, top, right - left, bottom - top],
                "segmentation": mask,
                "area": float(area(mask)),
                "iscrowd": 0,
                "score": float(objects.scores[number]),
            }
        )
    coco.dataset = {
        "images": [{"id": 0, "width": width_px, "height": height_px}],
        "categories": [{"id": number, "name": name} for number, name in enumerate(CLASSES)],
        "annotations": rows,
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
    return coco


def reference(truth: Any, found: Any, kind: str) -> float:
    """Return AP by COCOeval, for all areas and 100 predictions, as ours."""
    with contextlib.redirect_stdout(io.StringIO()):
        judge = import_module("pycocotools.cocoeval").COCOeval(truth, found, kind)
        judge.params.areaRng, judge.params.areaRngLbl = [[0, 1e10]], ["all"]
        judge.params.maxDets = [100]
        judge.evaluate()
        judge.accumulate()
    precision = judge.eval["precision"]
    return float(precision[precision > -1].mean())


def measure(width_px: int, height_px: int, predictions: int, *, masks: bool) -> Row:
    """Return one row: ours, the peer, the ratio and the difference of the values."""
    found, truth = image(width_px, height_px, predictions)
    there, seen = (dataset(one, width_px, height_px) for one in (truth, found))
    kind = "segm" if masks else "bbox"
    ours_us = median_us(lambda: average_precision(found, truth, masks=masks), CALLS)
    peer_us = median_us(lambda: (masks and encode(found), reference(there, seen, kind)), 1)
    difference = average_precision(found, truth, masks=masks) - reference(there, seen, kind)
    return {
        "compared": "masks" if masks else "boxes",
        "image": f"{width_px} x {height_px}",
        "predictions": predictions,
        "ours_us": ours_us,
        "pycocotools_us": peer_us,
        "ratio": peer_us / ours_us,
        "difference": abs(difference),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    install_peers()
    sys.path.append(str(FOLDER))  # behind our own numpy
    rows = [
        measure(*size_px, predictions, masks=masks)
        for masks in (False, True)
        for size_px in SIZES_PX
        for predictions in PREDICTIONS
    ]
    table = Table(title=f"average precision of one image, {OBJECTS} objects")
    for heading in ("compared", "image", "found", "ours us", "peer us", "ratio", "difference"):
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [row[key] for key in ("compared", "image", "predictions")]
        numbers = (f"{row['ours_us']:.0f}", f"{row['pycocotools_us']:.0f}", f"{row['ratio']:.0f}")
        table.add_row(*map(str, cells), *numbers, f"{row['difference']:.0e}")
    Console().print(table)
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
