"""What a metric is trained on, and where it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.config import ranged
from embodied_iqa.base.number_range import MAX_SEED


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a metric is trained on, and where it is written.

    Attributes:
        database: With scores, or with labels of machine vision; nothing is written to it.
        out: New folder, or a training to continue.
        target: Decision, position, ..., cognition, metric:NAME, or miqa:TASK:LABEL of a database of
            `miqa build`.
        split: Split by reference, 0 to 9.
        seed: Of everything random.
        workers: Processes that measure images.
        epochs: At most (default: as in the recipe, fewer on many images).
        all_views: Also count scores for views that the subject is not made for.
    """

    database: Path
    out: Path
    target: str = "decision"
    split: int = ranged(0, 0, 9)
    seed: int = ranged(0, 0, MAX_SEED)
    workers: int = ranged(1, 1, math.inf)
    epochs: int | None = ranged(None, 1, math.inf)
    all_views: bool = False
