"""`embodied-iqa subjects vision`: loads vision models, times a prediction of each, and lists them."""

from __future__ import annotations

import argparse
import dataclasses
import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.reference import load_vision_models

_TIMED: Final = 3
_SIZE_PX: Final = (480, 640, 3)


@dataclass(frozen=True, slots=True)
class _Row:
    """A model that runs here.

    Attributes:
        info: What is known of it.
        prediction_ms: Time of a prediction on a 640 x 480 image of noise, the best of three [ms].
    """

    info: VisionModelInfo
    prediction_ms: float


def list_vision_models(arguments: argparse.Namespace) -> int:
    """Print the models.

    Raises:
        UserError: One of them cannot be loaded or fails.
    """
    rows = [_Row(model.info, _time_ms(model)) for model in load_vision_models(arguments.models)]
    if arguments.json:
        records = [dataclasses.asdict(row.info) | {"prediction_ms": row.prediction_ms} for row in rows]
        print_json(records)
        return 0
    numbers = ("classes", "performance", "threshold", "ms")
    table = table_of("name", "task", "version", *numbers, right=numbers)
    for row in rows:
        info = row.info
        performance = "not measured" if info.performance is None else f"{info.performance:.3f}"
        cells = (len(info.classes), performance, f"{info.threshold:g}", f"{row.prediction_ms:.1f}")
        table.add_row(info.name, info.task, info.version, *map(str, cells))
    console().print(table)
    return 0


def _time_ms(model: VisionModel) -> float:
    image = np.random.default_rng(0).integers(0, 256, _SIZE_PX, np.uint8)
    taken_ms = []
    for _ in range(_TIMED):
        began_s = time.perf_counter()
        model.predict([image])
        taken_ms.append(1e3 * (time.perf_counter() - began_s))
    return min(taken_ms)
