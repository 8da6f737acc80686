"""Published rows of StaticEmbodiedBench (arXiv 2508.06553), and what their arithmetic shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import structure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.suites.static_benchmark.vla_scores import overall

ITEMS_BY_DIMENSION: Final = (150, 150, 700)
"""Items of macro planning, micro perception and stage-wise reasoning (derived)."""
ITEMS_BY_PERSON: Final = (384, 616)
"""First-person and third-person items (derived: the pair that fits most rows)."""
_ROUNDING: Final = 0.05
"""Largest distance (percent) of a printed percentage from that of a whole number of items."""
_TOTAL_WITHIN: Final = 0.01


@dataclass(frozen=True, slots=True)
class PublishedVlm:
    """A row of the table of VLMs: accuracies in percent.

    Attributes:
        model: Name as printed.
        macro: Macro planning.
        micro: Micro perception.
        stage: Stage-wise reasoning.
        first: First-person items.
        third: Third-person items.
        score: Over all 1,000 items.
    """

    model: str
    macro: float
    micro: float
    stage: float
    first: float
    third: float
    score: float

    @property
    def hits(self) -> int:
        """Right answers of 1,000, from the nearest number of items in each dimension."""
        shares = (self.macro, self.micro, self.stage)
        return sum(_nearest(share, count) for share, count in zip(shares, ITEMS_BY_DIMENSION, strict=True))


@dataclass(frozen=True, slots=True)
class PublishedVla:
    """A row of the table of VLAs: points in [0, 100].

    Attributes:
        model: Name as printed.
        parameters: Their number, as printed.
        steps: Length of the action chunk.
        position: Points of the position.
        orientation: Points of the orientation.
        end_effector: Points of the gripper.
        score: Overall.
    """

    model: str
    parameters: str
    steps: int
    position: float
    orientation: float
    end_effector: float
    score: float

    @property
    def weighted(self) -> float:
        """The parts, weighted by degrees of freedom."""
        return overall(self.position, self.orientation, self.end_effector)


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """Both tables, in their order."""

    vlm: tuple[PublishedVlm, ...]
    vla: tuple[PublishedVla, ...]


class PersonColumns(StrEnum):
    """How the columns of first and third person of a row fit its total."""

    PRINTED = "as printed"
    SWAPPED = "swapped"
    """Printed, they give another number of hits; swapped, exactly that of the total."""
    SWAPPED_BY_ROUNDING = "swapped, by rounding"
    """Either way they give the total; only swapped are they percentages of whole numbers of items."""
    NEITHER = "neither way"


@dataclass(frozen=True, slots=True)
class PersonCheck:
    """Hits of the two columns against the row's total.

    Attributes:
        model: Name as printed.
        hits: Right answers of 1,000, from the dimensions.
        printed: Hits of first and third person, columns as printed.
        swapped: Likewise, columns swapped.
        verdict: Which of the two fits.
    """

    model: str
    hits: int
    printed: tuple[int, int]
    swapped: tuple[int, int]
    verdict: PersonColumns


@dataclass(frozen=True, slots=True)
class TotalCheck:
    """A printed total beside the recomputed one.

    Attributes:
        model: Name as printed.
        printed: Total as printed.
        recomputed: From the row's other columns.
        agrees: Whether they agree: hits exactly, weighted points within 0.01.
    """

    model: str
    printed: float
    recomputed: float
    agrees: bool


@cache
def published_tables() -> PublishedTables:
    """Return both tables of the paper."""
    file = Path(str(files("embodied_iqa.suites.static_benchmark").joinpath("published.json")))
    return structure(PublishedTables, load_json(file, "the published numbers"), str(file))


def vlm_totals() -> tuple[TotalCheck, ...]:
    """Recompute the total of each VLM from its dimensions: hits of 150, 150 and 700 items."""
    return tuple(
        TotalCheck(row.model, row.score, row.hits / 10, round(10 * row.score) == row.hits)
        for row in published_tables().vlm
    )


def vla_totals() -> tuple[TotalCheck, ...]:
    """Recompute the total of each VLA from its parts, weighted by degrees of freedom."""
    return tuple(
        TotalCheck(row.model, row.score, row.weighted, abs(row.weighted - row.score) <= _TOTAL_WITHIN)
        for row in published_tables().vla
    )


def person_checks() -> tuple[PersonCheck, ...]:
    """Hold the columns of first and third person against the total of each VLM, printed and swapped."""
    return tuple(map(_person_check, published_tables().vlm))


def equal_parts() -> tuple[str, ...]:
    """Return the VLAs of which two parts are the same number."""
    return tuple(
        row.model
        for row in published_tables().vla
        if len({row.position, row.orientation, row.end_effector}) < len(("position", "orientation", "end"))
    )


def findings() -> tuple[str, ...]:
    """Return what the arithmetic of the tables shows, in sentences; derived here, not by the paper."""
    checks = person_checks()
    said = [
        f"{check.model}: columns of first and third person are swapped (printed they give "
        f"{sum(check.printed)} hits, swapped {check.swapped[0]} + {check.swapped[1]} = {check.hits})"
        for check in checks
        if check.verdict is PersonColumns.SWAPPED
    ]
    said += [
        f"{check.model}: columns of first and third person are perhaps swapped (only swapped, "
        f"{check.swapped[0]} + {check.swapped[1]}, are they shares of {ITEMS_BY_PERSON[0]} and "
        f"{ITEMS_BY_PERSON[1]} items)"
        for check in checks
        if check.verdict is PersonColumns.SWAPPED_BY_ROUNDING
    ]
    said += [
        f"{check.model}: columns of first and third person fit its total neither way"
        for check in checks
        if check.verdict is PersonColumns.NEITHER
    ]
    said += [f"{model}: two parts of its score are the same number" for model in equal_parts()]
    return (*said, *_REMARKS)


_REMARKS: Final = (
    (
        "the table of VLMs does not say whether its scores are plain or circular; 37 to 56 % for "
        "LLaVA-v1.5-7B is far above what it reaches when all rotations must be right: probably plain "
        "(inferred)"
    ),
    'the text calls ChatGPT-4o-latest "GPT-4o"; the table has rows of both',
)


def _nearest(percent: float, items: int) -> int:
    return round(percent * items / 100)


def _person_check(row: PublishedVlm) -> PersonCheck:
    printed, printed_fits = _hits(row.first, row.third)
    swapped, swapped_fits = _hits(row.third, row.first)
    printed_total, swapped_total = sum(printed) == row.hits, sum(swapped) == row.hits
    if printed_total and printed_fits:
        verdict = PersonColumns.PRINTED
    elif swapped_total and swapped_fits:
        verdict = PersonColumns.SWAPPED_BY_ROUNDING if printed_total else PersonColumns.SWAPPED
    else:
        verdict = PersonColumns.NEITHER
    return PersonCheck(row.model, row.hits, printed, swapped, verdict)


def _hits(first: float, third: float) -> tuple[tuple[int, int], bool]:
    """Return the nearest hits, and whether both percentages are those of whole numbers of items."""
    hits = _nearest(first, ITEMS_BY_PERSON[0]), _nearest(third, ITEMS_BY_PERSON[1])
    shares = zip((first, third), hits, ITEMS_BY_PERSON, strict=True)
    return hits, all(abs(100 * count / items - share) <= _ROUNDING for share, count, items in shares)
