"""Export of a database in one of three formats."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path

from embodied_iqa.analysis.loading import load_grid
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.export.folder import Licence, write_export
from embodied_iqa.export.hugging_face import card_head, fill_hugging_face
from embodied_iqa.export.opinions import opinions_of, views_text
from embodied_iqa.export.plain import fill_csv
from embodied_iqa.export.pyiqa import fill_pyiqa

__all__ = ["ExportFormat", "export_database"]


class ExportFormat(StrEnum):
    """Format of an export."""

    PYIQA = "pyiqa"
    HUGGING_FACE = "hf"
    CSV = "csv"


def export_database(
    store: DatabaseStore,
    out: Path,
    form: ExportFormat,
    *,
    licence: str | None = None,
    all_views: bool = False,
) -> None:
    """Write a database in another format, whole or not at all.

    Args:
        store: The database, with scores.
        out: New or empty folder.
        form: The format.
        licence: Name of the set's licence; None for `apache-2.0`, or `other` where it has photographs.
        all_views: Include in mean opinions the subjects that are not made for the picture's view.

    Raises:
        InputError: The database is incomplete, or the folder cannot be written.
    """
    terms = Licence.of(store, licence)
    grid = load_grid(store, all_views=all_views)
    opinions = opinions_of(grid)
    head: list[str] = []
    if form is ExportFormat.CSV:
        fill = partial(fill_csv, store, opinions)
    elif form is ExportFormat.PYIQA:
        fill = partial(fill_pyiqa, store, opinions)
    else:
        head, fill = card_head(terms.name), partial(fill_hugging_face, store, opinions)
    write_export(store, out, lambda folder: f"{fill(folder)}\n\n{views_text(grid)}", terms, head)
