"""Vision models by a rule, for builds in other processes; an environment variable makes the detector fail."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.vision.model import VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask

MODELS = "python:miqa_vision:make"
FAULT = "MIQA_VISION_FAULT"
"""``raises``, ``nan`` or ``nothing``: what the detector does on images that are more blue than red."""
HEIGHT_PX, WIDTH_PX = 48, 64
CLS, DET, INS = VisionTask
Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Reddish:
    """Sees the pixels in which red exceeds green by a margin."""

    name: str
    task: VisionTask
    margin: int

    @property
    def info(self) -> VisionModelInfo:
        """What is known of the model."""
        classes = ("cube", "ball", "red cube")  # the last one is how the cell names what classifiers see
        return VisionModelInfo(self.name, self.task, "1", classes, 0.5 + self.margin / 1000)

    def predict(self, images: Sequence[Image]) -> list[Prediction]:
        """Return one prediction for each image."""
        return [self._predict(image) for image in images]

    def _predict(self, rgb: Image) -> Prediction:
        mask = rgb[..., 0].astype(int) - rgb[..., 1] > self.margin
        if self.task is CLS:
            return Classification("cube" if mask.mean() > 0.1 else "ball")
        fault = os.environ.get(FAULT, "") if self.task is DET and _blue(rgb) else ""
        if fault == "raises":
            raise RuntimeError("no such operator\nand more")
        box = [float(side) for side in cv2.boundingRect(mask.astype(np.uint8))]
        left, top, width, height = [np.nan] * 4 if fault == "nan" else box
        count = int(fault != "nothing" and (width > 0 or fault == "nan"))
        boxes = np.array([[left, top, left + width, top + height]])[:count]
        masks = mask[None][:count] if self.task is INS else None
        return Instances(("cube",) * count, np.full(count, 0.9), boxes.reshape(-1, 4), masks)


def _blue(rgb: Image) -> bool:
    return bool(rgb[..., 2].mean() > rgb[..., 0].mean())


def make() -> list[Reddish]:
    """Return two models of each task; the factory of `MODELS`."""
    return [Reddish(f"{task}-{margin}", task, margin) for task in VisionTask for margin in (60, 100)]


def write_coco(folder: Path, count: int = 4) -> list[str]:
    """Write images of a red rectangle, the last one on blue; return the arguments that name them."""
    for number in range(count):
        rgb = np.random.default_rng(number).integers(60, 100, (HEIGHT_PX, WIDTH_PX, 3), np.uint8)
        rgb[..., 2] += np.uint8(150 * (number == count - 1))
        rgb[12:36, 16:44] = (210, 50, 50)
        write_image(folder / f"p{number}.png", rgb)
    corners = [16, 12, 43, 12, 43, 35, 16, 35]
    tree = {
        "images": [{"id": number, "file_name": f"p{number}.png"} for number in range(count)],
        "categories": [{"id": 1, "name": "cube"}],
        "annotations": [
            {"image_id": number, "category_id": 1, "bbox": [16, 12, 28, 24], "segmentation": [corners]}
            for number in range(count)
        ],
    }
    (folder / "instances.json").write_text(json.dumps(tree), encoding="utf-8")
    return ["--coco", str(folder / "instances.json"), "--images", str(folder)]
