"""Results pages: few rows of tables, a headline that says what it holds for, figures of their tables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from style_sources import ROOT

import draw_results
import write_result_tables

RESULTS = ROOT / "docs/results"
MOST_ROWS = 36
"""Of all tables of a page, with their headings: more are in CSV files, or on the page of details."""
PAGES = tuple(sorted(RESULTS.glob("*.md")))
DATED = tuple(sorted(RESULTS.rglob("*.md")))
ORIGIN = re.compile(
    r"Numbers: version (\d+\.\d+\.\d+), commit ([0-9a-f]{8}), (\d{4}-\d\d-\d\d)\. "
    r"\[How to cite\]\((?:\.\./)+README\.md#how-to-cite\)\."
)
"""The last line of a page: the commit that last wrote its numbers."""
OPENING = ("imulat", "seen", "interval|95 %")
"""What the text above the first section says: in simulation or not, scenes seen or unseen, an interval."""


def _lacks(text: str) -> list[str]:
    """What an opening does not say."""
    opening = " ".join(text.partition("\n## ")[0].split())
    return [what for what in OPENING if not any(words in opening for words in what.split("|"))]


def _rows(text: str) -> int:
    """Rows of tables."""
    return sum(line.startswith("|") and not line.startswith("|---") for line in text.splitlines())


def _git(*words: str) -> str | None:
    """What git says; None without git, a repository or that commit."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def test_the_checks_find_what_they_are_for() -> None:
    assert _lacks("# A\n\nSimulation, unseen: 1 % (95 % 0 to 2).\n\n## B\n") == []
    assert _lacks("# A\n\nIn simulation 1 %.\n\n## B\n\nunseen, 95 %\n") == ["seen", "interval|95 %"]
    assert _rows("# A\n\n| a |\n|---|\n| 1 |\n") == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_few_rows_of_tables(page: Path) -> None:
    rows = _rows(page.read_text(encoding="utf-8"))
    assert rows <= MOST_ROWS, "the rest belongs in a CSV file or in docs/results/details"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_headline_says_what_it_holds_for(page: Path) -> None:
    assert _lacks(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", DATED, ids=lambda page: str(page.relative_to(RESULTS)))
def test_a_page_ends_with_the_commit_of_its_numbers(page: Path) -> None:
    last = page.read_text(encoding="utf-8").rstrip("\n").rpartition("\n\n")[2]
    assert ORIGIN.fullmatch(last), "expected 'Numbers: version V, commit C, DATE. [How to cite](...).'"


def test_the_commits_of_the_numbers_have_the_dates_and_versions_that_pages_name() -> None:
    wrong: list[str] = []
    for page in DATED:
        for version, commit, date in ORIGIN.findall(page.read_text(encoding="utf-8")):
            known = _git("show", "-s", "--format=%ad", "--date=short", commit)
            if known is None:
                pytest.skip(f"no history with commit {commit}")
            package = _git("show", f"{commit}:msg/package.xml") or ""
            if known != date or f"<version>{version}</version>" not in package:
                wrong.append(f"{page.name}: {commit} is of {known}")
    assert wrong == []


@pytest.mark.parametrize("page", DATED, ids=lambda page: str(page.relative_to(RESULTS)))
def test_each_table_is_a_csv_file_with_the_same_numbers_and_a_link(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked, files = write_result_tables.with_links(page.stem, text)
    again = "write them again: .venv/bin/python scripts/write_result_tables.py"
    assert linked == text, again
    written = {name: page.parent / "tables" / name for name in files}
    assert {
        name: file.read_text("utf-8") if file.is_file() else "" for name, file in written.items()
    } == files, again


def test_the_csv_file_of_a_table_has_its_cells_without_marks() -> None:
    page = "# A\n\n## B c\n\n| `x` | [y](z.md) |\n|---|---:|\n| **1** \\| 2 | 3, 4 |\n\nText.\n"
    linked, files = write_result_tables.with_links("page", page)
    assert files == {"page-b-c.csv": 'x,y\n1 | 2,"3, 4"\n'}
    assert linked == page.replace("md) |", "md) [CSV](tables/page-b-c.csv) |")
    assert write_result_tables.with_links("page", linked) == (linked, files)
    unit, _ = write_result_tables.with_links("page", page.replace("[y](z.md) |", "y [ms] |"))
    assert "y [ms] · [CSV](tables/page-b-c.csv) |" in unit
    assert write_result_tables.with_links("page", unit)[0] == unit


@pytest.mark.parametrize("name", draw_results.FIGURES)
def test_a_figure_is_that_of_its_table(name: str) -> None:
    drawn = (RESULTS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    again = f"draw it again: .venv/bin/python scripts/draw_results.py {name}"
    assert drawn == draw_results.svg(draw_results.FIGURES[name]), again
