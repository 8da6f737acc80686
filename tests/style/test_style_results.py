"""Results pages: two screens each, a headline that says what it holds for, figures of their tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from style_sources import ROOT

import draw_results

RESULTS = ROOT / "docs/results"
LONGEST = 110
MOST_ROWS = 36
"""Of all tables of a page, with their headings: more are in CSV files, or on the page of details."""
PAGES = tuple(sorted(RESULTS.glob("*.md")))
OPENING = ("imulat", "seen", "interval|95 %")
"""What the text above the first section says: in simulation or not, scenes seen or unseen, an interval."""


def _lacks(text: str) -> list[str]:
    """What an opening does not say."""
    opening = " ".join(text.partition("\n## ")[0].split())
    return [what for what in OPENING if not any(words in opening for words in what.split("|"))]


def _size(text: str) -> tuple[int, int]:
    """Lines, and rows of tables."""
    lines = text.splitlines()
    return len(lines), sum(line.startswith("|") and not line.startswith("|---") for line in lines)


def test_the_checks_find_what_they_are_for() -> None:
    assert _lacks("# A\n\nSimulation, unseen: 1 % (95 % 0 to 2).\n\n## B\n") == []
    assert _lacks("# A\n\nIn simulation 1 %.\n\n## B\n\nunseen, 95 %\n") == ["seen", "interval|95 %"]
    assert _size("# A\n\n| a |\n|---|\n| 1 |\n") == (5, 2)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_fits_two_screens(page: Path) -> None:
    lines, rows = _size(page.read_text(encoding="utf-8"))
    assert lines <= LONGEST, "the rest belongs in docs/results/details"
    assert rows <= MOST_ROWS, "the rest belongs in a CSV file or in docs/results/details"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_headline_says_what_it_holds_for(page: Path) -> None:
    assert _lacks(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", draw_results.FIGURES)
def test_a_figure_is_that_of_its_table(name: str) -> None:
    drawn = (RESULTS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    again = f"draw it again: .venv/bin/python scripts/draw_results.py {name}"
    assert drawn == draw_results.svg(draw_results.FIGURES[name]), again
