"""The page of a database: sections of figures and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from embodied_iqa import __version__
from embodied_iqa.analysis.grid import TASKS_OF_SCALE, Group
from embodied_iqa.analysis.published import EXECUTION_REMARK, SHAPE
from embodied_iqa.analysis.study import TOTAL, GroupStudy, Study
from embodied_iqa.reports.database import figures, further_tables, score_tables
from embodied_iqa.reports.database.figures import Figure, Scatter
from embodied_iqa.reports.database.score_tables import KINDS
from embodied_iqa.reports.database.tables import Table
from embodied_iqa.reports.kit.formatting import ABSENT, clean_text, number, plural, share
from embodied_iqa.reports.trial.page_model import Tile
from embodied_iqa.scoring.cognition import COGNITION_RECIPE
from embodied_iqa.scoring.decision import DECISION_RECIPE
from embodied_iqa.scoring.execution import EXECUTION_RECIPE

__all__ = ["DatabasePage", "Part", "Section", "build_page"]

_HIGHEST: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Part:
    """A figure, with the table of the same numbers below it, or a table alone.

    Attributes:
        title: Heading; empty for none of its own.
        figure: Rows over an axis, or None.
        scatters: Beside each other.
        tables: Below.
        boxes: Whether the figure shows spreads of five levels.
    """

    title: str
    tables: tuple[Table, ...]
    figure: Figure | None = None
    scatters: tuple[Scatter, ...] = ()
    boxes: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading and a sentence on what the paper found."""

    anchor: str
    title: str
    lead: str
    paper: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class DatabasePage:
    """The whole page."""

    name: str
    headline: str
    lead: str
    generator: str
    tiles: tuple[Tile, ...]
    remarks: tuple[str, ...]
    sections: tuple[Section, ...]
    recipes: tuple[tuple[str, str], ...]
    record_text: str
    tables_folder: str

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table, in order."""
        return tuple(table for section in self.sections for part in section.parts for table in part.tables)


def build_page(study: Study, name: str, record: Mapping[str, Any], tables_folder: str) -> DatabasePage:
    """Put the page together.

    Args:
        study: What was found.
        name: The database's.
        record: Its `dataset.json`.
        tables_folder: Where the CSV files lie, seen from the page.
    """
    return DatabasePage(
        name=clean_text(name),
        headline=_headline(study),
        lead=_lead(study),
        generator=f"embodied_iqa {__version__}",
        tiles=_tiles(study),
        remarks=_remarks(study),
        sections=(
            _distributions(study),
            _agreement(study),
            _jnd(study),
            _breakdowns(study),
            _attributes(study),
            _execution(study),
        ),
        recipes=(
            ("Cognition", COGNITION_RECIPE),
            ("Decision", DECISION_RECIPE),
            ("Execution", EXECUTION_RECIPE),
        ),
        record_text=clean_text(json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)),
        tables_folder=tables_folder,
    )


def _headline(study: Study) -> str:
    parts = []
    for group, found in study.groups.items():
        agreed, kinds = found.agreements[TOTAL].mean, plural(len(found.subjects), KINDS[group])
        if np.isfinite(agreed):
            parts.append(f"{kinds} rank the pictures alike with SRCC {number(agreed)}")
        elif np.isfinite(found.means[TOTAL]):
            parts.append(f"{kinds} scored the pictures {number(found.means[TOTAL])} of {TASKS_OF_SCALE}")
        else:
            parts.append(f"{kinds} gave no score that counts")
    if study.between_raw is not None and study.between_raw.undefined is None:
        parts.append(f"cognition and decision go together with {number(study.between_raw.value)}")
    return f"{'; '.join(parts)}."


def _lead(study: Study) -> str:
    references, pairs = len(np.unique(study.pairs.reference_ids)), len(study.pairs)
    return f"{pairs:,} pairs of {plural(references, 'reference')}. The paper: {SHAPE}."


def _tiles(study: Study) -> tuple[Tile, ...]:
    tiles = []
    for group, found in study.groups.items():
        mean = found.means[TOTAL]
        tiles.append(
            Tile(
                f"Mean {group}",
                number(mean) if np.isfinite(mean) else ABSENT,
                f"0 to {TASKS_OF_SCALE}, {plural(len(found.subjects), KINDS[group])}",
                share(mean, TASKS_OF_SCALE),
            )
        )
        agreed, ceiling = found.agreements[TOTAL].mean, found.ceilings[TOTAL].corrected
        note = "" if np.isnan(ceiling) else f"noise ceiling {number(ceiling)}"
        text = number(agreed) if np.isfinite(agreed) else ABSENT
        tiles.append(Tile(f"{KINDS[group]}s agree, SRCC", text, note, share(agreed, 1)))
    if study.between_raw is not None and study.between_raw.undefined is None:
        between = study.between_raw.value
        note = f"{study.between_raw.count:,} pairs"
        tiles.append(Tile("Cognition against decision", number(between), note, share(between, 1)))
    return tuple(tiles)


def _remarks(study: Study) -> tuple[str, ...]:
    remarks = []
    for group, found in study.groups.items():
        constant = [found.subjects[column].subject for column in found.opinion.constant]
        if constant:
            remarks.append(
                f"{', '.join(constant)} gave every pair the same score: no correlation, no z-score."
            )
        if found.opinion.partial:
            pairs = plural(found.opinion.partial, "pair")
            remarks.append(
                f"{pairs} without the {group} score of every {KINDS[group]}: the mean is over the others."
            )
        if len(found.subjects) == 1:
            remarks.append(f"Only one {KINDS[group]}: whether subjects agree needs two.")
        if found.thirds.upper > TASKS_OF_SCALE - _HIGHEST:
            remarks.append(
                f"More than a third of the pairs have the highest {group} score: mild means unchanged there."
            )
        if found.opinion.absent:
            remarks.append(f"{plural(found.opinion.absent, 'pair')} without any {group} score: left out.")
    return (*remarks, *(remark for group in Group for remark in _view_remarks(study, group)))


def _view_remarks(study: Study, group: Group) -> Iterator[str]:
    """Say which references have no score because no subject is made for their camera."""
    if not any(one.answered[group] for one in study.views) and group not in study.groups:
        yield f"No subject of {group} is in the database."
        return
    unseen = [one for one in study.views if not one.counted[group]]
    if unseen:
        references = plural(sum(one.references for one in unseen), "reference")
        views = f"{'view' if len(unseen) == 1 else 'views'} {' and '.join(one.view for one in unseen)}"
        yield (
            f"{references} without a {group} score: no {KINDS[group]} is made for the {views}. "
            "With --all-views those count that are made for another one."
        )
    if study.all_views:
        yield f"{KINDS[group]}s also count for pictures of views that they are not made for (--all-views)."


def _distributions(study: Study) -> Section:
    tables = tuple(score_tables.distribution_table(found) for found in study.groups.values())
    return Section(
        "distributions",
        "Scores of 30 distortions at five levels",
        "Mean opinion of the subjects, 0 (nothing left) to 5 (as on the reference). Line: 5 to 95 % of the "
        "pairs; bar: 25 to 75 %; tick: median; level 1 on top, level 5 at the bottom.",
        "What it says of single distortions stands below their names; its means are not at hand.",
        (
            Part("", tables, figures.distribution_figure(study), boxes=True),
            Part("Dimensions", (score_tables.part_table(study),)),
            Part("Subjects", (score_tables.subject_table(study),)),
            Part("Whose view", (score_tables.view_table(study),)),
        ),
    )


def _agreement(study: Study) -> Section:
    def matrices(found: GroupStudy) -> tuple[Table, ...]:
        return tuple(score_tables.agreement_matrices(found))

    parts = [Part("Means, the paper's, and what noise allows", (score_tables.agreement_means(study),))]
    parts += [
        Part(f"Between {KINDS[group]}s", matrices(found))
        for group, found in study.groups.items()
        if len(found.subjects) > 1
    ]
    if study.between_raw is not None:
        parts.append(Part("VLMs against VLAs", (score_tables.between_table(study),)))
    return Section(
        "agreement",
        "Do subjects agree?",
        "Spearman's rank correlation (SRCC) between the scores of two subjects over the same pairs.",
        "Mean SRCC 0.31, 0.31 and 0.30 between VLMs (precision, recall, semantics); 0.25, 0.23 and 0.28 "
        "between VLAs (position, rotation, state).",
        tuple(parts),
    )


def _jnd(study: Study) -> Section:
    return Section(
        "jnd",
        "The robot's just-noticeable difference",
        "All pairs are cut in thirds by their mean opinion: mild, medium, severe. A distortion is noticed "
        "from the first level on at which fewer than half of the pairs are mild. Dot: that level; line: its "
        "95 % interval.",
        "It grades pictures mild, medium and severe too; its levels for single distortions are not at hand.",
        (
            Part("First level that is not mild", (score_tables.jnd_table(study),), figures.jnd_figure(study)),
            Part("The thirds", (score_tables.third_table(study),)),
        ),
    )


def _breakdowns(study: Study) -> Section:
    columns = next(iter(study.groups.values())).breakdowns
    parts = tuple(
        Part(
            by[0].upper() + by[1:],
            (score_tables.breakdown_table(study, by),),
            figures.breakdown_figure(study, by),
        )
        for by in columns
    )
    return Section(
        "breakdowns",
        "Where scores are high and low",
        "Dot: mean opinion of the pairs, 0 to 5; line: 95 % interval from drawing whole references again.",
        "VLAs are very sensitive to maximum brighten and darken (18, 19) and hardly to mean brighten (20); "
        "Gaussian denoise (16) hurts from level 1, block interpolation (25) hardly at level 5.",
        parts,
    )


def _attributes(study: Study) -> Section:
    tables = (further_tables.attribute_means(study.attributes),)
    ceilings = {group: found.ceilings[TOTAL] for group, found in study.groups.items()}
    more = (further_tables.attribute_correlations(study.attributes, ceilings),)
    return Section(
        "attributes",
        "What distortions do to the pictures",
        "Low-level attributes, before any subject looks.",
        "Its numbers are not at hand.",
        (Part("By distortion", tables), Part("Against the scores", more)),
    )


def _execution(study: Study) -> Section:
    found = study.execution
    parts: tuple[Part, ...] = ()
    lead = "No experiment was joined. The command embodied-iqa experiment makes one; this joins its folder:"
    if found is not None:
        lead = "What the arm did in the joined experiment, against what subjects understood and decided."
        drawn = (figures.scatter(found.rows, group) for group in study.groups)
        scatters = tuple(one for one in drawn if one is not None)
        parts = (
            Part("Correlations", (further_tables.execution_means(found),)),
            Part("By distortion", (further_tables.execution_rows(found),), scatters=scatters),
        )
    return Section(
        "execution",
        "Does it matter to the arm?",
        lead,
        EXECUTION_REMARK,
        parts,
    )
