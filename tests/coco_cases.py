"""Predictions and truth of made-up images, on which average precision is compared with pycocotools."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from embodied_iqa.models.vision.predictions import Instances

WIDTH_PX, HEIGHT_PX = 40, 30
CLASSES = ("cube", "ball", "cup", "plate")
IMAGES = 400
SETS = 40
IMAGES_OF_A_SET = 6


@dataclass(frozen=True, slots=True)
class Case:
    """One image: what is predicted and what is there."""

    predicted: Instances
    truth: Instances


Box = tuple[float, float, float, float]


def instances(rows: list[tuple[str, float, Box, bool]]) -> Instances:
    """Return instances of (label, score, box, crowd); each mask is the ellipse in its box."""
    boxes = np.array([box for _, _, box, _ in rows], float).reshape(-1, 4)
    return Instances(
        labels=tuple(label for label, _, _, _ in rows),
        scores=np.array([score for _, score, _, _ in rows], float),
        boxes_px=boxes,
        masks=np.array([ellipse(box) for box in boxes], bool).reshape(-1, HEIGHT_PX, WIDTH_PX),
        crowd=np.array([crowd for _, _, _, crowd in rows], bool),
    )


def ellipse(box: np.ndarray) -> np.ndarray:
    """Return ``(H, W)`` bool: pixels in the ellipse in a box, empty if the box has no area."""
    left, top, right, bottom = box
    if right <= left or bottom <= top:
        return np.zeros((HEIGHT_PX, WIDTH_PX), bool)
    y, x = np.mgrid[0:HEIGHT_PX, 0:WIDTH_PX] + 0.5
    across = (2 * x - left - right) / (right - left)
    down = (2 * y - top - bottom) / (bottom - top)
    return np.asarray(across**2 + down**2 <= 1.0)


def image(seed: int, make: Callable[[random.Random], tuple[int, int]] | None = None) -> Case:
    """Return an image of a seed: objects, crowd regions, and near, far, double, wrong and empty predictions.

    Args:
        seed: Of everything.
        make: Draws the numbers of objects and of predictions.
    """
    draw = random.Random(seed)
    objects, found = (draw.randrange(7), draw.choice((0, 3, 8, 20))) if make is None else make(draw)
    labels = CLASSES[: draw.randint(1, 4)]
    truth = [(draw.choice(labels), 1.0, _box(draw), draw.random() < 0.15) for _ in range(objects)]
    predicted = [_prediction(draw, labels, truth) for _ in range(found)]
    return Case(instances(predicted), instances(truth))


def crowded(seed: int) -> Case:
    """Return an image with more predictions of a class than count."""
    return image(seed, lambda draw: (draw.randint(1, 6), draw.randint(90, 260)))


def _quarter(value: float) -> float:
    return round(4 * value) / 4


def _box(draw: random.Random) -> Box:
    left, top = _quarter(draw.uniform(0, 30)), _quarter(draw.uniform(0, 20))
    return left, top, left + _quarter(draw.uniform(1, 16)), top + _quarter(draw.uniform(1, 14))


def _prediction(
    draw: random.Random, labels: tuple[str, ...], truth: list[tuple[str, float, Box, bool]]
) -> tuple[str, float, Box, bool]:
    score = round(draw.random(), 1 if draw.random() < 0.5 else 6)  # half of them share their score
    if not truth or draw.random() < 0.25:
        return draw.choice(labels), score, _box(draw), False
    label, _, box, _ = draw.choice(truth)
    reach = draw.choice((0.0, 0.0, 0.5, 2.0))
    left, top, right, bottom = (_quarter(side + draw.uniform(-reach, reach)) for side in box)
    flat = draw.random() < 0.05
    label = draw.choice(labels) if draw.random() < 0.1 else label
    return label, score, (left, top, left if flat else max(left, right), max(top, bottom)), False


@cache
def all_images() -> tuple[Case, ...]:
    """Return the single images; every tenth has too many predictions."""
    return tuple(crowded(seed) if seed % 10 == 9 else image(seed) for seed in range(IMAGES))


def all_sets() -> list[list[Case]]:
    """Return the sets of images."""
    size = IMAGES_OF_A_SET
    return [[image(10_000 + size * number + i) for i in range(size)] for number in range(SETS)]
