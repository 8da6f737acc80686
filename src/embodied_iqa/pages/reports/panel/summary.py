"""Results of an evaluation of the panel: success with intervals, errors, agreement, graded response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from embodied_iqa.models.panel.evaluation.clean_scenes import ActedTask, AnsweredTask
from embodied_iqa.models.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.models.panel.evaluation.task_ranks import RankedTask
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.frequencies import DocumentFrequencies, document_frequencies
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.world.tasks.task import MAX_RANK

Array = NDArray[np.float64]
_LEAST_DIFFERENT: Final = 3
_WEAK: Final = 0.75
"""Success below which a verb is reported as weak."""
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class VlaRow:
    """One VLA on clean images.

    Attributes:
        member: Name.
        success: By physics, over all tasks.
        verb_mean: Mean over the verbs of their success shares.
        geometric: By the geometric criterion.
        acted: Share of the tasks on which it acted.
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
    """One VLM on clean images.

    Attributes:
        member: Name.
        bleu: Mean sentence BLEU against the true answers.
        exact: Share of answers that equal the truth word for word.
        swapped_bleu: Mean BLEU of its answers to another scene's image, against the truth of this scene.
        changed: How often its answer changes when the true answers to both images differ.
        swapped_right: Mean BLEU of its answers to the other image, against the truth of that image.
    """

    member: str
    bleu: float
    exact: Share
    swapped_bleu: float
    changed: Share
    swapped_right: float


@dataclass(frozen=True, slots=True)
class RankRow:
    """One member on tasks of rank 1 to 5; of the fifth, only the first step counts.

    Attributes:
        member: Name.
        scenes: Number of scenes with five tasks for its camera.
        shares: VLA: success of its plans by the geometric criterion; else empty.
        bleu: VLM: mean sentence BLEU against the true answers; else empty.
    """

    member: str
    scenes: int
    shares: tuple[Share, ...]
    bleu: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GradedResponse:
    """Success of all VLAs together under one distortion.

    Attributes:
        distortion: Its number.
        shares: Level 1 to 5.
        clean: The same scenes and members undistorted.
        graded: Whether success falls, within the intervals.
        refused: Share of the plans that were refused for want of a target, level 1 to 5.
    """

    distortion: str
    shares: tuple[Share, ...]
    clean: Share
    graded: bool
    refused: tuple[float, ...]


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
        turns_deg = np.array([task.turn_deg for task in moved] or [np.nan])
        rows.append(
            VlaRow(
                member,
                _share(task.success for task in tasks),
                float(np.mean([share.value for share in success_by(tasks).values()])),
                _share(task.geometric for task in tasks),
                _share(task.acted for task in tasks),
                float(np.median(errors_mm)),
                float(np.percentile(errors_mm, 90)),
                float(np.median(turns_deg)),
            )
        )
    return rows


def success_by(
    tasks: Iterable[ActedTask],
    key: Callable[[ActedTask], str] = lambda task: str(task.verb),
    member: str | None = None,
) -> dict[str, Share]:
    """Return success by physics for each value of a property, in alphabetical order.

    Args:
        tasks: Of one or several members.
        key: The property; by default the verb.
        member: Only tasks of this member.
    """
    groups = _grouped((task for task in tasks if member in {None, task.member}), key)
    return {name: _share(task.success for task in groups[name]) for name in sorted(groups)}


def weak_verbs(tasks: Iterable[ActedTask], member: str) -> dict[str, Share]:
    """Return the verbs on which a member succeeds in less than 75 % of the tasks."""
    return {verb: share for verb, share in success_by(tasks, member=member).items() if share.value < _WEAK}


def vlm_rows(answered: Sequence[AnsweredTask]) -> list[VlmRow]:
    """Summarise every VLM."""
    rows = []
    for member, tasks in _grouped(answered, lambda task: task.member).items():
        known = document_frequencies(task.truth for task in tasks)
        different = [task for task in tasks if task.truth != task.swapped_truth]
        rows.append(
            VlmRow(
                member,
                _mean_bleu(((task.answer, task.truth) for task in tasks), known),
                _share(task.answer == task.truth for task in tasks),
                _mean_bleu(((task.swapped, task.truth) for task in different), known),
                _share(task.swapped != task.answer for task in different or tasks),
                _mean_bleu(((task.swapped, task.swapped_truth) for task in tasks), known),
            )
        )
    return rows


