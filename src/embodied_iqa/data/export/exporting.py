"""Export of a database in one of three formats, with README, licence and record."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import pyarrow.compute as pc

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import require_empty
from embodied_iqa.data.analysis.grid import ScoreGrid
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unseen_targets
from embodied_iqa.data.export.hugging_face import card_head, fill_hugging_face, origins
from embodied_iqa.data.export.opinions import opinions_of, views_text
from embodied_iqa.data.export.plain import fill_csv
from embodied_iqa.data.export.pyiqa import fill_pyiqa

_OTHER: Final = "other"
_SIMULATED: Final = "apache-2.0"
_REAL: Final = (
    "References that no simulator drew, and the distorted images made of them, belong to those who took "
    "them and keep their licence."
)


class ExportFormat(StrEnum):
    """Format of an export."""

    PYIQA = "pyiqa"
    HUGGING_FACE = "hf"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class _Licence:
    """Licence of an exported set.

    Attributes:
        name: Identifier of the Hugging Face hub, such as `cc-by-4.0`, or `other`.
        text: For people.
    """

    name: str
    text: str

    @classmethod
    def of(cls, store: DatabaseStore, named: str | None) -> _Licence:
        """Return the named licence, by default that of simulated images; `other` where not all are."""
        has_real = bool(pc.any(store.references(["real"])["real"]).as_py())
        name = named or (_OTHER if has_real else _SIMULATED)
        text = f"Licence of this set: {name}."
        if has_real:
            text += " " + _REAL
        else:
            text += " All images were drawn by the simulator of embodied_iqa."
        return cls(name, text + " Answers and actions come from the subjects that dataset.json names.")


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
        licence: Name of the set's licence; None for `apache-2.0`, or `other` where not all is simulated.
        all_views: Include in mean opinions the subjects that are not made for the image's view.

    Raises:
        InputError: The database is incomplete, ``out`` is not empty or cannot be written.
    """
    terms = _Licence.of(store, licence)
    grid = load_grid(store, all_views=all_views)
    require_empty(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as fresh:
            whole = Path(fresh) / out.name
            whole.mkdir()
            _fill(store, grid, form, terms, whole)
            whole.replace(out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error


def _fill(store: DatabaseStore, grid: ScoreGrid, form: ExportFormat, licence: _Licence, folder: Path) -> None:
    fill = {
        ExportFormat.CSV: fill_csv,
        ExportFormat.PYIQA: fill_pyiqa,
        ExportFormat.HUGGING_FACE: fill_hugging_face,
    }[form]
    remarks = unseen_targets(store, all_views=grid.all_views).remarks
    notes = "".join(f"\n\nNote: {remark}." for remark in remarks)
    text = f"{fill(store, opinions_of(grid), folder)}\n\n{views_text(grid)}{notes}"
    head = []
    if form is ExportFormat.HUGGING_FACE:  # the tasks of simulated scenes are English
        language = "en" if origins(store) == {False} else None
        head = card_head(licence.name, store.path.resolve().name, len(grid.pairs), language)
    made = f"Made by embodied_iqa {__version__}; dataset.json records how."
    title = f"# {store.path.resolve().name}"
    lines = [*head, title, "", text, "", "## Licence", "", licence.text, "", made, ""]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")
    (folder / "LICENSE.txt").write_text(licence.text + "\n", encoding="utf-8")
    record = json.dumps(store.record().tree(), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "dataset.json").write_text(record + "\n", encoding="utf-8")
