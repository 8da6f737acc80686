"""Plan of a benchmark: what its results depend on, and the folder that it is kept in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.user_files.json_files import load_json
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
    """A study of generalization: what a trained metric has not seen in its training."""

    TYPES = "types"
    """Six distortions at a time."""
    SUBJECT = "subject"
    """The subjects whose opinion is predicted."""
    CAMERA = "camera"
    """A view."""


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """What the results depend on, besides the database.

    Attributes:
        metrics: Names; `train:NAME` is trained for each split.
        targets: Scores to compare with.
        train_on: Scores, or names of human databases, that metrics are trained on.
        repeats: Number of splits by reference, with seeds from 0.
        unseen: Studies of generalization.
        human: Human databases, `live:DIR`.
        draws: Of the bootstrap.
        all_views: Also count scores for views that the subject is not made for.
    """

    metrics: tuple[str, ...]
    targets: tuple[Target, ...] = tuple(Target)
    train_on: tuple[str, ...] = (str(Target.DECISION),)
    repeats: int = len(SPLIT_SEEDS)
    unseen: tuple[Unseen, ...] = ()
    human: tuple[str, ...] = ()
    draws: int = 200
    all_views: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= len(SPLIT_SEEDS):
            raise UsageError("wrong number of repeats", expected=f"1 to {len(SPLIT_SEEDS)}", got=self.repeats)
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


def keep_plan(folder: Path, tree: Mapping[str, Any]) -> None:
    """Write the plan to a new folder; in a used one, compare it as `check_plan` does."""
    check_plan(folder, tree)
    if not (folder / PLAN_FILE).is_file():
        write_json_whole(folder / PLAN_FILE, tree)


def check_plan(folder: Path, tree: Mapping[str, Any]) -> None:
    """Check that a folder is new, empty, or holds a benchmark of this plan.

    Args:
        folder: Of the benchmark.
        tree: The plan as plain data.

    Raises:
        UsageError: The folder has another plan; the message names the difference.
        InputError: The folder holds something else.
    """
    file = folder / PLAN_FILE
    if not file.is_file():
        if folder.is_dir() and any(item.name != ".lock" for item in folder.iterdir()):
            raise InputError(f"{folder} is not a benchmark", expected="a new or empty folder")
        return
    found = load_json(file, "the plan")
    other = [name for name in sorted({*tree, *found}) if found.get(name) != tree.get(name)]
    if other:
        shown = "; ".join(f"{name} {_difference(found.get(name), tree.get(name))}" for name in other)
        raise UsageError(
            f"{folder} holds a benchmark of another plan: {shown}", expected="the same, or another --out"
        )


def _difference(before: object, now: object) -> str:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        before, now = ({key: side.get(key) for key in keys} for side in (before, now))
    elif isinstance(before, Sequence) and isinstance(now, Sequence) and not isinstance(now, str):
        before, now = list(before), list(now)
    return f"was {before!r}, is {now!r}"
