"""Writes what an evaluation found into the members' cards: results and known failures."""

from __future__ import annotations

import dataclasses

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.reports.panel.tables import share_by, vla_rows, vlm_rows
from embodied_iqa.subjects.backends.panel.members import card_of
from embodied_iqa.subjects.model_card import ModelCard, save_card

__all__ = ["update_cards"]

_NOT_GOOD = 0.75
_HURTS = 0.25
_BLEU_GOAL = 0.93


def update_cards(evaluation: PanelEvaluation) -> None:
    """Add success, BLEU and failures as found to the card of every member that was evaluated."""
    plan = evaluation.plan
    for name in (*plan.vlas, *plan.vlms):
        card = card_of(name, plan.models)
        results = dict(card.results) | _results(evaluation, name)
        failures = (*_always(card), *_found(evaluation, name))
        save_card(
            dataclasses.replace(card, results=results, known_failures=failures), plan.models / f"{name}.json"
        )


def _results(evaluation: PanelEvaluation, name: str) -> dict[str, float | str]:
    plan = evaluation.plan
    found: dict[str, float | str] = {
        "evaluated": f"{plan.scenes} unseen scenes, seed {plan.seed}, pictures of 640x480"
    }
    for row in vla_rows([task for task in evaluation.acted if task.member == name]):
        found |= {
            "success": str(row.success),
            "success_mean_over_verbs": round(row.verb_mean, 4),
            "position_median_mm": round(row.median_mm, 2),
        }
        by_verb = share_by(
            (task for task in evaluation.acted if task.member == name), lambda task: str(task.verb)
        )
        found |= {f"success_{verb}": str(share) for verb, share in by_verb.items()}
    for answers in vlm_rows([task for task in evaluation.answered if task.member == name]):
        found |= {
            "bleu_clean": round(answers.bleu, 4),
            "right_to_the_word": str(answers.exact),
            "changes_with_the_picture": str(answers.changed),
        }
    return found


def _always(card: ModelCard) -> tuple[str, ...]:
    """Return what follows from how the member was made."""
    failures = [
        "Knows the simulator's objects, six colours and its cameras' places only; not for real pictures."
    ]
    if card.role == "vla":
        failures.append("Acts once from home and then says DONE: it never corrects a failed attempt.")
    else:
        failures.append("Answers in one style of sentence; other questions get the same kind of sentence.")
    if card.views == (View.WRIST,):
        failures.append("Does not see objects far from the hand and says so.")
    return tuple(failures)


def _found(evaluation: PanelEvaluation, name: str) -> list[str]:
    failures = []
    by_verb = share_by(
        (task for task in evaluation.acted if task.member == name), lambda task: str(task.verb)
    )
    weak = [f"{verb} ({share})" for verb, share in by_verb.items() if share.value < _NOT_GOOD]
    if weak:
        failures.append(f"Succeeds in less than 75 % of tasks of: {', '.join(weak)}.")
    failures += [
        f"BLEU of {row.bleu:.2f} on clean pictures, below the goal of {_BLEU_GOAL}."
        for row in vlm_rows([task for task in evaluation.answered if task.member == name])
        if row.bleu < _BLEU_GOAL
    ]
    worst = _worst(evaluation, name)
    if worst:
        failures.append(f"Hurt most, at level 5, by distortions {', '.join(worst)}.")
    return failures


def _worst(evaluation: PanelEvaluation, name: str) -> list[str]:
    """Return the numbers of up to eight distortions that leave it least at level 5."""
    plan = evaluation.plan
    if not evaluation.distorted:
        return []
    if name in plan.vlas:
        left = np.stack([scene.success[plan.vlas.index(name), :, -1] for scene in evaluation.distorted])
    else:
        left = np.stack([scene.cognition[plan.vlms.index(name), :, -1] for scene in evaluation.distorted])
    means = left.mean(axis=0)
    order = [int(index) for index in np.argsort(means, kind="stable")[:8] if means[index] < 1 - _HURTS]
    return [plan.distortions[index] for index in order]
