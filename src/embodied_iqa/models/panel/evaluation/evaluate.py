"""Evaluation of the panel on unseen scenes, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from embodied_iqa.base.jobs.engine import Engine, EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.models.panel.evaluation.clean_scenes import ActedTask, AnsweredTask, act_clean, answer_clean
from embodied_iqa.models.panel.evaluation.distorted_scenes import (
    DistortedScene,
    DistortionPlan,
    distort_scene,
)
from embodied_iqa.models.panel.evaluation.task_ranks import RankedTask, run_ranked
from embodied_iqa.models.panel.panel_members import EvaluationPlan
from embodied_iqa.models.scoring.frequencies import document_frequencies

_Row = TypeVar("_Row")
_Job: TypeAlias = Callable[[int, int, tuple[str, ...], Path], list[_Row]]
"""Seed, scene, members and their folder to the rows of a scene."""


@dataclass(frozen=True, slots=True, eq=False)
class PanelEvaluation:
    """Results of an evaluation.

    Attributes:
        plan: What was evaluated.
        acted: By scene, then member.
        answered: By scene, then member.
        ranked: By scene, then member, then rank.
        distorted: By scene.
    """

    plan: EvaluationPlan
    acted: tuple[ActedTask, ...]
    answered: tuple[AnsweredTask, ...]
    ranked: tuple[RankedTask, ...]
    distorted: tuple[DistortedScene, ...]


def evaluate_panel(plan: EvaluationPlan, bars: ProgressBars) -> PanelEvaluation:
    """Evaluate the members of a plan, with a bar for each stage."""
    with Engine(EngineOptions(workers=plan.workers)) as engine:

        def each(stage: str, job: _Job[_Row], names: tuple[str, ...]) -> tuple[_Row, ...]:
            scenes = range(plan.scenes) if names else ()
            jobs = [partial(job, plan.seed, index, names, plan.models) for index in scenes]
            return tuple(row for rows in _results(engine, jobs, stage, bars) for row in rows)

        acted = each("acting", act_clean, plan.vlas)
        answered = each("answering", answer_clean, plan.vlms)
        ranked = each("five tasks a scene", run_ranked, plan.vlas + plan.vlms)
        jobs = []
        if plan.distortions:
            distortions = _distortion_plan(plan, answered)
            jobs = [partial(distort_scene, distortions, index) for index in range(plan.grid_scenes)]
        distorted = tuple(_results(engine, jobs, "distorting", bars))
    return PanelEvaluation(plan, acted, answered, ranked, distorted)


def _results(
    engine: Engine, jobs: Sequence[Callable[[], _Row]], stage: str, bars: ProgressBars
) -> Iterator[_Row]:
    """Yield the results in the order of the jobs."""
    for count, row in enumerate(engine.run(jobs, in_order=True), start=1):
        bars.update(stage, count, len(jobs))
        yield row


def _distortion_plan(plan: EvaluationPlan, answered: Sequence[AnsweredTask]) -> DistortionPlan:
    frequencies = {
        name: document_frequencies(row.answer for row in answered if row.member == name) for name in plan.vlms
    }
    return DistortionPlan(plan.seed, plan.vlas, plan.vlms, plan.distortions, plan.models, frequencies)
