"""The panel's evaluation as numbers: shares with intervals, medians, agreement, graded response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from embodied_iqa.panel.evaluation.clean_scenes import ActedTask, AnsweredTask
from embodied_iqa.panel.evaluation.distorted_scenes import DistortedScene
from embodied_iqa.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.panel.evaluation.task_ranks import RankedTask
from embodied_iqa.scoring.cognition import score_cognition
from embodied_iqa.scoring.frequencies import document_frequencies
from embodied_iqa.scoring.proportions import Share, wilson
from embodied_iqa.tasks.task import MAX_RANK

__all__ = [
    "Agreement",
    "GradedResponse",
    "RankRow",
    "VlaRow",
    "VlmRow",
    "agreement",
    "criterion_check",
    "graded_responses",
    "rank_rows",
    "share_by",
    "vla_rows",
    "vlm_rows",
]

Array = NDArray[np.float64]
_LEAST_DIFFERENT: Final = 3
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class VlaRow:
    """One VLA on clean pictures.

    Attributes:
        member: Its name.
        success: By physics, over all tasks.
        verb_mean: Mean over the verbs of their success shares.
        geometric: By the geometric criterion.
        acted: Share of the tasks that it acted on.
        median_mm: Median position error of its plans.
        p90_mm: Its 90th percentile.
        median_turn_deg: Median of the largest error of turn.
    """

    member: str
    success: Share
    verb_mean: float
    geometric: Share
    acted: Share
    median_mm: float
    p90_mm: float
    median_turn_deg: float


@dataclass(frozen=True, slots=True)
class VlmRow:
    """One VLM on clean pictures.

    Attributes:
        member: Its name.
        bleu: Mean sentence BLEU against the true answers.
        exact: Share of answers that are right to the word.
        swapped_bleu: The same of what it says to another scene's picture, against the truth of its own.
        changed: How often it changes its answer where the true answers to both pictures differ.
        swapped_right: Mean BLEU of what it says to the other picture, against the truth of that one.
    """

    member: str
    bleu: float
    exact: Share
    swapped_bleu: float
    changed: Share
    swapped_right: float


@dataclass(frozen=True, slots=True)
class GradedResponse:
    """Success of all VLAs together under one distortion.

    Attributes:
        distortion: Its number.
        shares: Level 1 to 5.
        clean: The same scenes and members undistorted.
        graded: Whether success falls, within the intervals.
    """

    distortion: str
    shares: tuple[Share, ...]
    clean: Share
    graded: bool


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Rank correlation between members.

    Attributes:
        members: Names.
        over_all: ``(M, M)`` SRCC over all scenes and conditions.
        within: ``(M, M)`` mean SRCC over scenes within one condition, NaN where nothing varies.
    """

    members: tuple[str, ...]
    over_all: Array
    within: Array


def vla_rows(acted: Sequence[ActedTask]) -> list[VlaRow]:
    """Summarise every VLA."""
    rows = []
    for member, tasks in _grouped(acted, lambda task: task.member).items():
        moved = [task for task in tasks if task.acted]
        errors_mm = np.array([task.position_mm for task in moved] or [np.nan])
        turns = np.array([task.turn_deg for task in moved] or [np.nan])
        by_verb = share_by(tasks, lambda task: str(task.verb))
        rows.append(
            VlaRow(
                member,
                _share(task.success for task in tasks),
                float(np.mean([share.value for share in by_verb.values()])),
                _share(task.geometric for task in tasks),
                _share(task.acted for task in tasks),
                float(np.median(errors_mm)),
                float(np.percentile(errors_mm, 90)),
                float(np.median(turns)),
            )
        )
    return rows


def share_by(tasks: Iterable[ActedTask], key: Callable[[ActedTask], str]) -> dict[str, Share]:
    """Return physical success by a property of the task, in alphabetical order."""
    groups = _grouped(tasks, key)
    return {name: _share(task.success for task in groups[name]) for name in sorted(groups)}


