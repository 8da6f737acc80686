"""Plan of a benchmark: what its results depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.splits import SPLIT_SEEDS

TRAIN: Final = "train:"
"""Prefix of metrics that are trained anew for each split."""
PLAN_FILE: Final = "plan.json"


class Target(StrEnum):
    """A score that metrics are compared with; mean opinion of the database's VLAs or VLMs."""

    DECISION = "decision"
    POSITION = "position"
    ROTATION = "rotation"
    STATE = "state"
    WRONG_MOTION = "wrong-motion"
    """5 minus the loss by wrong motion: refusals cost nothing."""
    COGNITION = "cognition"
    PRECISION = "precision"
    RECALL = "recall"
    SEMANTICS = "semantics"


class Unseen(StrEnum):
    """A study of generalisation: what a trained metric has not seen in its training."""

    TYPES = "types"
    """Six distortions at a time."""
    SUBJECT = "subject"
    """The subjects whose opinion is predicted."""
    VIEW = "view"
    """A view."""

    @classmethod
    def _missing_(cls, value: object) -> Unseen | None:
        """Return the study of a former name, as earlier results have it."""
        return cls.VIEW if value == "camera" else None


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """What the results depend on, besides the database.

    Attributes:
        metrics: Names; `train:NAME` is trained anew for each split.
        targets: Scores to compare with.
        train_on: Scores, or names of human databases, that metrics are trained on.
        repeats: Number of splits by reference, 8:2, with seeds from 0.
        unseen: Studies of generalisation to what trained metrics have not seen.
        human: Human databases, `live:DIR`.
        draws: Draws of the bootstrap.
        all_views: Also count scores for views that the subject is not made for.
    """

    metrics: tuple[str, ...]
    targets: tuple[Target, ...] = tuple(Target)
    train_on: tuple[str, ...] = (str(Target.DECISION),)
    repeats: int = ranged(len(SPLIT_SEEDS), 1, len(SPLIT_SEEDS))
    unseen: tuple[Unseen, ...] = ()
    human: tuple[str, ...] = ()
    draws: int = ranged(200, 1, math.inf)
    all_views: bool = False

    def __post_init__(self) -> None:
        check_ranges(self)
        for what, names in (("metrics", self.metrics), ("targets", self.targets)):
            if not names or len(set(names)) != len(names):
                raise UsageError(f"wrong {what}", expected="one or more, each once", got=", ".join(names))

    @property
    def zero_shot(self) -> tuple[str, ...]:
        """Metrics that are used as they are."""
        return tuple(name for name in self.metrics if not name.startswith(TRAIN))

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of metrics to train, without the prefix."""
        return tuple(name.removeprefix(TRAIN) for name in self.metrics if name.startswith(TRAIN))
