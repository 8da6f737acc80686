"""A section of a Markdown page: only what stands between its marks is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.pages.reports.kit import origin
from embodied_iqa.pages.reports.kit.chapters import ChapterPage
from embodied_iqa.pages.reports.kit.markdown import IMAGES, write_section
from embodied_iqa.pages.reports.kit.origin import origin_line
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table

RESULTS = Path(__file__).parents[4] / "docs" / "results"
TABLE = Table(
    "hits", "Hits", (Column("Subject"), Column("Share", 1)), (("one", 12.34), ("two", None)), "In %."
)
DETAIL = Table("every", "Every task", (Column("Task"),), (("push",),), detail=True)
PAGE = ChapterPage(
    name="first",
    headline="One leads.",
    tiles=(),
    remarks=("two has no answer",),
    lead="Two subjects.",
    chapters=(
        Chapter("hits", "Who hits?", "Shares.", "Half.", (Part("", (TABLE, DETAIL)),)),
        Chapter("tasks", "Tasks", "All of them.", "", (Part("", (DETAIL,)),)),
    ),
    record_text="{}",
    tables_folder="report_tables",
)
WRITTEN = """\
One leads. Two subjects.

- two has no answer

## Who hits?

Shares.

The paper: Half.

**Hits.** In %.

| Subject | Share |
|---|---|
| one | 12.3 |
| two | \N{EM DASH} |
"""


def test_a_new_page_has_a_heading_and_the_section(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    write_section(file, "static", PAGE)
    text = file.read_text(encoding="utf-8")
    begin, end = "<!-- begin static: written by embodied-iqa report -->", "<!-- end static -->"
    assert text == f"# first\n\n{begin}\n\n{WRITTEN}\n{end}\n\n{origin_line(file)}\n"
    write_section(file, "static", PAGE)
    assert file.read_text(encoding="utf-8") == text, "written again, nothing grows"


@pytest.mark.parametrize(
    ("commit", "expected"),
    [
        (("0123abcd", "2026-11-28"), f"Numbers: version {__version__}, commit 0123abcd, 2026-11-28."),
        (("", ""), f"Numbers: version {__version__}, commit unknown, date unknown."),
    ],
)
def test_the_last_line_says_what_wrote_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: tuple[str, str], expected: str
) -> None:
    monkeypatch.setattr(origin, "source_checkout", lambda: tmp_path)
    monkeypatch.setattr(origin, "commit_and_date", lambda **_: commit)
    file, outside = tmp_path / "docs/results/details" / "page.md", tmp_path / "page.md"
    file.parent.mkdir(parents=True)
    cited = f"{expected} [How to cite](../../README.md#how-to-cite)."
    assert (origin_line(file), origin_line(outside)) == (cited, expected)
    before = "# A\n\nNumbers: version of old.\n\n<!-- begin one -->\nold\n<!-- end one -->\n\nBy hand.\n"
    file.write_text(f"{before}\nNumbers: version 0.0.1, commit 89abcdef, 2025-01-01. [Cite](x).\n", "utf-8")
    write_section(file, "one", PAGE)
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# A\n\nNumbers: version of old.\n")
    assert text.endswith(f"<!-- end one -->\n\nBy hand.\n\n{cited}\n")
    monkeypatch.setattr(origin, "commit_and_date", lambda **_: ("fedcba98", "2027-01-01"))
    write_section(file, "one", PAGE)
    assert file.read_text(encoding="utf-8") == text, "the same numbers are still of that commit"


def test_what_people_wrote_stays_and_headings_go_one_level_below(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    above = "# Results\n\nBy hand.\n\n## Of one\n\n```\n# a comment, no heading\n```\n\n<!-- begin one -->"
    below = "<!-- end one -->\n\nAlso by hand.\n\n<!-- begin two -->\n<!-- end two -->\n"
    file.write_text(f"{above}\nold numbers\n{below}", encoding="utf-8")
    write_section(file, "one", PAGE)
    written = WRITTEN.replace("## Who", "### Who")
    assert file.read_text(encoding="utf-8") == f"{above}\n\n{written}\n{below}"


def test_a_page_with_the_line_ends_of_windows_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_bytes(b"# Results\r\n\r\n<!-- begin one -->\r\nold\r\n<!-- end one -->\r\n\r\nBy hand.\n")
    write_section(file, "one", PAGE)
    written = f"# Results\n\n<!-- begin one -->\n\n{WRITTEN}\n<!-- end one -->\n\n".replace("\n", "\r\n")
    assert file.read_bytes().decode() == f"{written}By hand.\n"


@pytest.mark.parametrize(
    "text",
    [
        "# Results\n\n<!-- begin two -->\n<!-- end two -->\n",
        "<!-- end one -->\n<!-- begin one -->\n",
        "<!-- begin one -->\n",
        "<!-- begin one -->\n<!-- end one -->\n<!-- begin one -->\n<!-- end one -->\n",
    ],
)
def test_a_page_without_the_section_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "page.md"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"has no section one; expected once the line <!-- begin one"):
        write_section(file, "one", PAGE)
    assert file.read_text(encoding="utf-8") == text


def test_the_image_of_a_chapter_is_linked_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "static-hits.webp").touch()
    file = tmp_path / "page.md"
    write_section(file, "static", replace(PAGE, command="embodied-iqa evaluate static"))
    text = file.read_text(encoding="utf-8")
    assert "The paper: Half.\n\n![Who hits?](images/static-hits.webp)\n\n**Hits.**" in text
    assert "```\nembodied-iqa evaluate static\n```" in text


def test_pages_of_the_guide_find_their_images() -> None:
    marked = re.compile(r"<!-- begin ([\w-]+): written")
    figures = re.compile(r"\(([\w-]+)/([\w-]+)\.webp\)")
    found = set()
    for page in RESULTS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        sections = tuple(f"{name}-" for name in marked.findall(text))
        found |= {folder for folder, name in figures.findall(text) if name.startswith(sections)}
    assert found == {IMAGES}


def test_from_the_first_table_beyond_the_rows_of_a_section_tables_are_files(tmp_path: Path) -> None:
    rows = tuple((f"own {index}", float(index)) for index in range(17))
    first, folded = replace(TABLE, name="first", rows=rows), replace(TABLE, name="folded", folded=True)
    fitting = replace(TABLE, name="fitting", rows=rows[:2])
    beyond, small = replace(TABLE, name="beyond, cls", rows=rows[:4]), replace(TABLE, name="small")
    chapters = tuple(
        replace(PAGE.chapters[0], parts=(Part("All", tables),))
        for tables in ((folded, first, fitting), (beyond, small))
    )
    file = tmp_path / "page.md"
    write_section(file, "one", replace(PAGE, chapters=chapters))
    text = file.read_text(encoding="utf-8")
    assert (text.count("| Subject |"), text.count("| own ")) == (2, 19)
    links = re.findall(r"^- \[All: [^\]]+\]\((tables/[\w-]+\.csv)\) \(CSV\)$", text, re.MULTILINE)
    assert links == [f"tables/page-one-{name}.csv" for name in ("folded", "beyond-cls", "small")]
    assert (tmp_path / links[1]).read_text(encoding="utf-8").splitlines()[4] == "own 3,3.0"


def test_a_long_table_leaves_published_rows_to_its_file(tmp_path: Path) -> None:
    rows = (*((f"own {index}", float(index)) for index in range(18)), *(("paper", 1.0),) * 4)
    table = replace(TABLE, rows=rows, quoted=4)
    file = tmp_path / "page.md"
    write_section(
        file, "one", replace(PAGE, chapters=(replace(PAGE.chapters[0], parts=(Part("", (table,)),)),))
    )
    text = file.read_text(encoding="utf-8")
    assert (text.count("| own"), text.count("| paper")) == (18, 0)
    assert (tmp_path / "tables/page-one-hits.csv").read_text(encoding="utf-8").count("paper") == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--section", "one"], "expected --markdown PAGE"),
        (["--chapters", "jnd"], "expected --markdown PAGE"),
        (["--markdown", "page.md", "--out", "page.html"], "expected one of them"),
        (["--markdown", "page.md"], "has no tables for --markdown; expected the folder of finished results"),
        (["--seed", "3"], "is not a database"),
        (["--seed", "-1"], "argument --seed: expected 0 to 2**63 - 1"),
    ],
)
def test_options_that_mean_nothing_here_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["report", str(tmp_path), *options]) == 2
    assert said in capsys.readouterr().err


def test_an_evaluation_that_is_no_map_is_an_error_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evaluation.json").write_text("5")
    assert main(["report", str(tmp_path)]) == InputError.exit_code
    assert "expected a mapping" in capsys.readouterr().err
