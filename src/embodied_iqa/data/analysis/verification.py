"""Agreement between the people who wrote and verified the tasks of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from embodied_iqa.data.analysis.raters import RaterAgreement, Scale, cohen_kappa, krippendorff_alpha
from embodied_iqa.data.journal.changes import TaskVerdict, Verdict, Verify
from embodied_iqa.data.journal.view import EditView

WRITER = ""
"""The author of the tasks, whose ranks are an opinion too."""
_CODES = {verdict: float(code) for code, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class PairOfPeople:
    """Cohen's kappa of the verdicts of two people."""

    first: str
    second: str
    kappa: RaterAgreement


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """Agreement about the tasks.

    Attributes:
        verdicts: Krippendorff's alpha of the verdicts, nominal; of people who verified.
        ranks: Krippendorff's alpha of the order of difficulty, ordinal; the writer's order counts.
        pairs: Cohen's kappa of every two people who verified the same tasks.
        fitting: Share of verdicts that a task fits, 0 to 1; NaN without any.
        references: References with a verification that counts.
    """

    verdicts: RaterAgreement
    ranks: RaterAgreement
    pairs: tuple[PairOfPeople, ...]
    fitting: float
    references: int


def verification_result(
    view: EditView, texts: Mapping[str, Sequence[str]], *, blind: bool | None = None
) -> VerificationResult:
    """Return how those agree who verified the tasks of a database.

    Args:
        view: The edits.
        texts: Tasks of each reference as they were written, by rank.
        blind: Only verifications with the ranks hidden, or only those with them shown; None for all.
    """
    opinions = {name: _wanted(view, name, tasks, blind=blind) for name, tasks in texts.items()}
    opinions = {name: found for name, found in opinions.items() if found}
    people = sorted({person for found in opinions.values() for person in found})
    tasks = sum(len(texts[name]) for name in opinions)
    verdicts = np.array([_verdicts(person, opinions, texts) for person in people]).reshape(len(people), tasks)
    ranks = np.array([_ranks(person, opinions, texts) for person in (WRITER, *people)])
    known = np.isfinite(verdicts)
    pairs = tuple(
        PairOfPeople(people[i], people[j], cohen_kappa(verdicts[i], verdicts[j]))
        for i, j in combinations(range(len(people)), 2)
        if (known[i] & known[j]).any()
    )
    fits = verdicts[known] == _CODES[Verdict.FITS]
    return VerificationResult(
        krippendorff_alpha(verdicts, Scale.NOMINAL),
        krippendorff_alpha(ranks, Scale.ORDINAL),
        pairs,
        float(fits.mean()) if len(fits) else np.nan,
        len(opinions),
    )


def _wanted(view: EditView, name: str, tasks: Sequence[str], *, blind: bool | None) -> dict[str, Verify]:
    found = view.reference(name).opinions(tasks)
    return {person: item for person, item in found.items() if blind is None or item.blind is blind}


def _verdicts(
    person: str, opinions: Mapping[str, Mapping[str, Verify]], texts: Mapping[str, Sequence[str]]
) -> list[float]:
    """Return a person's verdict about each task of each verified reference, NaN for none."""
    found: list[float] = []
    for name, by_person in opinions.items():
        given = {item.text: item.verdict for item in _items(by_person, person)}
        found += [_CODES[given[text]] if text in given else np.nan for text in texts[name]]
    return found


def _ranks(
    person: str, opinions: Mapping[str, Mapping[str, Verify]], texts: Mapping[str, Sequence[str]]
) -> list[float]:
    """Return the rank that a person gives each task, NaN for none: also of a person who gave no order."""
    found: list[float] = []
    for name, by_person in opinions.items():
        opinion = by_person.get(person)
        order = list(texts[name]) if person == WRITER else []
        if opinion is not None and opinion.ordered:
            order = [item.text for item in opinion.verdicts]
        found += [order.index(text) + 1.0 if text in order else np.nan for text in texts[name]]
    return found


def _items(by_person: Mapping[str, Verify], person: str) -> tuple[TaskVerdict, ...]:
    return by_person[person].verdicts if person in by_person else ()
