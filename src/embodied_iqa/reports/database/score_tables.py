"""Tables of scores: distributions, subjects, agreement, thirds, breakdowns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from embodied_iqa.analysis.breakdowns import BreakdownRow
from embodied_iqa.analysis.distributions import QUANTILES, Spread
from embodied_iqa.analysis.grid import PARTS, Group
from embodied_iqa.analysis.jnd import NEVER, LeavingLevel, Third
from embodied_iqa.analysis.published import AGREEMENT, REMARKS
from embodied_iqa.analysis.study import TOTAL, GroupStudy, Study
from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.reports.database.tables import Cell, Column, Table
from embodied_iqa.reports.trial.headline import distortion_name

__all__ = [
    "KINDS",
    "agreement_matrices",
    "agreement_means",
    "between_table",
    "breakdown_table",
    "distribution_table",
    "jnd_table",
    "name_of",
    "paper_says",
    "part_table",
    "subject_table",
    "third_table",
    "view_table",
]

_SCALE: Final = (0.0, 5.0)
_UNIT: Final = (0.0, 1.0)
_VALUES: Final = {"": "not known"}
KINDS: Final[Mapping[Group, str]] = {Group.COGNITION: "VLM", Group.DECISION: "VLA"}
"""What the subjects of a kind are called."""


def name_of(distortion_id: str) -> str:
    """Return such as "02 Lens blur"."""
    return f"{distortion_id} {distortion_name(DistortionSpec(distortion_id, 1))}"


def paper_says(distortion_id: str) -> str:
    """Return what the paper says of a distortion; empty where it singles it out in nothing that is known."""
    return f"Paper: {REMARKS[distortion_id]}" if distortion_id in REMARKS else ""


def distribution_table(found: GroupStudy) -> Table:
    """Mean scores by distortion and level; the CSV file has counts, deviations and quantiles too."""
    by = {(one.distortion_id, one.level): one for one in found.spreads}
    ids = dict.fromkeys(one.distortion_id for one in found.spreads)
    columns = [Column("Distortion")]
    for level in LEVELS:
        columns.append(Column(f"Level {level}", heat=_SCALE, name=f"mean_level_{level}"))
        more = ("count", "deviation", *(f"p{q}" for q in QUANTILES))
        columns += [Column(what, name=f"{what}_level_{level}", shown=False) for what in more]
    rows = [(name_of(number), *(cell for level in LEVELS for cell in _spread(by[number, level])))
            for number in ids]  # fmt: skip
    return Table(
        f"distributions_{found.group}",
        f"Mean {found.group} score by distortion and level",
        tuple(columns),
        tuple(rows),
        "Mean opinion, 0 to 5 (best). The CSV file has counts, standard deviations and quantiles too.",
        folded=True,
    )


def _spread(one: Spread) -> tuple[Cell, ...]:
    return one.mean, one.count, one.deviation, *one.quantiles


def subject_table(study: Study) -> Table:
    """How each subject scored."""
    columns = (
        Column("Subject"),
        Column("Kind"),
        Column("Pairs"),
        Column("Missing"),
        Column("Other views", name="pairs_of_other_views"),
        Column("Mean", heat=_SCALE),
        Column("Deviation"),
        Column("Highest score", heat=_UNIT, name="share_highest"),
        Column("SRCC with the others", heat=_UNIT, name="srcc_with_others"),
    )
    rows = [
        (row.subject, str(group), row.count, row.missing, row.elsewhere, row.mean, row.deviation,
         row.unmoved, row.with_others.value)
        for group, found in study.groups.items()
        for row in found.subjects
    ]  # fmt: skip
    note = (
        "Pairs: scored for all tasks; the rest is missing and counts nowhere. Other views: pairs of a view "
        "that the subject is not made for, which do not count either. Highest score: share of the "
        "pairs on which the subject did not change at all. With the others: against their mean opinion."
    )
    return Table("subjects", "Subjects", columns, tuple(rows), note)


def view_table(study: Study) -> Table:
    """How many subjects answered about the pictures of each view, and how many of them count."""
    columns = [Column("View"), Column("References")]
    for group, kind in KINDS.items():
        columns.append(Column(f"{kind}s made for it", name=f"{group}_counted"))
        columns.append(Column(f"{kind}s that answered", name=f"{group}_answered"))
    rows: list[tuple[Cell, ...]] = [
        (one.view, one.references, *(count for g in KINDS for count in (one.counted[g], one.answered[g])))
        for one in study.views
    ]
    note = (
        "Every subject answers about every picture. The scores of this page are of those that are made for "
        "the picture's camera, or for any: others hardly react to what is done to it."
    )
    if study.all_views:
        columns = [replace(one, title=one.title.replace("made for it", "counted")) for one in columns]
        note = "Every subject counts for every picture here, also where it is made for another camera."
    return Table("views", "Whose view", tuple(columns), tuple(rows), note)


def part_table(study: Study) -> Table:
    """Mean opinion of each dimension."""
    columns = (Column("Dimension"), Column("Kind"), Column("Mean", heat=_SCALE))
    rows = [
        (part, str(group), found.means[part])
        for group, found in study.groups.items()
        for part in (*PARTS[group], TOTAL)
    ]
    note = "0 to 5 (best): sums over five tasks. Semantics is CIDEr divided by its maximum."
    return Table("dimensions", "By dimension", columns, tuple(rows), note)


def agreement_means(study: Study) -> Table:
    """Mean agreement of each dimension, beside the paper's and what noise allows."""
    columns = (
        Column("Dimension"),
        Column("Kind"),
        Column("Mean SRCC", heat=_UNIT, name="mean_srcc"),
        Column("The paper", heat=_UNIT, name="paper_mean_srcc"),
        Column("Split half", heat=_UNIT, name="split_half_srcc"),
        Column("Spread", name="split_half_spread"),
        Column("Noise ceiling", heat=_UNIT, name="noise_ceiling"),
        Column("Splits", name="splits", shown=False),
        Column("Undefined", name="undefined_pairs_of_subjects"),
    )
    rows = []
    for group, found in study.groups.items():
        for part in (*PARTS[group], TOTAL):
            own, ceiling = found.agreements[part], found.ceilings[part]
            rows.append(
                (part, str(group), own.mean, AGREEMENT.get(part), ceiling.mean, ceiling.spread,
                 ceiling.corrected, ceiling.splits, own.undefined)
            )  # fmt: skip
    note = (
        "Mean SRCC over all pairs of subjects. Split half: SRCC of the mean opinions of two disjoint halves "
        "of the subjects, with its spread over the splits; noise ceiling: the same, corrected by "
        "Spearman-Brown to what two whole sets of as many subjects would reach. Undefined: pairs of "
        "subjects one of which is constant. The paper's number for the whole score is not at hand."
    )
    return Table("agreement", "Agreement between subjects", columns, tuple(rows), note)


