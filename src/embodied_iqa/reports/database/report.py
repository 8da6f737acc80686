"""`report.html` of a database, with every table as CSV beside it."""

from __future__ import annotations

import csv
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from embodied_iqa.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.analysis.study import study
from embodied_iqa.database.execution import joined_execution
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError
from embodied_iqa.reports.database.page import DatabasePage, build_page
from embodied_iqa.reports.database.tables import Cell, Column, Table, cell_text, heat_step
from embodied_iqa.reports.kit.formatting import clean_text, number

__all__ = ["REPORT", "write_database_report"]

REPORT: Final = "report.html"


def write_database_report(
    store: DatabaseStore, out: Path | None = None, *, all_views: bool = False, seed: int = 0
) -> Path:
    """Write the report of a database and its tables, each whole or not at all.

    Args:
        store: The database; its scores have to be there.
        out: The page; None for `report.html` in the database. The tables lie in `<name>_tables` beside it.
        all_views: Also count what subjects said of pictures from a view that they are not made for.
        seed: Of intervals and drawn splits.

    Returns:
        The page's path.

    Raises:
        InputError: The database cannot be read, or the page not be written.
    """
    page = store.path / REPORT if out is None else out
    folder = page.with_name(f"{page.stem}_tables")
    grid = load_grid(store, all_views=all_views)
    runs = joined_execution(store)
    found = study(
        grid,
        load_attributes(store, grid.pairs),
        None if runs is None else runs_of_table(runs),
        seed=seed,
    )
    model = build_page(found, store.path.resolve().name, store.record().tree(), folder.name)
    _write(model, page, folder)
    return page


def _write(model: DatabasePage, page: Path, folder: Path) -> None:
    html = _environment().get_template("database.html.j2").render(page=model, css=_css())
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=page.parent, prefix=".report-") as fresh:
            tables = Path(fresh) / folder.name
            tables.mkdir()
            for table in model.tables:
                _write_csv(table, tables / f"{table.name}.csv")
            whole = Path(fresh) / page.name
            whole.write_text(clean_text(html), encoding="utf-8")
            _check_ours(folder)
            shutil.rmtree(folder, ignore_errors=True)
            tables.replace(folder)
            whole.replace(page)
    except OSError as error:
        raise InputError(f"cannot write {page}: {error.strerror}") from error


def _check_ours(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but tables."""
    other = [item.name for item in folder.iterdir() if item.suffix != ".csv"] if folder.is_dir() else []
    if other:
        raise InputError(f"{folder} holds other files than tables", got=", ".join(sorted(other)[:3]))


def _write_csv(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(table.csv_rows())


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("embodied_iqa.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["cell"] = cell_text
    environment.filters["heat"] = _heat
    return environment


def _heat(cell: Cell, column: Column) -> str:
    step = heat_step(cell, column.heat)
    return "" if step is None else f"h{step}"


def _css() -> Markup:
    templates = files("embodied_iqa.reports").joinpath("templates")
    text = "".join(
        templates.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "database.css")
    )
    return Markup(text)  # noqa: S704 - our own files
