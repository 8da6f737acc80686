"""Pages of chapters as a section of a Markdown page, between two marks; people write what is around it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.pages.reports.kit.chapters import ChapterPage
from embodied_iqa.pages.reports.kit.origin import origin_line, with_origin
from embodied_iqa.pages.reports.kit.page import Chapter
from embodied_iqa.pages.reports.kit.table import Table

IMAGES: Final = "images"
"""Folder beside a Markdown page: ``<section>-<anchor>.webp`` stands above the table of that chapter."""
TABLES: Final = "tables"
"""Folder beside a Markdown page: ``<page>-<section>-<table>.csv``."""
_MOST_ROWS: Final = 20
"""Of the tables of a section together; from the first that does not fit on, tables are CSV files only."""
_LONG: Final = 12
"""Tables with more rows leave those that quote a paper to their CSV file."""
_WIDTH: Final = 100
_BEGIN, _END = "<!-- begin {}: written by embodied-iqa report -->", "<!-- end {} -->"
_MARK: Final = re.compile(r"^<!-- (begin|end) ([\w-]+)\b.*-->(?=\r?$)", re.MULTILINE)
_FENCED: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"[a-z0-9]+")
_HEADING: Final = re.compile(r"^(#+) ", re.MULTILINE)


def prose(text: str, *, indent: str = "") -> str:
    """Return a wrapped paragraph; further lines begin with an indent."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def titled_table(table: Table) -> str:
    """Return a table below its title and note."""
    return f"{prose(f'**{table.title}.** {table.note}'.rstrip())}\n\n{table.markdown()}"


def write_section(file: Path, name: str, page: ChapterPage) -> None:
    """Write the tables of a page between the marks of a section; everything else in the file stays.

    The page has its first tables, as many as fit into some rows; the others are CSV files in
    the folder `TABLES` beside it, with links. Chapters get headings one level below the last one above the
    section. A file that does not exist is written with a heading, the section and the line of `origin_line`;
    in another this line, if it is the last one, is written anew with other numbers.

    Args:
        file: The Markdown page.
        name: Of the section.
        page: The results.

    Raises:
        InputError: The file has no such section, or it cannot be read or written.
    """
    try:
        with file.open(encoding="utf-8", newline="") as stream:  # ends of lines stay as they are
            text = stream.read()
    except FileNotFoundError:
        text = f"# {page.name}\n\n{_BEGIN.format(name)}\n{_END.format(name)}\n\n{origin_line(file)}\n"
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}") from None
    begin, end = _place(text, file, name)
    level = max(1, _level_above(text[:begin]))
    parts = _parts(page, "#" * (level + 1), file, name)
    body = "\n\n".join(["", *filter(None, parts), ""])
    if text.startswith("\r\n", begin):
        body = body.replace("\n", "\r\n")
    write_text_whole(file, with_origin(f"{text[:begin]}{body}{text[end:]}", text, file))


def _place(text: str, file: Path, name: str) -> tuple[int, int]:
    """Return where the begin mark of a section ends and where its end mark begins."""
    marks = [found for found in _MARK.finditer(text) if found[2] == name]
    if [found[1] for found in marks] != ["begin", "end"]:
        raise InputError(
            f"{file} has no section {name}",
            expected=f"once the line {_BEGIN.format(name)}, below it {_END.format(name)}",
            available=dict.fromkeys(found[2] for found in _MARK.finditer(text)) or ["none"],
        )
    return marks[0].end(), marks[1].start()


def _level_above(text: str) -> int:
    headings = _HEADING.findall(_FENCED.sub("", text))
    return len(headings[-1]) if headings else 0


def _parts(page: ChapterPage, heading: str, file: Path, name: str) -> Iterator[str]:
    yield prose(f"{page.headline} {page.lead}")
    if page.command:
        words = textwrap.wrap(page.command, _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        yield "```\n" + " \\\n    ".join(words) + "\n```"
    yield "\n".join(prose(f"- {remark}", indent="  ") for remark in page.remarks)
    left = _MOST_ROWS
    for chapter in page.chapters:
        if tables := [(part, table) for part in chapter.parts for table in part.tables if not table.detail]:
            yield from _chapter(chapter, heading, file.parent / IMAGES / f"{name}-{chapter.anchor}.webp")
            links: list[str] = []
            for part, table in tables:
                shown = _without_quoted(table)
                if is_shown := not table.folded and len(shown.rows) <= left:
                    yield titled_table(shown)
                if not table.folded:
                    left -= len(shown.rows)
                if not is_shown or shown is not table:
                    links.append(_link(part.title, table, file.parent / TABLES, f"{file.stem}-{name}"))
            yield "\n".join(links)


def _without_quoted(table: Table) -> Table:
    """Return a long table without the rows that quote a paper."""
    is_long = table.quoted and len(table.rows) > _LONG
    return replace(table, rows=table.rows[: -table.quoted]) if is_long else table


def _link(part: str, table: Table, folder: Path, prefix: str) -> str:
    """Write a table as a CSV file; return the item of a list that leads to it."""
    words = _WORD.findall((table.name or table.title).lower())
    named = replace(table, name="-".join([prefix, *words]))
    folder.mkdir(exist_ok=True)
    named.write_csv(folder)
    title = table.title if part.lower() in table.title.lower() else f"{part}: {table.title}"
    return f"- [{title}]({folder.name}/{named.name}.csv) (CSV)"


def _chapter(chapter: Chapter, heading: str, image: Path) -> Iterator[str]:
    yield f"{heading} {chapter.title}"
    yield prose(chapter.lead)
    yield prose(f"The paper: {chapter.paper}") if chapter.paper else ""
    if image.is_file():
        yield f"![{chapter.title}]({image.parent.name}/{image.name})"
