"""The pairs that filters select, in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.pages.studio.browse.filters import COGNITION, SCORE, Filters
from embodied_iqa.pages.studio.browse.overview import Choices

_SCORED = "(SELECT overview.*, totals.score FROM overview JOIN totals USING (pair_id) WHERE subject = ?)"


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected pairs, with the columns of the index and `score` where a subject is chosen.

    Attributes:
        rows: FROM and WHERE clause.
        values: Its parameters.
        order: Of the ORDER BY clause.
    """

    rows: str
    values: tuple[object, ...]
    order: str

    @classmethod
    def of(cls, filters: Filters, choices: Choices) -> Self:
        """Return what filters select."""
        condition, values = _condition(filters, choices)
        source = "overview"
        if filters.subject:
            source, values = _SCORED, [filters.subject, *values]
        order = f"{filters.sort} {'DESC' if filters.down else 'ASC'} NULLS LAST, pair_id"
        return cls(f"FROM {source} WHERE {condition}", tuple(values), order)


def _condition(filters: Filters, choices: Choices) -> tuple[str, list[object]]:
    """Return the condition of the filters in SQL, and its parameters."""
    column = filters.of if not filters.subject else SCORE
    role = choices.subjects[filters.subject].role if filters.subject else None
    spread = "cognition_spread" if role == Role.VLM or filters.of == COGNITION else "decision_spread"
    conditions: list[tuple[str, object]] = [
        ("distortion_id = ?", filters.distortion),
        ("distortion_class = ?", filters.group),
        ("level = CAST(? AS TINYINT)", filters.level),
        ("view = ?", filters.view),
        ("list_contains(verbs, ?)", filters.verb),
        ("main_object = ?", filters.main_object),
        ("verdict = ?", filters.verdict),
        ("reference_id = ?", filters.reference),
        (f"{column} >= ?", filters.low),
        (f"{column} <= ?", filters.high),
        (f"{spread} >= ?", filters.spread),
    ]
    used = [(text, value) for text, value in conditions if value not in {"", None}]
    words = [text for text, _ in used] + ([f"{SCORE} IS NOT NULL"] if filters.subject else [])
    return " AND ".join(words) or "TRUE", [value for _, value in used]
