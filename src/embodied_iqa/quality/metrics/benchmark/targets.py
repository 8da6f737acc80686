"""Scores of a database that metrics are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.analysis.breakdowns import columns_of
from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group, GroupScores, PairTable, ScoreGrid
from embodied_iqa.data.analysis.jnd import Third, thirds
from embodied_iqa.data.analysis.means import finite_means
from embodied_iqa.data.analysis.noise_ceiling import noise_ceiling
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target

Array = NDArray[np.float64]
ALL: Final = "all"
"""Property and value of the subset of all pairs."""
THIRD: Final = "JND third"
_GROUPS: Final[Mapping[Target, Group]] = {
    target: Group.COGNITION
    if target in {Target.COGNITION, Target.PRECISION, Target.RECALL, Target.SEMANTICS}
    else Group.DECISION
    for target in Target
}


@dataclass(frozen=True, slots=True)
class TargetScores:
    """A score, by subject.

    Attributes:
        target: The score.
        group: Of its subjects.
        subjects: K names.
        by_subject: ``(pairs, K)`` in [0, 5], higher is better, NaN for missing scores.
        elsewhere: ``(pairs, K)``, True for pairs of views that the subject is not made for.
    """

    target: Target
    group: Group
    subjects: tuple[str, ...]
    by_subject: Array
    elsewhere: NDArray[np.bool_]

    def opinion(self, subjects: Sequence[str] = ()) -> Array:
        """Return ``(pairs,)`` the mean over some subjects, by default all."""
        columns = [self.subjects.index(name) for name in subjects or self.subjects]
        return finite_means(self.by_subject[:, columns], axis=1)

    def remarks(self) -> tuple[str, ...]:
        """Say which pairs and subjects lack answers, and which subjects give the same score always.

        The name of the score is left out, see `remarks_of`.
        """
        found = mean_opinion(self.by_subject, self.elsewhere)
        counts = {
            "lack the answers of some subjects; the mean is over the others": found.partial,
            "lack every answer; left out": found.absent,
            "are of a view that no subject is made for; left out without --all-views": found.unseen,
        }
        pairs = [f"{count:,} pairs {what}." for what, count in counts.items() if count]
        constant = [f"{self.subjects[at]} gives every pair the same." for at in found.constant]
        return (*pairs, *self._missing(), *constant, *filter(None, [self.without_ceiling()]))

    def without_ceiling(self) -> str:
        """Say why the score has no noise ceiling; empty where it has one."""
        reason = noise_ceiling(self.by_subject).reason
        return f"no noise ceiling: {reason}." if reason else ""

    def _missing(self) -> Iterator[str]:
        """Say how many of its pairs a subject did not score."""
        own = ~self.elsewhere
        missing = (own & ~np.isfinite(self.by_subject)).sum(axis=0).tolist()
        alike: dict[tuple[int, int], list[str]] = {}
        for subject, count, of in zip(self.subjects, missing, own.sum(axis=0).tolist(), strict=True):
            alike.setdefault((count, of), []).append(subject)
        for (count, of), names in alike.items():
            if count:
                has, its = ("has", "its") if len(names) == 1 else ("have", "their")
                yield f"{', '.join(names)} {has} no score of {count:,} of {its} {of:,} pairs."


def remarks_of(targets: Iterable[TargetScores]) -> tuple[str, ...]:
    """Return the remarks of some scores, each once with the scores that it is about."""
    about: dict[str, list[str]] = {}
    for target in targets:
        for remark in target.remarks():
            about.setdefault(remark, []).append(str(target.target))
    return tuple(f"{', '.join(names)}: {remark}" for remark, names in about.items())


@dataclass(frozen=True, slots=True)
class Subset:
    """Pairs that share a value of a property.

    Attributes:
        by: The property: `ALL`, "distortion", "view", ...
        value: The value.
        rows: ``(pairs,)``.
        pairs: Number of its pairs with a score.
        references: Number of their references.
        ceiling: SRCC that a predictor without noise reaches; NaN where the subjects do not agree.
    """

    by: str
    value: str
    rows: NDArray[np.bool_]
    pairs: int
    references: int
    ceiling: float


def target_scores(grid: ScoreGrid, targets: Sequence[Target]) -> tuple[TargetScores, ...]:
    """Return the wanted scores.

    Raises:
        UsageError: The database has no subject of that kind.
    """
    missing = [target for target in targets if _GROUPS[target] not in grid.groups]
    if missing:
        available = [str(target) for target in Target if _GROUPS[target] in grid.groups]
        raise UsageError("the database has no such scores", got=", ".join(missing), available=available)
    return tuple(_target(target, grid.groups[_GROUPS[target]]) for target in targets)


def available_targets(grid: ScoreGrid) -> tuple[Target, ...]:
    """Return the scores that a database has."""
    return tuple(target for target in Target if _GROUPS[target] in grid.groups)


def _target(target: Target, scores: GroupScores) -> TargetScores:
    if target in {Target.DECISION, Target.COGNITION}:
        values = scores.total
    elif target is Target.WRONG_MOTION:
        values = TASKS_OF_SCALE - scores.losses["wrong_motion_loss"]
    else:
        values = scores.parts[str(target)]
    return TargetScores(target, scores.group, scores.subjects, values, scores.elsewhere)


def subsets_of(scores: TargetScores, pairs: PairTable) -> tuple[Subset, ...]:
    """Return all pairs, and the pairs by each property; subsets without a score are left out.

    The medium third of the scores is left out: within it the subjects do not agree with each other, so its
    noise ceiling is undefined and no correlation there means anything.
    """
    opinion = scores.opinion()
    labels = thirds(opinion).labels
    columns = {**columns_of(pairs), THIRD: np.where(labels == Third.MEDIUM, "", labels)}
    masks = [(ALL, ALL, np.ones(len(pairs), np.bool_))]
    for by, values in columns.items():
        masks += [(by, str(value), values == value) for value in np.unique(values) if value]
    known = np.isfinite(opinion)
    return tuple(
        Subset(
            by,
            value,
            rows,
            int((rows & known).sum()),
            len(np.unique(pairs.reference_ids[rows & known])),
            noise_ceiling(scores.by_subject[rows]).ceiling,
        )
        for by, value, rows in masks
        if (rows & known).any()
    )
