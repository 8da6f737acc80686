"""The report of a database: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.analysis.study import Study, study
from embodied_iqa.database.execution import joined_execution
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError
from embodied_iqa.files import write_whole
from embodied_iqa.reports.database import (
    agreement,
    attributes,
    breakdowns,
    distributions,
    execution,
    header,
    jnd,
    losses,
)
from embodied_iqa.reports.kit.page import Chapter, Page
from embodied_iqa.reports.kit.render import render_page
from embodied_iqa.reports.kit.table import Table

REPORT: Final = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabasePage(Page):
    """The page.

    Attributes:
        lead: Below the headline.
        chapters: In order.
        record_text: The database's `dataset.json`.
        tables_folder: Name of the folder with the CSV files, beside the page.
    """

    lead: str
    chapters: tuple[Chapter, ...]
    record_text: str
    tables_folder: str


def write_database_report(
    store: DatabaseStore, out: Path | None = None, *, all_views: bool = False, seed: int = 0
) -> Path:
    """Write the report of a database and its tables, each whole or not at all.

    Args:
        store: The database; its scores must be complete.
        out: The page; None for `report.html` in the database. The tables go to `<name>_tables` beside it.
        all_views: Also count what subjects said of pictures from a view that they are not made for.
        seed: Of intervals and random splits.

    Returns:
        The page's path.

    Raises:
        InputError: The database cannot be read, or the page cannot be written.
    """
    path = store.path / REPORT if out is None else out
    folder = path.with_name(f"{path.stem}_tables")
    grid = load_grid(store, all_views=all_views)
    runs = joined_execution(store)
    attributes_of_pairs = load_attributes(store, grid.pairs)
    found = study(grid, attributes_of_pairs, None if runs is None else runs_of_table(runs), seed=seed)
    page = build_page(found, store.path.resolve().name, store.record().tree(), folder.name)

    def write(fresh: Path) -> None:
        fresh.write_text(render_page("database.html.j2", page), encoding="utf-8")
        parts = (part for chapter in page.chapters for part in chapter.parts)
        _replace_tables(folder, (table for part in parts for table in part.tables))

    write_whole(path, write)
    return path


def build_page(found: Study, name: str, record: Mapping[str, Any], tables_folder: str) -> DatabasePage:
    """Assemble the page.

    Args:
        found: The results.
        name: The database's.
        record: Its `dataset.json`.
        tables_folder: Path of the CSV files, relative to the page.
    """
    return DatabasePage(
        name=name,
        headline=header.headline(found),
        tiles=header.tiles(found),
        remarks=header.remarks(found),
        lead=header.lead(found),
        chapters=(
            distributions.chapter(found),
            agreement.chapter(found),
            jnd.chapter(found),
            breakdowns.chapter(found),
            losses.chapter(found),
            attributes.chapter(found),
            execution.chapter(found, name),
        ),
        record_text=json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True),
        tables_folder=tables_folder,
    )


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
