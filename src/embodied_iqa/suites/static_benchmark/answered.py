"""Hits among the items that a subject answers with a letter: at chance, whatever the share of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.stored_answers import ItemAnswer


@dataclass(frozen=True, slots=True)
class AnsweredScore:
    """Hits of the items whose answer has a letter.

    Attributes:
        hits: Share of right answers among them, with Wilson's interval.
        chance: Mean of 1/k over them.
    """

    hits: Share
    chance: float


def answered_score(items: Sequence[Item], answers: Mapping[int, ItemAnswer]) -> AnsweredScore | None:
    """Return the hits among the answers with a letter; None without such answers."""
    lettered = [(item, answers[item.index].letter) for item in items if answers[item.index].letter]
    if not lettered:
        return None
    hits = wilson(sum(letter == item.answer for item, letter in lettered), len(lettered))
    return AnsweredScore(hits, float(np.mean([1 / len(item.options) for item, _ in lettered])))
