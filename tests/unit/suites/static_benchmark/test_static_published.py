"""Published rows: totals, swapped columns, and the remarks that say so."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import pytest

from embodied_iqa.suites.static_benchmark.published_subjects import PublishedVlm, published_tables
from embodied_iqa.suites.static_benchmark.vla.scores import overall

ITEMS_BY_DIMENSION: Final = (150, 150, 700)
"""Items of macro planning, micro perception and stage-wise reasoning (derived)."""
ITEMS_BY_PERSON: Final = (384, 616)
"""First-person and third-person items (derived: the pair that fits most rows)."""
ROUNDING: Final = 0.05
"""Largest distance (percent) of a printed percentage from that of a whole number of items."""


class Fit(StrEnum):
    """How the columns of first and third person of a row fit its total."""

    PRINTED = "as printed"
    SWAPPED = "swapped"
    """Printed, they give another number of hits; swapped, exactly that of the total."""
    BY_ROUNDING = "perhaps swapped"
    """Either way they give the total; only swapped are they percentages of whole numbers of items."""
    NEITHER = "fit its total neither way"


def nearest(percent: float, items: int) -> int:
    return round(percent * items / 100)


def hits(row: PublishedVlm) -> int:
    """Right answers of 1,000, from the nearest number of items in each dimension."""
    return sum(map(nearest, (row.macro, row.micro, row.stage), ITEMS_BY_DIMENSION))


def by_person(*shares: float) -> tuple[int, int]:
    first, third = map(nearest, shares, ITEMS_BY_PERSON)
    return first, third


def are_shares(*shares: float) -> bool:
    """Return whether both percentages are those of whole numbers of items."""
    known = zip(shares, by_person(*shares), ITEMS_BY_PERSON, strict=True)
    return all(abs(100 * count / items - share) <= ROUNDING for share, count, items in known)


def fit(row: PublishedVlm) -> Fit:
    printed, swapped = (row.first, row.third), (row.third, row.first)
    printed_total = sum(by_person(*printed)) == hits(row)
    if printed_total and are_shares(*printed):
        return Fit.PRINTED
    if sum(by_person(*swapped)) == hits(row) and are_shares(*swapped):
        return Fit.BY_ROUNDING if printed_total else Fit.SWAPPED
    return Fit.NEITHER


def remark(row: PublishedVlm) -> str:
    """Return the sentence that the arithmetic of the two columns of a row allows; none is empty."""
    printed, (first, third) = by_person(row.first, row.third), by_person(row.third, row.first)
    head = f"{row.model}: columns of first and third person"
    return {
        Fit.PRINTED: "",
        Fit.SWAPPED: f"{head} are swapped (printed they give {sum(printed)} hits, swapped {first} + {third} "
        f"= {hits(row)})",
        Fit.BY_ROUNDING: f"{head} are perhaps swapped (only swapped, {first} + {third}, are they shares of "
        f"{ITEMS_BY_PERSON[0]} and {ITEMS_BY_PERSON[1]} items)",
        Fit.NEITHER: f"{head} fit its total neither way",
    }[fit(row)]


def test_all_19_totals_of_vlms_are_hits_of_150_150_and_700_items() -> None:
    rows = published_tables().vlm
    assert len(rows) == 19
    assert [hits(row) / 10 for row in rows] == [row.score for row in rows]


def test_all_11_totals_of_vlas_are_weighted_by_degrees_of_freedom() -> None:
    rows = published_tables().vla
    assert len(rows) == 11
    for row in rows:
        weighted = overall(row.position, row.orientation, row.end_effector)
        assert weighted == pytest.approx(row.score, abs=0.01)


def test_no_other_weights_of_the_parts_reproduce_the_11_totals() -> None:
    rows = published_tables().vla
    equal = [abs((row.position + row.orientation + row.end_effector) / 3 - row.score) for row in rows]
    assert max(equal) > 1.0


def test_two_rows_have_swapped_columns_and_two_fit_neither_way() -> None:
    by_fit: dict[Fit, list[str]] = {}
    for row in published_tables().vlm:
        by_fit.setdefault(fit(row), []).append(row.model)
    assert by_fit[Fit.SWAPPED] == ["GPT-4o-mini", "Grok-2-vision"]
    assert by_fit[Fit.NEITHER] == ["Claude-sonnet-4", "GPT-4o"]
    assert by_fit[Fit.BY_ROUNDING] == ["GPT-4.1-nano"]
    assert len(by_fit[Fit.PRINTED]) == 14


def test_the_remarks_are_what_the_arithmetic_of_the_rows_gives() -> None:
    tables = published_tables()
    columns = {remark(row) for row in tables.vlm} - {""}
    equal = {
        f"{row.model}: two parts of its score are the same number"
        for row in tables.vla
        if len({row.position, row.orientation, row.end_effector}) < 3
    }
    of_rows, of_tables = tables.remarks[:-2], tables.remarks[-2:]
    assert set(of_rows) == columns | equal
    assert len(of_rows) == len(set(of_rows)) == 6
    models = {row.model for row in tables.vlm}
    assert {"ChatGPT-4o-latest", "GPT-4o"} <= models
    assert ["probably plain" in of_tables[0], "rows of both" in of_tables[1]] == [True, True]
