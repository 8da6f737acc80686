"""Chapters: subjects measured here, with the published rows beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from embodied_iqa.models.scoring.proportions import Share
from embodied_iqa.pages.reports.kit.figure import Dot, FigureRow, Lane, LaneFigure, Tick
from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.pages.reports.static.rotations import rotation_parts
from embodied_iqa.suites.static_benchmark.items import Dimension, Person
from embodied_iqa.suites.static_benchmark.published_subjects import published_tables
from embodied_iqa.suites.static_benchmark.vla.timing import Timing
from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaResults, VlaRow
from embodied_iqa.suites.static_benchmark.vlm_scores import GroupScore, SubjectScore, VlmScores

HERE: Final = "measured here"
PUBLISHED: Final = "published"
_ALL: Final = "all"
_PERCENT: Final = (0.0, 100.0)
_OF_A_SUBJECT: Final = (
    Column("Model"),
    Column("Source"),
    Column("Score", 2, _PERCENT),
    Column("Low", 2),
    Column("High", 2),
)
"""First columns of every leaderboard."""
_TICKS: Final = tuple(Tick(float(at), str(at)) for at in range(0, 101, 25))
_CAUTION: Final = (
    "Rows marked as published are numbers of the paper, on its own items: they show the order of magnitude, "
    "not a comparison on equal terms."
)


def vlm_chapter(scores: VlmScores) -> Chapter:
    """Return the leaderboard of VLMs."""
    return Chapter(
        "vlm",
        "Vision-language models: multiple-choice questions",
        "Share of right answers on clean images in percent, mean over items, with Wilson's 95 % interval. "
        "Unparsed, refused, empty and failed answers are wrong and counted apart. " + _CAUTION,
        "",
        (
            Part("", (_vlm_table(scores),), figure=_vlm_figure(scores.subjects)),
            *rotation_parts(scores),
            Part("Dimension and view", tuple(_group_tables(scores))),
            Part("Position bias", (_bias_table(scores),)),
            *_differences(scores),
        ),
    )


def vla_chapter(results: VlaResults) -> Chapter:
    """Return the leaderboard of VLAs."""
    lead = (
        f"Points from 0 to 100 on {results.tasks} expert trajectories ({results.source}), mean over tasks, "
        "with the bootstrap interval over tasks. expert, expert-1cm and still are baselines: the expert's "
        "own steps, these 1 cm off, and an arm that does not move. " + _CAUTION
    )
    choices = Table.of(
        "Choices", results.choices, {Column("Choice"): lambda text: text},
        "The paper leaves these open; the numbers above rest on them.", name="vla_choices", folded=True,
    )  # fmt: skip
    return Chapter(
        "vla",
        "Vision-language-action models: distance from an expert",
        lead,
        "",
        (
            Part("", (_vla_table(results),), figure=_vla_figure(results.main_rows())),
            Part("Timing, order of mean and logarithm, angles", (_variants(results),)),
            Part("By task", (_task_table(results), choices)),
        ),
    )


def findings_chapter() -> Chapter:
    """Return what the arithmetic of the published tables shows."""
    remarks = published_tables().remarks
    table = Table.of(
        "Findings", remarks, {Column("Finding"): lambda text: text}, name="published_findings", detail=True
    )
    return Chapter(
        "published",
        "The published tables, checked",
        "All 19 totals of VLMs are hits of 150 + 150 + 700 items, all 11 of VLAs the parts weighted by "
        "degrees of freedom (derived here). What does not fit:",
        "",
        (Part("", (table,)),),
    )


def _percent(share: Share | None) -> float | None:
    return None if share is None else 100.0 * share.value


def _hits(row: SubjectScore, dimension: str, person: str) -> Share | None:
    found = (one.hits for one in row.groups if (one.dimension, one.person) == (dimension, person))
    return next(found, None)


def _vlm_table(scores: VlmScores) -> Table:
    columns = (
        *_OF_A_SUBJECT,
        *(Column(str(item).capitalize(), 2, _PERCENT, name=item.name.lower()) for item in Dimension),
        *(Column(str(item).capitalize(), 2, _PERCENT, name=item.name.lower()) for item in Person),
        Column("Items"),
        Column("Circular", 2, _PERCENT),
        Column("Chance", 2),
        Column("Unparsed"),
        Column("Refused"),
        Column("Empty"),
        Column("Failed"),
        Column("Adapter"),
    )
    quoted = tuple(_published_vlms(len(columns)))
    rows = [*map(_own_vlm, scores.subjects), *quoted]
    return Table("vlm_leaderboard", "VLMs", columns, rows, sorted_by="Score", quoted=len(quoted))


def _own_vlm(row: SubjectScore) -> Row:
    parts = [_percent(_hits(row, str(item), _ALL)) for item in Dimension]
    views = [_percent(_hits(row, _ALL, str(item))) for item in Person]
    value, low, high, items = _ends(row.plain)
    circular = None if row.circular is None else 100.0 * row.circular.hits.value
    counts = (row.readings[name] for name in ("unparsed", "refused", "empty", "failed"))
    more = (items, circular, 100.0 * row.chance, *counts, row.adapter)
    return (row.subject, HERE, value, low, high, *parts, *views, *more)


def _published_vlms(width: int) -> Iterator[Row]:
    for row in published_tables().vlm:
        parts = (row.macro, row.micro, row.stage, row.first, row.third)
        known = (row.model, PUBLISHED, row.score, None, None, *parts)
        yield (*known, *(None,) * (width - len(known)))


def _group_tables(scores: VlmScores) -> Iterator[Table]:
    columns = (
        Column("Subject"),
        Column("View"),
        Column("Hits", 2, _PERCENT),
        Column("Low", 2),
        Column("High", 2),
        Column("Items"),
        Column("Unparsed", 2),
        Column("Of answered", 2, _PERCENT),
        Column("Low of answered", 2),
        Column("High of answered", 2),
        Column("Answered"),
    )
    for dimension in dict.fromkeys(one.dimension for row in scores.subjects for one in row.groups):
        rows = [
            (row.subject, one.person, *_ends(one.hits), 100.0 * one.unparsed, *_of_answered(one))
            for row in scores.subjects
            for one in row.groups
            if one.dimension == dimension
        ]
        stem = dimension.replace(" ", "_").replace("-", "_")
        yield Table(f"vlm_{stem}", f"{dimension}, in percent", columns, rows, folded=True)


def _of_answered(group: GroupScore) -> tuple[float | None, float | None, float | None, int | None]:
    found = group.of_answered
    return (None, None, None, None) if found is None else _ends(found.hits)


def _ends(hits: Share) -> tuple[float, float, float, int]:
    return 100.0 * hits.value, 100.0 * hits.low, 100.0 * hits.high, hits.n


def _bias_table(scores: VlmScores) -> Table:
    columns = (
        Column("Subject"),
        Column("Letter"),
        Column("Of answers", 2, _PERCENT),
        Column("Of right answers", 2, _PERCENT),
    )
    rows = [
        (row.subject, one.letter, 100.0 * one.answered, 100.0 * one.right)
        for row in scores.subjects
        for one in row.bias
    ]
    return Table("vlm_letters", "Letters, in percent", columns, rows, folded=True)


def _differences(scores: VlmScores) -> Iterator[Part]:
    if not scores.comparisons:
        return
    table = Table.of(
        "Pairs of subjects",
        scores.comparisons,
        {
            Column("First"): lambda pair: pair.first,
            Column("Second"): lambda pair: pair.second,
            Column("Only the first right", name="only_first"): lambda pair: pair.only_first,
            Column("Only the second right", name="only_second"): lambda pair: pair.only_second,
            Column("p", 4): lambda pair: pair.p_value,
        },
        "McNemar's exact test on the same items, two-sided.",
        name="vlm_pairs",
        folded=True,
    )
    yield Part("Which differences are certain?", (table,))


def _vlm_figure(rows: Sequence[SubjectScore]) -> LaneFigure:
    ordered = sorted(rows, key=lambda row: -row.plain.value)
    return _figure("Plain hits", [(row.subject, row.adapter, *_ends(row.plain)[:3]) for row in ordered])


def _vla_figure(rows: Sequence[VlaRow]) -> LaneFigure:
    return _figure(
        "Overall points",
        [(row.subject, f"timing {row.timing}", row.overall, row.low, row.high) for row in rows],
    )


def _figure(head: str, rows: Sequence[tuple[str, str, float, float | None, float | None]]) -> LaneFigure:
    found = []
    for name, remark, value, low, high in rows:
        ends = (value if low is None else low, value if high is None else high)
        interval = "no interval" if low is None else f"{number(ends[0])} to {number(ends[1])}"
        text = f"{name}: {number(value)}, {interval}"
        lane = Lane("cognition", text, number(value), dot=Dot(value, *ends))
        found.append(FigureRow(name, remark, (lane,)))
    return LaneFigure((head,), _TICKS, tuple(found))


def _vla_table(results: VlaResults) -> Table:
    columns = (
        *_OF_A_SUBJECT,
        Column("Steps", 0),
        Column("Position", 2, _PERCENT),
        Column("Orientation", 2, _PERCENT),
        Column("End effector", 2, _PERCENT),
        Column("Score, arm timing", 2, _PERCENT, name="score_arm"),
        Column("Tasks"),
        Column("Refused"),
        Column("Failed"),
        Column("Timing"),
    )
    quoted = tuple(_published_vlas(len(columns)))
    rows = [*(_own_vla(row, results) for row in results.main_rows()), *quoted]
    note = "Steps: length of the action chunk, the median of those measured here."
    return Table("vla_leaderboard", "VLAs", columns, rows, note, sorted_by="Score", quoted=len(quoted))


def _own_vla(row: VlaRow, results: VlaResults) -> Row:
    arms = (
        one.overall
        for one in results.rows
        if (one.subject, one.timing, one.level) == (row.subject, Timing.ARM, 0)
    )
    parts = (row.position, row.orientation, row.end_effector)
    counts = (row.tasks, row.refused, row.failed, str(row.timing))
    ends = (row.overall, row.low, row.high)
    return (row.subject, HERE, *ends, row.chunk, *parts, next(arms, None), *counts)


def _published_vlas(width: int) -> Iterator[Row]:
    for row in published_tables().vla:
        parts = (row.position, row.orientation, row.end_effector)
        known = (row.model, PUBLISHED, row.score, None, None, float(row.steps), *parts)
        yield (*known, *(None,) * (width - len(known)))


def _variants(results: VlaResults) -> Table:
    return Table.of(
        "Variants on clean images",
        [row for row in results.rows if not row.level],
        {
            Column("Subject"): lambda row: row.subject,
            Column("Timing"): lambda row: str(row.timing),
            Column("Steps held", 0, name="steps"): lambda row: row.steps,
            Column("Overall", 2, _PERCENT): lambda row: row.overall,
            Column("Geodesic angle", 2, _PERCENT, name="geodesic"): lambda row: row.overall_geodesic,
            Column("Log of each step", 2, _PERCENT, name="log_first"): lambda row: row.overall_log_first,
            Column("Answered tasks", 2, _PERCENT, name="answered"): lambda row: row.answered,
        },
        "Overall points with each choice that the paper leaves open.",
        name="vla_variants",
    )


def _task_table(results: VlaResults) -> Table:
    return Table.of(
        "Tasks on clean images",
        results.by_task,
        {
            Column("Subject"): lambda row: row.subject,
            Column("Task"): lambda row: row.task,
            Column("Instruction"): lambda row: row.instruction,
            Column("Background"): lambda row: row.background,
            Column("Status"): lambda row: row.status,
            Column("Position", 2, _PERCENT): lambda row: row.position,
            Column("Orientation", 2, _PERCENT): lambda row: row.orientation,
            Column("End effector", 2, _PERCENT): lambda row: row.end_effector,
            Column("Overall", 2, _PERCENT): lambda row: row.overall,
            Column("Arm timing", 2, _PERCENT, name="overall_arm"): lambda row: row.overall_arm,
            Column("Reason", shown=False): lambda row: row.reason,
        },
        name="vla_tasks",
        folded=True,
        detail=True,
    )
