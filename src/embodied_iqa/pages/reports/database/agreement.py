"""Chapter: agreement between subjects, and between VLMs and VLAs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from embodied_iqa.data.analysis.grid import PARTS
from embodied_iqa.data.analysis.published_results import AGREEMENT
from embodied_iqa.data.analysis.study import TOTAL, GroupStudy, Study
from embodied_iqa.pages.reports.database.by_group import UNIT_RANGE
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    parts = [Part("Means, the paper's, and what noise allows", (_means(study),))]
    parts += [
        Part(f"Between {group.role.upper()}s", tuple(_matrices(found)))
        for group, found in study.groups.items()
        if len(found.subjects) > 1
    ]
    if study.between_raw is not None:
        parts.append(Part("VLMs against VLAs", (_between(study),)))
    return Chapter(
        "agreement",
        "Do subjects agree?",
        "Spearman's rank correlation (SRCC) between the scores of two subjects over the same pairs.",
        "Mean SRCC 0.31, 0.31 and 0.30 between VLMs (precision, recall, semantics); 0.25, 0.23 and 0.28 "
        "between VLAs (position, rotation, state).",
        tuple(parts),
    )


def _means(study: Study) -> Table:
    """Mean agreement of each dimension, beside the paper's and the noise ceiling."""
    columns = (
        Column("Dimension"),
        Column("Kind"),
        Column("Mean SRCC", heat=UNIT_RANGE, name="mean_srcc"),
        Column("The paper", heat=UNIT_RANGE, name="paper_mean_srcc"),
        Column("Split half", heat=UNIT_RANGE, name="split_half_srcc"),
        Column("Spread", name="split_half_spread"),
        Column("Reliability", heat=UNIT_RANGE),
        Column("Noise ceiling", heat=UNIT_RANGE, name="noise_ceiling"),
        Column("Splits", name="splits", shown=False),
        Column("Undefined", name="undefined_pairs_of_subjects"),
    )
    rows: list[Row] = []
    for group, found in study.groups.items():
        for part in (*PARTS[group], TOTAL):
            own, ceiling = found.agreements[part], found.ceilings[part]
            rows.append(
                (part, str(group), own.mean, AGREEMENT.get(part), ceiling.mean, ceiling.spread,
                 ceiling.reliability, ceiling.ceiling, ceiling.splits, own.undefined)
            )  # fmt: skip
    note = (
        "Mean SRCC over all pairs of subjects. Split half: SRCC of the mean opinions of two disjoint halves "
        "of the subjects, with its spread over the splits; reliability: the same, corrected by "
        "Spearman-Brown to what two whole sets of as many subjects would reach; noise ceiling: its square "
        "root, the SRCC with the mean opinion of a predictor without noise. Undefined: pairs of "
        "subjects one of which is constant. The paper's number for the whole score is not available."
    )
    return Table("agreement", "Agreement between subjects", columns, rows, note)


def _matrices(group: GroupStudy) -> Iterator[Table]:
    """Yield the matrix of every dimension, that of the whole score first."""
    for part in (TOTAL, *PARTS[group.group]):
        own = group.agreements[part]
        columns = (Column("Subject"), *(Column(name, heat=UNIT_RANGE, name=name) for name in own.subjects))
        rows: list[Row] = [
            (name, *map(float, line)) for name, line in zip(own.subjects, own.matrix, strict=True)
        ]
        paper = f"; the paper: {AGREEMENT[part]:.2f}" if part in AGREEMENT else ""
        mean = "not defined" if np.isnan(own.mean) else f"{own.mean:.2f}"
        note = f"SRCC between subjects over all pairs that both scored. Mean {mean}{paper}."
        title = f"{group.group.title()}: {part}"
        yield Table(f"srcc_{group.group}_{part}", title, columns, rows, note, folded=part != TOTAL)


def _between(study: Study) -> Table:
    columns = (
        Column("Mean opinion"),
        Column("SRCC", heat=UNIT_RANGE),
        Column("Pairs"),
        Column("Noise ceiling", heat=UNIT_RANGE),
    )
    rows = [
        (name, one.value, one.count, study.between_ceiling)
        for name, one in (("raw", study.between_raw), ("z-scored", study.between_z_scored))
        if one is not None
    ]
    note = (
        "SRCC of the mean opinion of the VLMs with that of the VLAs. Noise ceiling: the product of both "
        "kinds' own ceilings. Z-scored: scores of a subject with mean 0 and deviation 1, then averaged."
    )
    return Table("between", "Cognition against decision", columns, rows, note)