def rank_rows(ranked: Sequence[RankedTask]) -> list[RankRow]:
    """Summarise every member by the rank of its tasks."""
    rows = []
    for member, tasks in _grouped(ranked, lambda task: task.member).items():
        by_rank = [[task for task in tasks if task.rank == rank] for rank in range(1, MAX_RANK + 1)]
        shares: tuple[Share, ...] = ()
        bleu: tuple[float, ...] = ()
        if any(task.truth for task in tasks):
            known = document_frequencies(task.truth for task in tasks)
            bleu = tuple(_mean_bleu(((task.answer, task.truth) for task in part), known) for part in by_rank)
        else:
            shares = tuple(_share(task.done for task in part) for part in by_rank)
        rows.append(RankRow(member, len({task.scene for task in tasks}), shares, bleu))
    return rows


def graded_responses(evaluation: PanelEvaluation) -> list[GradedResponse]:
    """Return success over the levels of every distortion, all VLAs together.

    Graded: no level succeeds more often than a milder one (or the clean image) beyond both 95 % intervals,
    and the severest level is below clean.
    """
    scenes = evaluation.distorted
    if not scenes or not evaluation.plan.vlas:
        return []
    drawn = {scene.index for scene in scenes}
    clean = _share(task.geometric for task in evaluation.acted if task.scene in drawn)
    success = np.stack([scene.success for scene in scenes])
    refused = np.stack([scene.refused for scene in scenes]).mean(axis=(0, 1))
    responses = []
    for which, distortion in enumerate(evaluation.plan.distortions):
        shares = tuple(
            wilson(int(success[:, :, which, level].sum()), success[:, :, which, level].size)
            for level in range(success.shape[3])
        )
        falls = _falls((clean, *shares))
        responses.append(GradedResponse(distortion, shares, clean, falls, tuple(refused[which].tolist())))
    return responses


def _falls(shares: Sequence[Share]) -> bool:
    rises = any(later.low > earlier.high for earlier, later in combinations(shares, 2))
    return not rises and shares[-1].value < shares[0].value


def agreement(evaluation: PanelEvaluation) -> Agreement:
    """Correlate the harm of distortions to one member with the harm to another."""
    scenes = evaluation.distorted
    members = (*evaluation.plan.vlas, *evaluation.plan.vlms)
    hurt = np.stack([np.concatenate([one.shift_mm, 1.0 - one.cognition]) for one in scenes])  # (N, M, D, 5)
    over_all, within = np.eye(len(members)), np.eye(len(members))
    for one, other in combinations(range(len(members)), 2):
        first, second = hurt[:, one], hurt[:, other]
        over_all[one, other] = over_all[other, one] = _srcc(first.ravel(), second.ravel())
        each = [_srcc(first[:, *place], second[:, *place]) for place in np.ndindex(*first.shape[1:])]
        known = [value for value in each if np.isfinite(value)]
        within[one, other] = within[other, one] = float(np.mean(known)) if known else np.nan
    return Agreement(members, over_all, within)


def _srcc(first: Array, second: Array) -> float:
    if len(np.unique(first)) < _LEAST_DIFFERENT or len(np.unique(second)) < _LEAST_DIFFERENT:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def criterion_check(evaluation: PanelEvaluation) -> tuple[Share, int]:
    """Return how often geometry and physics agree, and the number of plans that both judged."""
    pairs = [(task.geometric, task.success) for task in evaluation.acted]
    pairs += [pair for scene in evaluation.distorted for pair in scene.checked]
    return _share(geometric == physical for geometric, physical in pairs), len(pairs)


def _share(verdicts: Iterable[bool]) -> Share:
    values = list(verdicts)
    return wilson(sum(values), len(values))


def _mean_bleu(pairs: Iterable[tuple[str, str]], known: DocumentFrequencies) -> float:
    """Return the mean over pairs of answer and truth; NaN without a pair."""
    values = [score_cognition(answer, truth, known).bleu for answer, truth in pairs]
    return float(np.mean(values)) if values else float("nan")


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
