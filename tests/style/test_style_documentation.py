"""Documentation: links and anchors exist, pages are indexed, lines are wrapped, nothing is unused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from style_sources import PACKAGE, ROOT, project_files

LONGEST = 100
README_LINES = 120
DOCS = ROOT / "docs"
PAGES = tuple(sorted(file for file in project_files() if file.suffix == ".md"))
_CODE_BLOCK = re.compile(r"^ *(```).*?^ *```$", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_PAGE = re.compile(r"(?<![\w/])docs/[\w/-]+\.md")
_PATH = re.compile(
    r"^`((?:\.ci|benchmarks|config|docker|launch|msg|requirements|scripts|src|tests)/[\w./-]*)`$"
)
ELSEWHERE = {"docker/.env", "docs/norm_stats.md", "scripts/serve_policy.py"}
"""Made by users, or in another repository (openpi)."""
_PLACE = re.compile(r"[\w.*/-]+(?:/[\w.*-]*|\.(?:py|j2|md|txt|sh))")
_NAME = re.compile(r"(?:\w+\.)*(?=\w*[A-Z_]|\w+\()(\w+)(?:\(\w*\))?")
_AMERICAN = re.compile(
    r"(?<![\w/.-])(?:colors?|colored|grays?|gray-?scale|centers?|centered|behaviors?|neighbors?|analyz\w+|labeled"
    r"|(?:recogn|optim|normal|general|standard|serial|initial|minim|maxim|synchron|visual|organ|raster)iz\w+)"
    r"(?![\w/-])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def _prose(page: Path) -> str:
    """The page without its code blocks; lines keep their numbers."""
    text = page.read_text(encoding="utf-8")
    return _CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)


def links_of(text: str) -> list[str]:
    """Targets of links and images, except those on other hosts."""
    targets = _LINK.findall(_CODE_SPAN.sub("", text))
    return [target for target in targets if "://" not in target and not target.startswith("mailto:")]


def anchors_of(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    anchors: set[str] = set()
    for heading in _HEADING.findall(text):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        anchor = plain = words.strip().replace(" ", "-")
        count = 0
        while anchor in anchors:
            count += 1
            anchor = f"{plain}-{count}"
        anchors.add(anchor)
    return anchors


def _broken(page: Path) -> Iterator[str]:
    for target in links_of(_prose(page)):
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path).resolve()
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors_of(_prose(file)):
            yield f"{target}: no such heading"


def test_the_checks_find_what_they_are_for() -> None:
    text = "see [a\nb](x.md#c-d), `[no](link)`, ![p](y.png), [web](https://example.org)"
    assert links_of(text) == ["x.md#c-d", "y.png"]
    assert anchors_of("# `a_b.json`, (and) C\n\n## d\n\n## d\n") == {"a_bjson-and-c", "d", "d-1"}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_and_anchors_exist(page: Path) -> None:
    assert list(_broken(page)) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CONTRIBUTING.md"], ids=_name)
def test_lines_are_wrapped(page: Path) -> None:
    long = [
        f"{number}: {line}"
        for number, line in enumerate(_prose(page).splitlines(), start=1)
        if len(line) > LONGEST
        and not line.lstrip().startswith("|")
        and "](" not in line
        and "://" not in line
    ]
    assert long == [], f"{_name(page)}: wrap prose at {LONGEST} characters"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_prose_is_in_british_spelling(page: Path) -> None:
    prose = _LINK.sub("", _CODE_SPAN.sub("", _prose(page)))
    names = "reference/distortions.md"  # a table of the names that the papers gave
    assert set(_AMERICAN.findall(prose)) <= ({"colors"} if page == DOCS / names else set())


def test_pages_that_the_code_names_exist() -> None:
    named = {
        (match, _name(file))
        for file in project_files()
        if file.suffix in {".py", ".yaml", ".sh", ".j2", ".msg", ".srv"} and DOCS not in file.parents
        for match in _PAGE.findall(file.read_text(encoding="utf-8"))
    }
    assert [
        (page, file) for page, file in sorted(named) if page not in ELSEWHERE and not (ROOT / page).is_file()
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_paths_in_code_marks_exist(page: Path) -> None:
    paths = {path for span in _CODE_SPAN.findall(_prose(page)) for path in _PATH.findall(span)}
    assert {path for path in paths - ELSEWHERE if not (ROOT / path).exists()} == set()


def _additions() -> dict[str, list[str]]:
    """What CONTRIBUTING.md says can be added, each with the words in code marks of its paragraph."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("\n## Where to add\n")[1].split("\n## ")[0]
    return {
        paragraph.partition("**")[0]: [span.strip("`") for span in _CODE_SPAN.findall(paragraph)]
        for paragraph in section.split("\n- **")[1:]
    }


def _places(word: str, named: list[Path]) -> list[Path]:
    """Files and folders of a path: in the checkout, the package, or a folder that was named before."""
    folders = [path if path.is_dir() else path.parent for path in named]
    return next(filter(None, (sorted(folder.glob(word)) for folder in (ROOT, PACKAGE, *folders))), [])


@pytest.mark.parametrize("what", _additions())
def test_where_something_is_added_there_is_what_is_named(what: str) -> None:
    words = _additions()[what]
    named: list[Path] = []
    for word in (word for word in words if _PLACE.fullmatch(word)):
        found = _places(word.rstrip("/"), named)
        assert found, f"{word}: no such file"
        named += found
    files = {file for path in named for file in (path.rglob("*") if path.is_dir() else [path])}
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in {".py", ".j2", ".txt"}]
    names = {match[1] for word in words if (match := _NAME.fullmatch(word))}
    assert {name for name in names if not any(name in text for text in texts)} == set()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_every_page_is_in_the_index_once() -> None:
    index = DOCS / "README.md"
    lists = _prose(index).partition("\n## Guides\n")[2]  # above, a page may be part of several jobs
    listed = [target for target in links_of(lists) if "#" not in target]
    pages = sorted(page.relative_to(DOCS).as_posix() for page in PAGES if DOCS in page.parents)
    assert sorted([*listed, index.name]) == pages


def test_every_image_is_shown() -> None:
    shown = {(page.parent / target).resolve() for page in PAGES for target in links_of(_prose(page))}
    images = {file for file in project_files() if DOCS in file.parents and file.suffix not in {".md", ".css"}}
    assert sorted(_name(file) for file in images - shown) == []