def agreement_matrices(found: GroupStudy) -> Iterator[Table]:
    """Yield the matrix of every dimension, that of the whole score first."""
    for part in (TOTAL, *PARTS[found.group]):
        own = found.agreements[part]
        columns = (Column("Subject"), *(Column(name, heat=_UNIT, name=name) for name in own.subjects))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (name, *(float(value) for value in own.matrix[row])) for row, name in enumerate(own.subjects)
        )
        paper = f"; the paper: {AGREEMENT[part]:.2f}" if part in AGREEMENT else ""
        mean = "not defined" if np.isnan(own.mean) else f"{own.mean:.2f}"
        note = f"SRCC between subjects over all pairs that both scored. Mean {mean}{paper}."
        title = f"{str(found.group).capitalize()}: {part}"
        yield Table(f"srcc_{found.group}_{part}", title, columns, rows, note, folded=part != TOTAL)


def between_table(study: Study) -> Table:
    """VLMs against VLAs."""
    columns = (
        Column("Mean opinion"),
        Column("SRCC", heat=_UNIT),
        Column("Pairs"),
        Column("Noise ceiling", heat=_UNIT),
    )
    rows = [
        (name, one.value, one.count, study.between_ceiling)
        for name, one in (("raw", study.between_raw), ("z-scored", study.between_z_scored))
        if one is not None
    ]
    note = (
        "SRCC of the mean opinion of the VLMs with that of the VLAs. Noise ceiling: the geometric mean of "
        "both kinds' own ceilings. Z-scored: scores of a subject with mean 0 and deviation 1, then averaged."
    )
    return Table("between", "Cognition against decision", columns, tuple(rows), note)


