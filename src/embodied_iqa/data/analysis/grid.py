"""The scores of a database as arrays: pairs of images by subjects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.catalogue.entry import Role

Array = NDArray[np.float64]
Words = NDArray[np.str_]


class Group(StrEnum):
    """Kind of score, and of the subjects that get it: VLMs or VLAs."""

    COGNITION = "cognition"
    DECISION = "decision"

    @property
    def role(self) -> Role:
        """Role of the group's subjects."""
        return Role.VLM if self is Group.COGNITION else Role.VLA


PARTS: Final[Mapping[Group, tuple[str, str, str]]] = {
    Group.COGNITION: ("precision", "recall", "semantics"),
    Group.DECISION: ("position", "rotation", "state"),
}
"""The three parts of a score, in the paper's order; semantics is CIDEr divided by its maximum."""

LOSSES: Final = ("refused", "refusal_loss", "wrong_motion_loss")
"""Of decisions: tasks without a motion because the policy saw no target, and where the score was lost."""

TASKS_OF_SCALE: Final = 5
"""Scores are sums over this many tasks; for another number of tasks, the mean times this."""


@dataclass(frozen=True, slots=True)
class PairTable:
    """Pairs of a reference and its distorted image; all arrays ``(pairs,)``, ordered by `pair_ids`.

    Attributes:
        pair_ids: Each once.
        reference_ids: Of the reference image.
        distortion_ids: Two digits.
        levels: 1 (mild) to 5 (severe).
        labels: Value of each property, such as `view`; empty if unknown.
    """

    pair_ids: Words
    reference_ids: Words
    distortion_ids: Words
    levels: NDArray[np.int64]
    labels: Mapping[str, Words]

    def __post_init__(self) -> None:
        columns = (self.reference_ids, self.distortion_ids, self.levels, *self.labels.values())
        if any(len(column) != len(self.pair_ids) for column in columns):
            raise InputError("columns of pairs differ in length", expected=f"{len(self.pair_ids)} rows")

    def __len__(self) -> int:
        return len(self.pair_ids)


def pair_kinds(pairs: PairTable, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return distortion and level of some pairs, as ``12:3``."""
    columns = pairs.distortion_ids[rows].tolist(), pairs.levels[rows].tolist()
    return tuple(f"{distortion}:{level}" for distortion, level in zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class GroupScores:
    """Scores of the subjects of one group; higher is better, NaN unless all tasks of a pair were scored.

    Attributes:
        group: The group.
        subjects: Names, in order of the columns.
        parts: ``(pairs, subjects)`` in [0, 5] of each part.
        total: ``(pairs, subjects)`` in [0, 5], the score itself.
        missing: ``(subjects,)`` number of pairs without the scores of all tasks.
        elsewhere: ``(pairs, subjects)``, True for answers that do not count: the subject is made for other
            views.
        losses: ``(pairs, subjects)`` in [0, 5] of each of `LOSSES`, lower is better; the two losses are what
            `total` lacks of 5. Only of decisions.
    """

    group: Group
    subjects: tuple[str, ...]
    parts: Mapping[str, Array]
    total: Array
    missing: NDArray[np.int64]
    elsewhere: NDArray[np.bool_]
    losses: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ViewCount:
    """Number of subjects that answered about the images of one view.

    Attributes:
        view: The view.
        references: Number of references of this view.
        answered: Number of subjects of each group that answered.
        counted: Number of those whose answers count.
    """

    view: str
    references: int
    answered: Mapping[Group, int]
    counted: Mapping[Group, int]


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """The scores of a database.

    Attributes:
        pairs: The rows of all score arrays.
        groups: Scores by group; a group without a subject that counts is absent.
        views: By view of the references.
        all_views: Whether subjects also count for views that they are not made for.
    """

    pairs: PairTable
    groups: Mapping[Group, GroupScores]
    views: tuple[ViewCount, ...] = ()
    all_views: bool = False
