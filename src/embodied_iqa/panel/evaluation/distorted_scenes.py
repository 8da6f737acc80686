"""The panel under every distortion: how plans and answers change from the clean picture on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.distortions.stream import FrameDistorter
from embodied_iqa.images.frame import View
from embodied_iqa.panel.criterion import plan_error, would_do
from embodied_iqa.panel.evaluation.clean_scenes import Stage, loaded_vla, loaded_vlm, set_stage, succeeds
from embodied_iqa.scoring.cognition import score_cognition
from embodied_iqa.scoring.frequencies import DocumentFrequencies
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.backends.panel.vla import LearnedPlan

__all__ = ["STILL_MM", "DistortedScene", "GridSettings", "distort_scene"]

STILL_MM: Final = 300.0
"""How far off a plan counts that is not made, and the most that any counts."""
_CHECKS: Final = 6
Shots = Mapping[View, NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class GridSettings:
    """What is asked of every scene.

    Attributes:
        seed: Of scenes and distortions.
        vlas: Names of members.
        vlms: Names of members.
        distortions: Numbers, ``"01"`` to ``"30"``.
        models: Where networks and cards lie.
        frequencies: Document frequencies of the clean answers of each VLM.
    """

    seed: int
    vlas: tuple[str, ...]
    vlms: tuple[str, ...]
    distortions: tuple[str, ...]
    models: Path
    frequencies: Mapping[str, DocumentFrequencies]


@dataclass(frozen=True, slots=True, eq=False)
class DistortedScene:
    """One scene's main task under ``D`` distortions in five levels.

    Attributes:
        index: Number of the scene.
        success: ``(VLAs, D, 5)`` bool, by the geometric criterion.
        shift_mm: ``(VLAs, D, 5)`` mean distance of the waypoints from those on the clean picture.
        cognition: ``(VLMs, D, 5)`` score of the answer against that to the clean picture, in [0, 1].
        checked: Pairs of verdicts, by geometry and by physics, on a few conditions drawn at random.
    """

    index: int
    success: NDArray[np.bool_]
    shift_mm: NDArray[np.float64]
    cognition: NDArray[np.float64]
    checked: tuple[tuple[bool, bool], ...]


def distort_scene(settings: GridSettings, index: int) -> DistortedScene:
    """Show one scene to all members under all distortions."""
    stage = set_stage(settings.seed, index)
    clean: Shots = {view: frame.rgb for view, frame in stage.frames.items()}
    own = {name: loaded_vla(name, settings.models).plan(_of(name, settings, clean), str(stage.task))
           for name in settings.vlas}  # fmt: skip
    said = {name: _answer(name, settings, clean, stage) for name in settings.vlms}
    expert = stage.expert
    shape = (len(settings.distortions), len(LEVELS))
    success = np.zeros((len(own), *shape), np.bool_)
    shift_mm = np.zeros((len(own), *shape))
    cognition = np.zeros((len(said), *shape))
    plans: dict[tuple[int, int, int], LearnedPlan] = {}
    for which, level in np.ndindex(*shape):
        spec = DistortionSpec(settings.distortions[which], LEVELS[level], seed=settings.seed + index)
        shots = _distorted(clean, spec)
        for row, (name, plan) in enumerate(own.items()):
            now = loaded_vla(name, settings.models).plan(_of(name, settings, shots), str(stage.task))
            plans[row, which, level] = now
            error = plan_error(now.waypoints, expert) if now.acts else None
            success[row, which, level] = would_do(stage.task.verb, stage.task.kind, error)
            shift_mm[row, which, level] = _shift_mm(now, plan)
        for row, (name, answer) in enumerate(said.items()):
            now_said = _answer(name, settings, shots, stage)
            score = score_cognition(now_said, answer, settings.frequencies[name])
            cognition[row, which, level] = score.score
    return DistortedScene(index, success, shift_mm, cognition, _checked(stage, plans, success))


def _of(name: str, settings: GridSettings, shots: Shots) -> list[NDArray[np.uint8]]:
    return [shots[view] for view in loaded_vla(name, settings.models).info.views]


def _answer(name: str, settings: GridSettings, shots: Shots, stage: Stage) -> str:
    member = loaded_vlm(name, settings.models)
    return member.describe(shots[member.info.views[0]], str(stage.task))


def _distorted(clean: Shots, spec: DistortionSpec) -> Shots:
    distorter = FrameDistorter(spec)
    return {view: distorter.apply(rgb, view, 0) for view, rgb in clean.items()}


def _shift_mm(now: LearnedPlan, clean: LearnedPlan) -> float:
    """Return how far the plan moved; nothing where neither acts."""
    if now.acts != clean.acts:
        return STILL_MM
    error = plan_error(now.waypoints, clean.waypoints) if now.acts else None
    return 0.0 if error is None else min(STILL_MM, error.position_mm)


def _checked(
    stage: Stage, plans: Mapping[tuple[int, int, int], LearnedPlan], success: NDArray[np.bool_]
) -> tuple[tuple[bool, bool], ...]:
    """Let physics judge a few plans, as many that would do as that would not."""
    if not plans:
        return ()
    rng = np.random.default_rng([stage.index, 7])
    world = World(stage.scene)
    pairs = []
    for verdict in (True, False):
        places = [place for place in sorted(plans) if success[place] == verdict and plans[place].acts]
        for pick in rng.permutation(len(places))[: _CHECKS // 2]:
            place = places[int(pick)]
            pairs.append((verdict, succeeds(world, stage, plans[place])))
    return tuple(pairs)
