"""Pages of chapters: one HTML file, with every table as CSV in a folder beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.pages.reports.kit.page import Chapter, Page
from embodied_iqa.pages.reports.kit.render import render_page
from embodied_iqa.pages.reports.kit.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterPage(Page):
    """A page of chapters.

    Attributes:
        lead: Below the headline.
        chapters: In order; one or more.
        record_text: The JSON record that the page is made from.
        tables_folder: Name of the folder with the CSV files, beside the page.
        command: That made the results; empty where the record does not tell.
    """

    lead: str
    chapters: tuple[Chapter, ...]
    record_text: str
    tables_folder: str
    command: str = ""


def tables_folder(path: Path) -> str:
    """Return the name of the folder of a page's tables."""
    return f"{path.stem}_tables"


def write_chapters(path: Path, template: str, page: ChapterPage) -> None:
    """Write a page and its tables, each whole or not at all.

    Args:
        path: The page.
        template: Extends `chapters.html.j2`.
        page: Its content.

    Raises:
        InputError: It cannot be written, or the folder of the tables holds something else.
    """

    def write(fresh: Path) -> None:
        fresh.write_text(render_page(template, page), encoding="utf-8")
        parts = (part for chapter in page.chapters for part in chapter.parts)
        _replace_tables(
            path.with_name(page.tables_folder), (table for part in parts for table in part.tables)
        )

    write_whole(path, write)


def _replace_tables(folder: Path, tables: Iterable[Table]) -> None:
    """Write all tables to a new folder and replace the old one, if that holds nothing but tables."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".report-") as parent:
        fresh = Path(parent) / folder.name
        fresh.mkdir()
        for table in tables:
            table.write_csv(fresh)
        other = [item.name for item in folder.iterdir() if item.suffix != ".csv"] if folder.is_dir() else []
        if other:
            raise InputError(f"{folder} holds other files than tables", got=", ".join(sorted(other)[:3]))
        shutil.rmtree(folder, ignore_errors=True)
        fresh.replace(folder)
