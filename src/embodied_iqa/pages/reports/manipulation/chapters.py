"""Chapters of a planner's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from embodied_iqa.data.analysis.paired import mcnemar, paired_difference
from embodied_iqa.models.scoring.proportions import Share
from embodied_iqa.pages.reports.kit.figure import Dot, FigureRow, Lane, LaneFigure, Tick
from embodied_iqa.pages.reports.kit.formatting import number, plural
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Row, Table
from embodied_iqa.pages.reports.manipulation.study import CLEAN, PlannerStudy, arm_title, mean, success_of
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.planning.failures import CLASS_OF, ErrorKind
from embodied_iqa.suites.cell_manipulation.planning.faulty import Fault
from embodied_iqa.suites.cell_manipulation.planning.labels import confusion, solved_faults
from embodied_iqa.suites.cell_manipulation.planning.published_planners import EPISODES, published_rows
from embodied_iqa.suites.cell_manipulation.planning.transcript import Transcript

_WHOLE: Final = 100.0
_ALPHA: Final = 0.05
_TICKS: Final = tuple(Tick(50.0 * step, f"{50 * step} %") for step in range(3))
_HEAT: Final = (0.0, _WHOLE)
ANOTHER_SIMULATOR: Final = "EmbodiedBench's own simulator"


def success_chapter(study: PlannerStudy) -> Chapter:
    """Return the chapter on success by subset."""
    arm = study.arms[0]
    shares = {str(subset): success_of(study.of(arm, subset)) for subset in study.subsets}
    shares["all"] = success_of(study.of(arm))
    rows = [FigureRow(name, plural(share.n, "episode"), (_lane(share),)) for name, share in shares.items()]
    table = Table.of(
        "Success by subset",
        shares.items(),
        {
            Column("Subset"): lambda row: row[0],
            Column("Success %", 1, _HEAT): lambda row: _percent(row[1].value),
            Column("Low", 1): lambda row: _percent(row[1].low),
            Column("High", 1): lambda row: _percent(row[1].high),
            Column("Episodes"): lambda row: row[1].n,
            Column("Planner steps"): lambda row: _turns(study, arm, row[0]),
            Column("Steps"): lambda row: _steps(study, arm, row[0]),
            Column("Format errors"): lambda row: _format_errors(study, arm, row[0]),
        },
        "Low and high: 95 % Wilson interval. Planner steps: mean number of questions to the planner in an "
        "episode; steps: mean number of the 15 environment steps that were used.",
        name="success",
    )
    figure = LaneFigure(("Solved episodes",), _TICKS, tuple(rows))
    lead = f"{arm_title(arm)}. Share of solved episodes, with its 95 % Wilson interval."
    return Chapter("success", "How many tasks does it solve?", lead, "", (Part("", (table,), figure),))


def distortion_chapter(study: PlannerStudy) -> Chapter | None:
    """Return the chapter on success over distortion and level; None without distortions."""
    if not study.levels:
        return None
    ran = sorted({level for arms in study.levels.values() for level in arms})
    rows = [_level_row(study, kind, arms, ran) for kind, arms in study.levels.items()]
    columns = [Column("Distortion"), *(Column(f"Level {level}", 1, _HEAT) for level in ran)]
    columns += [Column("Change at the highest", 1), Column("Low", 1), Column("High", 1)]
    columns += [Column("p", 4), Column("Episodes")]
    note = (
        "Success in percent. Change: solved episodes at the highest level that was run minus those on clean "
        "images, in points, over the same episodes, with Newcombe's 95 % interval of the paired difference "
        "and the p-value of McNemar's exact test."
    )
    table = Table("distortions", "Success by distortion and level", tuple(columns), tuple(rows), note)
    clean = success_of(study.of(CLEAN))
    highs = [row[-3] for row in rows]
    fell = sum(isinstance(high, float) and high < 0.0 for high in highs)
    certain = sum(
        isinstance(p, float) and isinstance(high, float) and high < 0.0 and p < _ALPHA / len(rows)
        for high, p in zip(highs, (row[-2] for row in rows), strict=True)
    )
    lead = (
        "The same episodes in every condition. "
        f"On clean images {number(_percent(clean.value), 1)} % are solved. "
        f"The interval of the change excludes zero downwards for {fell} of "
        f"{plural(len(rows), 'distortion')}, each by itself; p is below 0.05 / "
        f"{len(rows)} for {certain} of them (Bonferroni)."
    )
    return Chapter("distortions", "What do bad images cost?", lead, "", (Part("", (table,)),))


def arms_chapter(study: PlannerStudy) -> Chapter | None:
    """Return the chapter on gates; None without them."""
    gated = [arm for arm in study.arms if "+" in arm]
    if not gated:
        return None
    table = Table.of(
        "Conditions",
        [arm for arm in study.arms if arm in gated or arm in {name.partition("+")[0] for name in gated}],
        {
            Column("Condition", name="arm"): arm_title,
            Column("Success %", 1, _HEAT): lambda arm: _percent(success_of(study.of(arm)).value),
            Column("Episodes"): lambda arm: len(study.of(arm)),
            Column("Turns held back"): lambda arm: sum(
                turn.held for one in study.of(arm) for turn in one.turns
            ),
            Column("Actions"): lambda arm: sum(len(one.steps) for one in study.of(arm)),
            Column("Images"): lambda arm: sum(turn.images for one in study.of(arm) for turn in one.turns),
        },
        "A turn that is held back moves nothing and costs a step.",
        name="gates",
    )
    return Chapter("gates", "What does the gate change?", "", "", (Part("", (table,)),))


def failures_chapter(study: PlannerStudy) -> Chapter | None:
    """Return the chapter on errors; None if nothing failed."""
    if not study.failures:
        return None
    arms = study.arms
    counts = Counter((one.arm, one.kind) for one in study.failures)
    kinds = [kind for kind in ErrorKind if any(counts[arm, kind] for arm in arms)]
    shown = arms[:1] if len(arms) == 1 else ("all arms", *arms[:1])
    columns = (Column("Kind"), Column("Class"), *(_arm_column(arm) for arm in shown))
    rows: list[Row] = [(str(kind), str(CLASS_OF[kind]), *_counted(counts, kind, shown)) for kind in kinds]
    by_hand = sum(one.by_hand for one in study.failures)
    labels = plural(by_hand, "label")
    note = f"Rules on transcript and truth; {labels} by hand. The first error of an episode counts."
    tables = [Table("errors", "Errors of failed episodes", columns, tuple(rows), note), *_confusion(study)]
    lead = 'The classes are those of EmbodiedBench; "form" and "gate" are our own.'
    paper = (
        "GPT-4o, by hand, in percent: planning 44 (inaccurate action 42), perception 33 (wrong recognition "
        "22), reasoning 23 (reflection 13, spatial reasoning 10)."
    )
    return Chapter("errors", "Why does it fail?", lead, paper, (Part("", tuple(tables)),))


def leaderboard_chapter(study: PlannerStudy) -> Chapter:
    """Return the chapter with the published rows beside this run's."""
    own = study.of(study.arms[0])
    protocol = [one for one in own if one.episode.subset in EPISODES]
    rows: list[Row] = []
    if protocol:
        shares = (
            _percent(success_of(found).value) if (found := study.of(study.arms[0], subset)) else None
            for subset in EPISODES
        )
        average = _percent(success_of(protocol).value)
        rows.append((study.planner, "cell-manipulation, this run", average, *shares))
    published = sorted(published_rows(), key=lambda row: -row.average)
    rows += [(row.model, ANOTHER_SIMULATOR, row.average, *row.subsets.values()) for row in published]
    columns = (
        Column("Planner"),
        Column("Simulator"),
        Column("Average", 1, _HEAT),
        *(Column(_subset_title(subset), 1, _HEAT) for subset in EPISODES),
    )
    note = "Success in percent. Average of this run: over its episodes of the protocol's subsets."
    table = Table("leaderboard", "This run and published results", columns, tuple(rows), note, detail=True)
    lead = (
        "The published rows were measured in another simulator with other scenes and objects: the numbers do "
        "not compare, only the protocol does. Source: EmbodiedBench, arXiv 2502.09560 v3, Table 3."
    )
    return Chapter("leaderboard", "What was published?", lead, "", (Part("", (table,)),))


