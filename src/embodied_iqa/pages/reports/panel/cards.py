"""Writes the results of an evaluation to the members' cards: success, BLEU and known failures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.models.subjects.backends.panel.shipped_members import card_of
from embodied_iqa.models.subjects.model_card import ModelCard, save_card
from embodied_iqa.pages.reports.panel.summary import success_by, vla_rows, vlm_rows, weak_verbs

_HARMED: Final = 0.75
"""Success or cognition score below which a distortion counts as harmful."""
_MOST_HARMFUL: Final = 8
_BLEU_GOAL: Final = 0.93


def update_cards(evaluation: PanelEvaluation) -> None:
    """Add success, BLEU and failures to the card of every evaluated member."""
    plan = evaluation.plan
    for name in (*plan.vlas, *plan.vlms):
        card = card_of(name, plan.models)
        failures = (*_by_design(card), *_measured(evaluation, name))
        new = dataclasses.replace(
            card, results=dict(card.results) | _results(evaluation, name), known_failures=failures
        )
        save_card(new, plan.models / f"{name}.json")


def _results(evaluation: PanelEvaluation, name: str) -> dict[str, float | str]:
    plan = evaluation.plan
    results: dict[str, float | str] = {
        "evaluated": f"{plan.scenes} unseen scenes, seed {plan.seed}, images of 640x480"
    }
    for row in vla_rows([task for task in evaluation.acted if task.member == name]):
        results |= {
            "success": str(row.success),
            "success_mean_over_verbs": round(row.verb_mean, 4),
            "position_median_mm": round(row.median_mm, 2),
        }
        by_verb = success_by(evaluation.acted, member=name)
        results |= {f"success_{verb}": str(share) for verb, share in by_verb.items()}
    for answers in vlm_rows([task for task in evaluation.answered if task.member == name]):
        results |= {
            "bleu_clean": round(answers.bleu, 4),
            "right_to_the_word": str(answers.exact),
            "changes_with_the_image": str(answers.changed),
        }
    return results


def _by_design(card: ModelCard) -> Iterator[str]:
    """Yield failures that follow from how the member was made."""
    yield "Knows the simulator's objects, six colours and its cameras' places only; not for real images."
    if card.role == "vla":
        yield "Acts once from home and then says DONE: it never corrects a failed attempt."
    else:
        yield "Answers in one style of sentence; other questions get the same kind of sentence."
    if card.views == (View.WRIST,):
        yield "Does not see objects far from the hand and says so."


def _measured(evaluation: PanelEvaluation, name: str) -> Iterator[str]:
    if weak := weak_verbs(evaluation.acted, name):
        verbs = ", ".join(f"{verb} ({share})" for verb, share in weak.items())
        yield f"Succeeds in less than 75 % of tasks of: {verbs}."
    for row in vlm_rows([task for task in evaluation.answered if task.member == name]):
        if row.bleu < _BLEU_GOAL:
            yield f"BLEU of {row.bleu:.2f} on clean images, below the goal of {_BLEU_GOAL}."
    if worst := _most_harmful(evaluation, name):
        yield f"Hurt most, at level 5, by distortions {', '.join(worst)}."


def _most_harmful(evaluation: PanelEvaluation, name: str) -> list[str]:
    """Return the numbers of the distortions with the lowest scores at level 5, the worst first."""
    plan = evaluation.plan
    if not evaluation.distorted:
        return []
    if name in plan.vlas:
        levels = np.stack([scene.success[plan.vlas.index(name)] for scene in evaluation.distorted])
    else:
        levels = np.stack([scene.cognition[plan.vlms.index(name)] for scene in evaluation.distorted])
    means = levels.mean(axis=0)[:, -1]
    worst = np.argsort(means, kind="stable")[:_MOST_HARMFUL]
    return [plan.distortions[index] for index in worst if means[index] < _HARMED]