def third_table(study: Study) -> Table:
    """Where the thirds are cut, and how many pairs each has."""
    columns = (
        Column("Kind"),
        Column("Severe below", name="lower"),
        Column("Mild from", name="upper"),
        *(Column(str(third).capitalize(), name=str(third)) for third in Third),
        Column("No score", name="unscored"),
    )
    rows: list[tuple[Cell, ...]] = [
        (str(group), cut.lower, cut.upper, *(cut.counts[third] for third in Third), cut.unscored)
        for group, cut in ((group, found.thirds) for group, found in study.groups.items())
    ]
    note = (
        "Scores cut at their 1/3 and 2/3 quantiles. Equal scores are never parted: ties make thirds unequal."
    )
    return Table("thirds", "Mild, medium, severe", columns, tuple(rows), note)


def jnd_table(study: Study) -> Table:
    """Where each distortion first leaves mild."""
    columns = [Column("Distortion")]
    for group in study.groups:
        columns.append(Column(str(group).capitalize(), name=f"{group}_text"))
        more = ("level", "low", "high", *(f"mild_level_{level}" for level in LEVELS))
        columns += [Column(what, name=f"{group}_{what}", shown=False) for what in more]
    columns.append(Column("The paper", name="paper"))
    by = [{one.distortion_id: one for one in found.leaving} for found in study.groups.values()]
    rows: list[tuple[Cell, ...]] = []
    for number in sorted({number for leaving in by for number in leaving}):
        cells: list[Cell] = [name_of(number)]
        for leaving in by:
            one = leaving[number]
            cells += [leaving_text(one), one.level, one.low, one.high, *one.shares]
        rows.append((*cells, paper_says(number).removeprefix("Paper: ")))
    note = (
        "Lowest level at which fewer than half of the pairs are mild, with its 95 % interval "
        "(references drawn again 500 times, the cut held). never: at none of the five levels."
    )
    return Table("jnd", "First level that is not mild", tuple(columns), tuple(rows), note, folded=True)


def leaving_text(one: LeavingLevel) -> str:
    """Return such as "3 (2 to never)"."""
    if one.level is None or one.low is None or one.high is None:
        return "not scored"
    level, low, high = ("never" if value == NEVER else str(value) for value in (one.level, one.low, one.high))
    return level if low == high == level else f"{level} ({low} to {high})"


def breakdown_table(study: Study, by: str) -> Table:
    """Mean scores by one column."""
    columns = [Column(by[0].upper() + by[1:], name=by.replace(" ", "_").lower())]
    for group in study.groups:
        title = str(group).capitalize()
        columns += [
            Column(title, heat=_SCALE, name=f"{group}_mean"),
            Column("low", name=f"{group}_low", shown=False),
            Column("high", name=f"{group}_high", shown=False),
            Column("pairs", name=f"{group}_pairs"),
            *(Column(f"{third}, %", digits=0, name=f"{group}_{third}_percent") for third in Third),
        ]
    rows_of = [{row.value: row for row in found.breakdowns[by]} for found in study.groups.values()]
    values = dict.fromkeys(value for rows in rows_of for value in rows)
    rows: list[tuple[Cell, ...]] = [
        (value_name(by, value), *(cell for found in rows_of for cell in _breakdown(found.get(value))))
        for value in values
    ]
    stem = by.replace(" ", "_").lower()
    return Table(f"by_{stem}", f"By {by}", tuple(columns), tuple(rows), folded=True)


def value_name(by: str, value: str) -> str:
    """Return what people call a value of a column."""
    if by == "distortion":
        return name_of(value)
    return _VALUES.get(value, value)


def _breakdown(row: BreakdownRow | None) -> tuple[Cell, ...]:
    if row is None:
        return (None,) * (4 + len(Third))
    return row.mean, row.low, row.high, row.count, *(100 * row.shares[third] for third in Third)