def _level_row(study: PlannerStudy, kind: str, arms: dict[int, str], ran: Sequence[int]) -> Row:
    shares = (_percent(success_of(study.of(arms[level])).value) if level in arms else None for level in ran)
    highest = arms[max(arms)]
    title = arm_title(highest).partition(", level")[0]
    return (f"{kind} {title}", *shares, *paired_change(study, highest))


def paired_change(study: PlannerStudy, arm: str) -> Row:
    """Return the change of success against clean images.

    Returns:
        The change in points, the ends of its interval, McNemar's p and the number of episodes.
    """
    clean = {one.episode.name: one.success for one in study.of(CLEAN)}
    pairs = [(clean[one.episode.name], one.success) for one in study.of(arm) if one.episode.name in clean]
    if not pairs:
        return None, None, None, None, 0
    before, after = np.array(pairs, dtype=bool).T
    change = paired_difference(before, after)
    ends = (_WHOLE * end for end in (change.value, change.low, change.high))
    return *ends, mcnemar(before, after), len(pairs)


def _confusion(study: PlannerStudy) -> Iterator[Table]:
    table, solved = confusion(study.failures), solved_faults(study.transcripts)
    if not table:
        return
    kinds = [kind for kind in ErrorKind if any(counts[kind] for counts in table.values())]
    rows: list[Row] = [
        (str(fault), solved[fault], *(table.get(fault, Counter())[kind] for kind in kinds))
        for fault in Fault
        if fault in table or solved[fault]
    ]
    columns = (Column("Seeded fault"), Column("Solved"), *(Column(str(kind).capitalize()) for kind in kinds))
    note = "Episodes of planner-faulty by the fault that it was given (rows), and what the rules find."
    yield Table("confusion", "Rules against seeded faults", columns, rows, note)


