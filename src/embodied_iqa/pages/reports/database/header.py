"""The header of a database's report: the result in one sentence, the main numbers, remarks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

from embodied_iqa.data.analysis.breakdowns import Worst, levels_are_mixed
from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group
from embodied_iqa.data.analysis.intervals import Interval
from embodied_iqa.data.analysis.published_results import SHAPE
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.data.analysis.study import TOTAL, GroupStudy, Study
from embodied_iqa.pages.reports.kit.formatting import (
    ABSENT,
    distortion_label,
    interval_words,
    number,
    plural,
    share,
)
from embodied_iqa.pages.reports.kit.page import Tile

_ROUNDING: Final = 1e-6
_MOST_TIES: Final = 3
"""Distortions that a tie names."""


def headline(study: Study) -> str:
    """Say how well subjects agree, and which distortion is the worst."""
    parts = []
    for group, found in study.groups.items():
        agreed, subjects = found.agreements[TOTAL].mean, _subjects(group, found)
        if np.isfinite(agreed):
            images = f"the images of {plural(found.interval.references, 'reference')}"
            parts.append(f"{subjects} rank {images} alike with SRCC {_with_interval(agreed, found.interval)}")
        elif np.isfinite(found.means[TOTAL]):
            parts.append(f"{subjects} scored the images {number(found.means[TOTAL])} of {TASKS_OF_SCALE}")
        else:
            parts.append(f"{plural(len(found.subjects), group.role.upper())} gave no score that counts")
    if study.between_raw is not None and study.between_raw.undefined is None:
        between = _with_interval(study.between_raw.value, study.between_interval)
        parts.append(f"cognition and decision correlate at {between}")
    worst = (_worst(group, found.worst) for group, found in study.groups.items() if found.worst is not None)
    return " ".join((f"{'; '.join(parts)}.", *worst))


def _subjects(group: Group, study: GroupStudy) -> str:
    """Return how many subjects were compared, and in how many pairs where some share no image."""
    defined = np.triu(np.isfinite(study.agreements[TOTAL].matrix), 1)
    compared, scored = int((defined | defined.T).any(axis=0).sum()), len(study.scored)
    subjects, pairs = plural(scored, group.role.upper()), int(defined.sum())
    if not pairs or pairs == scored * (scored - 1) // 2:
        return subjects
    return f"{subjects if compared == scored else f'{compared} of {subjects}'} ({plural(pairs, 'pair')})"


def _worst(group: Group, worst: Worst) -> str:
    """Name the worst distortion; say whether it is a tie."""
    said = f"Worst for {group}: {distortion_label(worst.distortion_id)}, mean {number(worst.mean)}"
    if worst.ties is None:
        few = plural(worst.references, "reference")
        return f"{said}; whether it is a tie cannot be said from {few}, {FEWEST_REFERENCES} are needed."
    if not worst.ties:
        return f"{said}; every other one is certainly milder."
    others = ", ".join(map(distortion_label, worst.ties[:_MOST_TIES]))
    more = len(worst.ties) - _MOST_TIES
    return f"{said}; a tie with {others}{f' and {more} more' * (more > 0)}."


def lead(study: Study) -> str:
    """Return the size of the database beside the paper's."""
    references, pairs = len(np.unique(study.pairs.reference_ids)), len(study.pairs)
    return f"{pairs:,} pairs of {plural(references, 'reference')}. The paper: {SHAPE}."


def tiles(study: Study) -> tuple[Tile, ...]:
    """Return mean scores and agreement."""
    found = [tile for group, one in study.groups.items() for tile in _group_tiles(group, one)]
    if study.between_raw is not None and study.between_raw.undefined is None:
        between = study.between_raw.value
        note = "; ".join(filter(None, (f"{study.between_raw.count:,} pairs", _ends(study.between_interval))))
        found.append(Tile("Cognition against decision", number(between), note, share(between, 1)))
    return tuple(found)


def _group_tiles(group: Group, study: GroupStudy) -> Iterator[Tile]:
    mean = study.means[TOTAL]
    scale = f"0 to {TASKS_OF_SCALE}, {plural(len(study.scored), group.role.upper())}"
    yield Tile(f"Mean {group}", _finite(mean), scale, share(mean, TASKS_OF_SCALE))
    agreed, ceiling = study.agreements[TOTAL].mean, study.ceilings[TOTAL].ceiling
    noise = "" if np.isnan(ceiling) else f"noise ceiling {number(ceiling)}"
    alone = f"two {group.role.upper()}s are needed" if len(study.scored) < 2 else ""
    note = "; ".join(filter(None, (alone or _ends(study.interval), noise)))
    yield Tile(f"{group.role.upper()}s agree, SRCC", _finite(agreed), note, share(agreed, 1))


def _with_interval(value: float, interval: Interval | None) -> str:
    return f"{number(value)} ({_ends(interval)})"


def _ends(interval: Interval | None) -> str:
    """Return an interval in words, or why it was withheld; empty without one."""
    return "" if interval is None else interval_words(interval.low, interval.high, interval.references)


def _finite(value: float) -> str:
    return number(value) if np.isfinite(value) else ABSENT


def remarks(study: Study, explained: Collection[str] = ()) -> tuple[str, ...]:
    """Say which scores are missing, constant or not counted.

    Args:
        study: The results.
        explained: Subjects without a score that other remarks name.
    """
    return (
        *_level_remarks(study),
        *(
            remark
            for group, found in study.groups.items()
            for remark in _score_remarks(group, found, explained)
        ),
        *(remark for group in Group for remark in _view_remarks(study, group)),
    )


def _level_remarks(study: Study) -> Iterator[str]:
    if levels_are_mixed(study.pairs):
        yield (
            "Each reference has one random level of a distortion: the mean of a distortion mixes mild and "
            "severe levels, which differ from distortion to distortion by chance. Compare at one level, or "
            "build with --levels all."
        )


def _score_remarks(group: Group, study: GroupStudy, explained: Collection[str]) -> Iterator[str]:
    constant = [study.subjects[column].subject for column in study.opinion.constant]
    if constant:
        yield f"{', '.join(constant)} gave every pair the same score: no correlation, no z-score."
    if study.opinion.partial:
        pairs = plural(study.opinion.partial, "pair")
        yield f"{pairs} without the {group} score of every {group.role.upper()}: the mean is over the others."
    idle = [row.subject for row in study.subjects if not row.count and row.subject not in explained]
    if idle:
        yield f"{', '.join(idle)} scored no pair completely: not counted."
    if len(study.scored) == 1:
        yield f"Only one {group.role.upper()}: agreement between subjects needs two."
    if study.thirds.upper > TASKS_OF_SCALE - _ROUNDING:
        yield f"More than a third of the pairs have the highest {group} score: mild means unchanged there."
    if study.opinion.absent:
        yield f"{plural(study.opinion.absent, 'pair')} without any {group} score: left out."


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
            f"{references} without a {group} score: no {group.role.upper()} is made for the {views}. "
            "With --all-views those count that are made for another one."
        )
    if study.all_views:
        subjects = f"{group.role.upper()}s"
        yield f"{subjects} also count for images of views that they are not made for (--all-views)."
