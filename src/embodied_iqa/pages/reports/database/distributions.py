"""Chapter: distribution of the scores by distortion and level, by dimension, subject and view."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from embodied_iqa.data.analysis.breakdowns import QUANTILES, Spread
from embodied_iqa.data.analysis.grid import PARTS, Group
from embodied_iqa.data.analysis.study import TOTAL, GroupStudy, Study
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.pages.reports.database.by_group import (
    SCORE_RANGE,
    UNIT_RANGE,
    across_groups,
    lane_figure,
    score_percent,
)
from embodied_iqa.pages.reports.kit.figure import Box, Lane
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    figure = lane_figure(study, across_groups(study, _by_distortion), _lane, boxes=True)
    return Chapter(
        "distributions",
        "Scores of 30 distortions at five levels",
        "Mean opinion of the subjects, 0 (nothing left) to 5 (as on the reference). Line: 5 to 95 % of the "
        "pairs; bar: 25 to 75 %; tick: median; level 1 on top, level 5 at the bottom.",
        "Its remarks on single distortions are below their names; its means are not available.",
        (
            Part("", tuple(_distributions(found) for found in study.groups.values()), figure),
            Part("Dimensions", (_dimensions(study),)),
            Part("Subjects", (_subjects(study),)),
            Part("Subjects by view", (_views(study),)),
        ),
    )


def _by_distortion(group: GroupStudy) -> list[tuple[str, tuple[Spread, ...]]]:
    return [(number, tuple(one)) for number, one in groupby(group.spreads, lambda one: one.distortion_id)]


def _lane(group: Group, spreads: tuple[Spread, ...] | None) -> Lane:
    known = [one for one in spreads or () if one.count]
    boxes = tuple(Box(one.level, *map(score_percent, one.quantiles)) for one in known)
    means = ", ".join(f"level {one.level}: {one.mean:.2f}" for one in known)
    return Lane(str(group), f"{group}, mean at {means}" if known else "not scored", boxes=boxes)


def _distributions(group: GroupStudy) -> Table:
    columns = [Column("Distortion")]
    for level in LEVELS:
        columns.append(Column(f"Level {level}", heat=SCORE_RANGE, name=f"mean_level_{level}"))
        more = ("count", "deviation", *(f"p{q}" for q in QUANTILES))
        columns += [Column(what, name=f"{what}_level_{level}", shown=False) for what in more]
    rows: list[Row] = [
        (
            distortion_label(number),
            *(cell for one in spreads for cell in (one.mean, one.count, one.deviation, *one.quantiles)),
        )
        for number, spreads in _by_distortion(group)
    ]
    return Table(
        f"distributions_{group.group}",
        f"Mean {group.group} score by distortion and level",
        columns,
        rows,
        "Mean opinion, 0 to 5 (best). The CSV file has counts, standard deviations and quantiles too.",
        folded=True,
    )


def _dimensions(study: Study) -> Table:
    columns = (Column("Dimension"), Column("Kind"), Column("Mean", heat=SCORE_RANGE))
    rows = [
        (part, str(group), found.means[part])
        for group, found in study.groups.items()
        for part in (*PARTS[group], TOTAL)
    ]
    note = "0 to 5 (best): five times the mean over the tasks. Semantics is CIDEr divided by its maximum."
    return Table("dimensions", "By dimension", columns, rows, note)


def _subjects(study: Study) -> Table:
    columns = (
        Column("Subject"),
        Column("Kind"),
        Column("Pairs"),
        Column("Missing"),
        Column("Other views", name="pairs_of_other_views"),
        Column("Mean", heat=SCORE_RANGE),
        Column("Deviation"),
        Column("Highest score", heat=UNIT_RANGE, name="share_highest"),
        Column("SRCC with the others", heat=UNIT_RANGE, name="srcc_with_others"),
    )
    rows = [
        (row.subject, str(group), row.count, row.missing, row.elsewhere, row.mean, row.deviation,
         row.unmoved, row.with_others.value)
        for group, found in study.groups.items()
        for row in found.subjects
    ]  # fmt: skip
    note = (
        "Pairs: scored for all tasks; the others are missing and do not count. Other views: pairs of a view "
        "that the subject is not made for, which do not count either. Highest score: share of the "
        "pairs on which the subject did not change at all. With the others: against their mean opinion."
    )
    return Table("subjects", "Subjects", columns, rows, note)


def _views(study: Study) -> Table:
    """How many subjects answered about the images of each view, and how many of them count."""
    columns = [Column("View"), Column("References")]
    for group in Group:
        kind = group.role.upper()
        columns.append(Column(f"{kind}s made for it", name=f"{group}_counted"))
        columns.append(Column(f"{kind}s that answered", name=f"{group}_answered"))
    rows: list[Row] = [
        (one.view, one.references, *(count for g in Group for count in (one.counted[g], one.answered[g])))
        for one in study.views
    ]
    note = (
        "Every subject answers about every image. The scores of this page are of those that are made for "
        "the image's camera, or for any: others hardly react to what is done to it."
    )
    if study.all_views:
        columns = [replace(one, title=one.title.replace("made for it", "counted")) for one in columns]
        note = "Every subject counts for every image here, also where it is made for another camera."
    return Table("views", "Subjects by view", columns, rows, note)
