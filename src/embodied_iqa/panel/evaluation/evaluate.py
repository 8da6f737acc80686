"""Evaluates the panel on unseen scenes, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embodied_iqa.panel.evaluation.clean_scenes import ActedTask, AnsweredTask, act_clean, answer_clean
from embodied_iqa.panel.evaluation.distorted_scenes import DistortedScene, GridSettings, distort_scene
from embodied_iqa.panel.evaluation.task_ranks import RankedTask, ask_ranked
from embodied_iqa.scoring.frequencies import document_frequencies
from embodied_iqa.workers import Workers, result_of

__all__ = ["EvaluationPlan", "PanelEvaluation", "evaluate_panel"]


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """What to do.

    Attributes:
        models: Folder of networks and cards.
        vlas: Names of members.
        vlms: Names of members.
        scenes: Unseen scenes on which members are judged clean; the verbs take turns.
        grid_scenes: How many of them are also distorted.
        distortions: Numbers, ``"01"`` to ``"30"``.
        seed: Of the scenes; not one of the training's.
        workers: Processes.
    """

    models: Path
    vlas: tuple[str, ...]
    vlms: tuple[str, ...]
    scenes: int
    grid_scenes: int
    distortions: tuple[str, ...]
    seed: int
    workers: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class PanelEvaluation:
    """What came of it.

    Attributes:
        plan: What was done.
        acted: By scene, then member.
        answered: Likewise.
        ranked: By scene, then member, then rank.
        distorted: By scene.
    """

    plan: EvaluationPlan
    acted: tuple[ActedTask, ...]
    answered: tuple[AnsweredTask, ...]
    ranked: tuple[RankedTask, ...]
    distorted: tuple[DistortedScene, ...]


def evaluate_panel(plan: EvaluationPlan, tell: Callable[[str, int, int], None]) -> PanelEvaluation:
    """Evaluate; ``tell`` is called with the stage, how much of it is done, and of how much."""
    with Workers(plan.workers) as pool:
        acted = [row for rows in _each(pool, plan, act_clean, plan.vlas, tell) for row in rows]
        answered = [row for rows in _each(pool, plan, answer_clean, plan.vlms, tell) for row in rows]
        ranked = [row for rows in _each(pool, plan, ask_ranked, plan.vlas + plan.vlms, tell) for row in rows]
        distorted = _distorted(pool, plan, answered, tell)
    return PanelEvaluation(plan, tuple(acted), tuple(answered), tuple(ranked), tuple(distorted))


def _each(
    pool: Workers,
    plan: EvaluationPlan,
    job: Callable[[int, int, tuple[str, ...], Path], list[Any]],
    names: tuple[str, ...],
    tell: Callable[[str, int, int], None],
) -> list[list[Any]]:
    if not names:
        return []
    stage = "acting" if job is act_clean else "answering" if job is answer_clean else "five tasks a scene"
    jobs = [pool.submit(job, plan.seed, index, names, plan.models) for index in range(plan.scenes)]
    for count, done in enumerate(as_completed(jobs), start=1):
        result_of(done)
        tell(stage, count, len(jobs))
    return [job.result() for job in jobs]


def _distorted(
    pool: Workers,
    plan: EvaluationPlan,
    answered: Sequence[AnsweredTask],
    tell: Callable[[str, int, int], None],
) -> list[DistortedScene]:
    if not plan.distortions or not plan.grid_scenes:
        return []
    frequencies = {
        name: document_frequencies(row.answer for row in answered if row.member == name) for name in plan.vlms
    }
    settings = GridSettings(plan.seed, plan.vlas, plan.vlms, plan.distortions, plan.models, frequencies)
    jobs = [pool.submit(distort_scene, settings, index) for index in range(plan.grid_scenes)]
    for count, done in enumerate(as_completed(jobs), start=1):
        result_of(done)
        tell("distorting", count, len(jobs))
    return [job.result() for job in jobs]