def vlm_rows(answered: Sequence[AnsweredTask]) -> list[VlmRow]:
    """Summarise every VLM."""
    rows = []
    for member, tasks in _grouped(answered, lambda task: task.member).items():
        frequencies = document_frequencies(task.truth for task in tasks)

        def bleu(answer: str, truth: str, known: object = frequencies) -> float:
            return score_cognition(answer, truth, known).bleu  # type: ignore[arg-type]

        different = [task for task in tasks if task.truth != task.swapped_truth]
        rows.append(
            VlmRow(
                member,
                float(np.mean([bleu(task.answer, task.truth) for task in tasks])),
                _share(task.answer == task.truth for task in tasks),
                float(np.mean([bleu(task.swapped, task.truth) for task in different] or [np.nan])),
                _share(task.swapped != task.answer for task in different or tasks),
                float(np.mean([bleu(task.swapped, task.swapped_truth) for task in tasks])),
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class RankRow:
    """One member on tasks of rank 1 to 5; of the fifth the first step counts.

    Attributes:
        member: Its name.
        scenes: Number of scenes with five tasks for its camera.
        shares: VLA: share of the plans that would do, by the geometric criterion; else empty.
        bleu: VLM: mean sentence BLEU against the true answers; else empty.
    """

    member: str
    scenes: int
    shares: tuple[Share, ...]
    bleu: tuple[float, ...]


def rank_rows(ranked: Sequence[RankedTask]) -> list[RankRow]:
    """Summarise every member by the rank of its tasks."""
    rows = []
    for member, tasks in _grouped(ranked, lambda task: task.member).items():
        by_rank = [[task for task in tasks if task.rank == rank] for rank in range(1, MAX_RANK + 1)]
        scenes = len({task.scene for task in tasks})
        if any(task.truth for task in tasks):
            known = document_frequencies(task.truth for task in tasks)
            bleu = tuple(
                float(np.mean([score_cognition(task.answer, task.truth, known).bleu for task in part]))
                for part in by_rank
            )
            rows.append(RankRow(member, scenes, (), bleu))
        else:
            shares = tuple(_share(task.done for task in part) for part in by_rank)
            rows.append(RankRow(member, scenes, shares, ()))
    return rows


def graded_responses(evaluation: PanelEvaluation) -> list[GradedResponse]:
    """Return success over the levels of every distortion, all VLAs together.

    Graded: no level succeeds more often than a milder one (or the clean picture) beyond both 95 % intervals,
    and the severest level is below clean.
    """
    scenes = evaluation.distorted
    if not scenes or not evaluation.plan.vlas:
        return []
    drawn = {scene.index for scene in scenes}
    clean = _share(task.geometric for task in evaluation.acted if task.scene in drawn)
    success = np.stack([scene.success for scene in scenes])
    responses = []
    for which, distortion in enumerate(evaluation.plan.distortions):
        shares = tuple(
            wilson(int(success[:, :, which, level].sum()), success[:, :, which, level].size)
            for level in range(success.shape[3])
        )
        responses.append(GradedResponse(distortion, shares, clean, _falls((clean, *shares))))
    return responses


def _falls(shares: Sequence[Share]) -> bool:
    rises = any(
        later.low > earlier.high for index, earlier in enumerate(shares) for later in shares[index + 1 :]
    )
    return not rises and shares[-1].value < shares[0].value


def agreement(evaluation: PanelEvaluation) -> Agreement:
    """Correlate how strongly pictures hurt one member with how strongly they hurt another."""
    scenes = evaluation.distorted
    members = (*evaluation.plan.vlas, *evaluation.plan.vlms)
    hurt = np.stack([_harm(scene) for scene in scenes])  # (N, M, D, 5)
    count = len(members)
    over_all, within = np.eye(count), np.eye(count)
    for one in range(count):
        for other in range(one):
            first, second = hurt[:, one], hurt[:, other]
            over_all[one, other] = over_all[other, one] = _srcc(first.ravel(), second.ravel())
            places = np.ndindex(*first.shape[1:])
            each = [_srcc(first[:, *place], second[:, *place]) for place in places]
            known = [value for value in each if np.isfinite(value)]
            within[one, other] = within[other, one] = float(np.mean(known)) if known else np.nan
    return Agreement(members, over_all, within)


def _harm(scene: DistortedScene) -> Array:
    return np.concatenate([scene.shift_mm, 1.0 - scene.cognition])


def _srcc(first: Array, second: Array) -> float:
    if len(np.unique(first)) < _LEAST_DIFFERENT or len(np.unique(second)) < _LEAST_DIFFERENT:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def criterion_check(evaluation: PanelEvaluation) -> tuple[Share, int]:
    """Return how often geometry and physics agree, and on how many plans both were asked."""
    pairs = [(task.geometric, task.success) for task in evaluation.acted]
    pairs += [pair for scene in evaluation.distorted for pair in scene.checked]
    return _share(geometric == physical for geometric, physical in pairs), len(pairs)


def _share(verdicts: Iterable[bool]) -> Share:
    values = list(verdicts)
    return wilson(sum(values), len(values))


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
