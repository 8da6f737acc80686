"""Tables: circular scores beside plain ones, and what a judge read in unparsed answers."""

from __future__ import annotations

from collections.abc import Iterator

from embodied_iqa.pages.reports.kit.page import Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.suites.static_benchmark.circular import CircularScore
from embodied_iqa.suites.static_benchmark.judging import JudgeScore
from embodied_iqa.suites.static_benchmark.vlm_scores import VlmScores

_PERCENT = (0.0, 100.0)


def rotation_parts(scores: VlmScores) -> Iterator[Part]:
    """Yield the tables of circular evaluation and of the judge, where there was one."""
    circular = [(row.subject, row.circular) for row in scores.subjects if row.circular is not None]
    if circular:
        yield Part("Plain and circular", (_circular_table(circular),))
    judged = [(row.subject, row.judged) for row in scores.subjects if row.judged is not None]
    if judged:
        yield Part("Judge", (_judge_table(judged),))


def _circular_table(rows: list[tuple[str, CircularScore]]) -> Table:
    return Table.of(
        "Circular, in percent",
        rows,
        {
            Column("Subject"): lambda row: row[0],
            Column("Circular", 2, _PERCENT): lambda row: 100.0 * row[1].hits.value,
            Column("Low", 2): lambda row: 100.0 * row[1].hits.low,
            Column("High", 2): lambda row: 100.0 * row[1].hits.high,
            Column("Minus plain", 2): lambda row: 100.0 * row[1].minus_plain,
            Column("Chance", 2): lambda row: 100.0 * row[1].chance,
            Column("Incomplete"): lambda row: row[1].incomplete,
        },
        "Hits are items of which every rotation of the options is right; an incomplete item is never one.",
        name="vlm_circular",
    )


def _judge_table(rows: list[tuple[str, JudgeScore]]) -> Table:
    return Table.of(
        "Judge",
        rows,
        {
            Column("Subject"): lambda row: row[0],
            Column("Judge"): lambda row: row[1].judge,
            Column("Unparsed"): lambda row: row[1].asked,
            Column("Read"): lambda row: row[1].read,
            Column("Right"): lambda row: row[1].hits,
            Column("Failed"): lambda row: row[1].failed,
            Column("With them, percent", 2, _PERCENT, name="with_judge"): lambda row: (
                100.0 * row[1].plain.value
            ),
            Column("Low", 2): lambda row: 100.0 * row[1].plain.low,
            Column("High", 2): lambda row: 100.0 * row[1].plain.high,
        },
        "The scores above do not count these hits.",
        name="vlm_judge",
    )
