"""The embedded vision panel: small classifiers, detectors and segmenters of the cell, in ONNX Runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.models.subjects.backends.panel.format import shrink
from embodied_iqa.models.vision.backends.panel_card import VisionCard, load_card
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.overlap import box_overlap
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask

MODELS: Final = Path(str(files("embodied_iqa.models.vision.backends"))) / "models"
"""Networks and cards that ship with the package."""
LEAST_SCORE: Final = 0.05
"""Predictions with lower scores are left out."""
_SAME_OBJECT: Final = 0.6
"""IoU of boxes from which the prediction with the lower score is left out."""


def load_vision_panel(folder: Path | None = None) -> list[VisionModel]:
    """Load the members of a panel, in the order of their names.

    Args:
        folder: Of networks and cards, as `embodied-iqa train vision-panel` writes them; None for the panel of
            the package.

    Raises:
        InputError: There is no member, or a file is broken.
        MissingDependencyError: ONNX Runtime is not installed.
    """
    place = folder or MODELS
    found = sorted(path.stem for path in place.glob("*.onnx") if path.with_suffix(".json").is_file())
    if not found:
        raise InputError(f"no vision models in {place}", expected="NAME.onnx with NAME.json")
    return [load_member(place, name) for name in found]


def load_member(folder: Path, name: str) -> PanelClassifier | PanelDetector:
    """Load ``NAME.onnx`` with its card ``NAME.json``.

    Raises:
        InputError: A file is missing or broken, or the network is not the card's.
        MissingDependencyError: ONNX Runtime is not installed.
    """
    card = load_card(folder / f"{name}.json")
    try:
        content = (folder / f"{name}.onnx").read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the network of {name}: {error}") from error
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise InputError(f"the network of {name} is not the one of its card", expected=card.sha256)
    network = _Network(card, open_session(content, name))
    return PanelClassifier(network) if card.task is VisionTask.CLASSIFICATION else PanelDetector(network)


class _Network:
    """A session with its card."""

    def __init__(self, card: VisionCard, session: Any) -> None:
        self.card = card
        self._session, self._input = session, session.get_inputs()[0].name
        self.info = VisionModelInfo(
            card.name,
            card.task,
            card.version,
            card.classes,
            card.performance.get("main"),
            card.threshold,
        )

    def run(self, image: NDArray[np.uint8]) -> list[NDArray[Any]]:
        """Return the outputs for one image of any size, without their first dimension."""
        reduced = np.ascontiguousarray(shrink(image, self.card.input_px))
        return [np.asarray(output)[0] for output in self._session.run(None, {self._input: reduced[None]})]


class _Member:
    """A network with its card."""

    def __init__(self, network: _Network) -> None:
        self._network = network

    @property
    def info(self) -> VisionModelInfo:
        """What is known of the model."""
        return self._network.info


class PanelClassifier(_Member):
    """A classifier of the panel: the colour and kind of the object that an image shows."""

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return a `Classification` for each ``(H, W, 3)`` uint8 RGB image."""
        return [self.classify(image) for image in images]

    def classify(self, image: NDArray[np.uint8]) -> Classification:
        """Return the class of one image."""
        (chances,) = self._network.run(image)
        best = int(chances.argmax())
        return Classification(self.info.classes[best], float(chances[best]))


class PanelDetector(_Member):
    """A detector or instance segmenter of the panel."""

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return `Instances` by falling score for each ``(H, W, 3)`` uint8 RGB image.

        Boxes are cut at the border of the image. Masks of segmenters have the image's size.
        """
        return [self.find(image) for image in images]

    def find(self, image: NDArray[np.uint8]) -> Instances:
        """Return the instances in one image."""
        scores, classes, boxes, *drawn = self._network.run(image)
        height, width = image.shape[:2]
        edges = np.clip(boxes, 0, 1).astype(np.float64) * (width, height, width, height)
        kept = _distinct(edges, scores)
        masks = _masks(drawn[0][kept], edges[kept], height, width) if drawn else None
        names = tuple(self.info.classes[number] for number in classes[kept])
        return Instances(names, scores[kept].astype(np.float64), edges[kept], masks)


def _distinct(boxes: NDArray[np.float64], scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows to keep: of several that show the same object, the one with the highest score."""
    overlap = box_overlap(boxes, boxes, np.zeros(len(boxes), bool))
    kept: list[int] = []
    for row in np.flatnonzero(scores >= LEAST_SCORE):
        if not (overlap[row, kept] > _SAME_OBJECT).any():
            kept.append(int(row))
    return np.array(kept, np.int64)


def _masks(
    drawn: NDArray[np.float32], boxes: NDArray[np.float64], height: int, width: int
) -> NDArray[np.bool_]:
    """Enlarge the logits of each mask inside its box.

    Args:
        drawn: ``(N, h, w)`` logits over the whole image.
        boxes: ``(N, 4)`` [px of the image].
        height: Of the image.
        width: Of the image.

    Returns:
        ``(N, height, width)``; false outside the boxes.
    """
    masks = np.zeros((len(drawn), height, width), bool)
    rows, columns = drawn.shape[1:]
    step_x, step_y = columns / width, rows / height
    for mask, logits, box in zip(masks, drawn, boxes, strict=True):
        left, top = np.floor(box[:2]).astype(int)
        right, bottom = np.ceil(box[2:]).astype(int)
        if right <= left or bottom <= top:
            continue
        # the pixel (x, y) shows the place ((x + 0.5) * step - 0.5) of the logits
        place = np.array(
            [
                [step_x, 0, (left + 0.5) * step_x - 0.5],
                [0, step_y, (top + 0.5) * step_y - 0.5],
            ]
        )
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        size = (int(right - left), int(bottom - top))
        enlarged = cv2.warpAffine(logits, place, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        mask[top:bottom, left:right] = enlarged > 0
    return masks
