"""Scores of an exported member on held-out samples: geometric success of plans, BLEU of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.samples.sample_files import Samples
from embodied_iqa.models.panel.training.batches import answers_of, expert_plan, instruction_of
from embodied_iqa.models.panel.true_answers import Style
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.world.tasks.vocabulary import Verb

_TASKS_A_SCENE: Final = 3


def evaluate_vla(member: LearnedVla, samples: Samples) -> dict[str, float | str]:
    """Return geometric success, also by verb, and the median position error of the tasks that it acts on.

    Counts the first tasks of each scene whose objects are present, even if the member's views miss them.
    """
    done: dict[Verb, list[bool]] = {verb: [] for verb in Verb}
    distances_mm: list[float] = []
    for scene, task in _present(samples):
        instruction = instruction_of(samples, scene, task)
        images = [shots[scene] for shots in samples.images]
        plan = member.plan(images, samples.tasks[scene][task], prepared=True)
        expert = expert_plan(samples, scene, task)
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        done[instruction.verb].append(would_succeed(instruction.verb, instruction.kind, error))
        if error is not None:
            distances_mm.append(error.position_mm)
    rates = {verb: float(np.mean(verdicts)) for verb, verdicts in done.items() if verdicts}
    return {
        "geometric_success": round(float(np.mean(list(rates.values()))), 4),
        "median_position_mm": round(float(np.median(distances_mm)), 2) if distances_mm else -1.0,
        "tasks": float(sum(map(len, done.values()))),
        **{f"geometric_success_{verb}": round(rate, 4) for verb, rate in rates.items()},
    }


def evaluate_vlm(member: LearnedVlm, samples: Samples, style: Style) -> dict[str, float | str]:
    """Return mean BLEU against the true answers, and the share of identical answers."""
    truths = answers_of(samples, 0, style)
    frequencies = document_frequencies(text for row in truths for text in row)
    scores: list[float] = []
    exact: list[bool] = []
    for scene, task in _present(samples):
        answer = member.describe(samples.images[0][scene], samples.tasks[scene][task], prepared=True)
        truth = truths[scene][task]
        scores.append(score_cognition(answer, truth, frequencies).bleu)
        exact.append(answer == truth)
    return {
        "bleu": round(float(np.mean(scores)), 4),
        "exact": round(float(np.mean(exact)), 4),
        "tasks": float(len(scores)),
    }


def _present(samples: Samples) -> Iterator[tuple[int, int]]:
    """Yield scene and task of the first few distinct tasks of each scene whose objects are present."""
    for scene in range(len(samples)):
        seen: set[tuple[int, ...]] = set()
        for task in range(samples.verb.shape[1]):
            key = tuple(int(label[scene, task]) for label in (samples.verb, samples.target, samples.goal))
            if key[1] < 0 or key in seen:
                continue
            seen.add(key)
            yield scene, task
            if len(seen) == _TASKS_A_SCENE:
                break
