"""Evaluation of the panel on unseen scenes, clean and distorted, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.jobs.engine import Engine, EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.imaging.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.evaluation.clean_scenes import (
    ActedTask,
    AnsweredTask,
    DrawnScene,
    act_clean,
    answer_clean,
    drawn_scene,
    loaded_vla,
    loaded_vlm,
    succeeds,
)
from embodied_iqa.models.panel.evaluation.task_ranks import RankedTask, run_ranked
from embodied_iqa.models.panel.panel_members import EvaluationPlan
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.frequencies import DocumentFrequencies, document_frequencies
from embodied_iqa.models.subjects.backends.panel.vla import LearnedPlan
from embodied_iqa.world.simulation.world import World

STILL_MM: Final = 300.0
"""Shift (mm) of a plan that is not made, and upper limit of every shift."""
_CHECKS: Final = 6
"""Plans per scene that physics also judges."""
Images = Mapping[View, NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class DistortionPlan:
    """Members and distortions, the same for every scene.

    Attributes:
        seed: Of scenes and distortions.
        vlas: Names of members.
        vlms: Names of members.
        distortions: Numbers, ``"01"`` to ``"30"``.
        models: Folder of networks and cards.
        frequencies: Document frequencies of the answers of each VLM to undistorted images.
    """

    seed: int
    vlas: tuple[str, ...]
    vlms: tuple[str, ...]
    distortions: tuple[str, ...]
    models: Path
    frequencies: Mapping[str, DocumentFrequencies]


@dataclass(frozen=True, slots=True, eq=False)
class DistortedScene:
    """Results on the main task of one scene under ``D`` distortions in five levels.

    Attributes:
        index: Number of the scene.
        success: ``(VLAs, D, 5)`` bool, by the geometric criterion.
        refused: ``(VLAs, D, 5)`` bool, no plan for want of a target, and one on the undistorted image; all
            other failures are wrong motions.
        shift_mm: ``(VLAs, D, 5)`` mean distance of the waypoints from those on the undistorted image.
        cognition: ``(VLMs, D, 5)`` score of the answer against that to the undistorted image, in [0, 1].
        checked: Pairs of verdicts, by geometry and by physics, on a few conditions drawn at random.
    """

    index: int
    success: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    shift_mm: NDArray[np.float64]
    cognition: NDArray[np.float64]
    checked: tuple[tuple[bool, bool], ...]


def distort_scene(plan: DistortionPlan, index: int) -> DistortedScene:
    """Run one scene with all members under all distortions."""
    drawn = drawn_scene(plan.seed, index)
    clean: Images = {view: frame.rgb for view, frame in drawn.frames.items()}
    clean_plans, clean_answers = _plans(plan, drawn, clean), _answers(plan, drawn, clean)
    expert, task = drawn.expert, drawn.task
    shape = (len(plan.distortions), len(LEVELS))
    success, refused = np.zeros((2, len(plan.vlas), *shape), np.bool_)
    shift_mm = np.zeros((len(plan.vlas), *shape))
    cognition = np.zeros((len(plan.vlms), *shape))
    plans: dict[tuple[int, int, int], LearnedPlan] = {}
    for which, level in np.ndindex(*shape):
        spec = DistortionSpec(plan.distortions[which], LEVELS[level], seed=plan.seed + index)
        distorter = FrameDistorter(spec)
        images = {view: distorter.apply(rgb, view, 0) for view, rgb in clean.items()}
        for row, now in enumerate(_plans(plan, drawn, images)):
            plans[row, which, level] = now
            error = plan_error(now.waypoints, expert) if now.acts else None
            success[row, which, level] = would_succeed(task.verb, task.kind, error)
            refused[row, which, level] = clean_plans[row].acts and not now.acts
            shift_mm[row, which, level] = _shift_mm(now, clean_plans[row])
        for row, answer in enumerate(_answers(plan, drawn, images)):
            frequencies = plan.frequencies[plan.vlms[row]]
            cognition[row, which, level] = score_cognition(answer, clean_answers[row], frequencies).score
    return DistortedScene(index, success, refused, shift_mm, cognition, _checked(drawn, plans, success))


def _plans(plan: DistortionPlan, drawn: DrawnScene, images: Images) -> list[LearnedPlan]:
    members = [loaded_vla(name, plan.models) for name in plan.vlas]
    return [member.plan([images[view] for view in member.info.views], str(drawn.task)) for member in members]


def _answers(plan: DistortionPlan, drawn: DrawnScene, images: Images) -> list[str]:
    members = [loaded_vlm(name, plan.models) for name in plan.vlms]
    return [member.describe(images[member.info.views[0]], str(drawn.task)) for member in members]


def _shift_mm(now: LearnedPlan, clean: LearnedPlan) -> float:
    """Return the shift of the plan (mm); 0 if neither acts."""
    if now.acts != clean.acts:
        return STILL_MM
    error = plan_error(now.waypoints, clean.waypoints) if now.acts else None
    return 0.0 if error is None else min(STILL_MM, error.position_mm)


def _checked(
    drawn: DrawnScene, plans: Mapping[tuple[int, int, int], LearnedPlan], success: NDArray[np.bool_]
) -> tuple[tuple[bool, bool], ...]:
    """Judge a few plans by physics, half of them successful by the geometric criterion."""
    if not plans:
        return ()
    rng = np.random.default_rng([drawn.index, 7])
    world = World(drawn.scene)
    pairs = []
    for verdict in (True, False):
        places = [place for place in sorted(plans) if success[place] == verdict and plans[place].acts]
        for pick in rng.permutation(len(places))[: _CHECKS // 2]:
            place = places[int(pick)]
            pairs.append((verdict, succeeds(world, drawn.scene, drawn.task, plans[place].waypoints)))
    return tuple(pairs)


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