def _counted(counts: Counter[tuple[str, ErrorKind]], kind: ErrorKind, arms: tuple[str, ...]) -> Iterator[int]:
    for arm in arms:
        yield (
            counts[arm, kind]
            if arm != "all arms"
            else sum(count for (_, found), count in counts.items() if found is kind)
        )


def _lane(share: Share) -> Lane:
    ends = (_percent(share.value), _percent(share.low), _percent(share.high))
    text = f"{ends[0]:.1f} %, {ends[1]:.1f} to {ends[2]:.1f} %"
    return Lane("decision", text, f"{ends[0]:.1f} %", dot=Dot(*(round(end, 2) for end in ends)))


def _turns(study: PlannerStudy, arm: str, name: str) -> Cell:
    return mean(len(one.turns) for one in _of_name(study, arm, name))


def _steps(study: PlannerStudy, arm: str, name: str) -> Cell:
    return mean(sum(turn.costs for turn in one.turns) for one in _of_name(study, arm, name))


def _format_errors(study: PlannerStudy, arm: str, name: str) -> Cell:
    return sum(one.format_errors for one in _of_name(study, arm, name))


def _of_name(study: PlannerStudy, arm: str, name: str) -> tuple[Transcript, ...]:
    return study.of(arm, None if name == "all" else Subset(name))


def _arm_column(arm: str) -> Column:
    return Column("All conditions", name="all_arms") if arm == "all arms" else Column(arm_title(arm))


def _subset_title(subset: Subset) -> str:
    return str(subset).replace("_", " ").capitalize()


def _percent(value: float) -> float:
    return _WHOLE * value
