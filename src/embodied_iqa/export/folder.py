"""Folder of an export: written whole or not at all, with README, licence and record."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.compute as pc

from embodied_iqa import __version__
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError

__all__ = ["Licence", "write_export"]

_OTHER: Final = "other"
_SIMULATED: Final = "apache-2.0"
_PHOTOGRAPHS: Final = (
    "Photographs among the references, and the distorted pictures made of them, belong to those who took "
    "them and keep their licence."
)


@dataclass(frozen=True, slots=True)
class Licence:
    """Licence of an exported set.

    Attributes:
        name: Identifier of the Hugging Face hub, such as `cc-by-4.0`, or `other`.
        text: For people.
    """

    name: str
    text: str

    @classmethod
    def of(cls, store: DatabaseStore, named: str | None) -> Licence:
        """Return the named licence, by default that of simulated pictures; `other` for photographs."""
        photographs = bool(pc.any(store.references(["real"])["real"]).as_py())
        name = named or (_OTHER if photographs else _SIMULATED)
        text = f"Licence of this set: {name}."
        if photographs:
            text += " " + _PHOTOGRAPHS
        else:
            text += " All pictures were drawn by the simulator of embodied_iqa."
        return cls(name, text + " Answers and actions come from the subjects that dataset.json names.")


def write_export(
    store: DatabaseStore, out: Path, fill: Callable[[Path], str], licence: Licence, head: Sequence[str] = ()
) -> None:
    """Write a folder, whole or not at all.

    Args:
        store: The database.
        out: New or empty folder.
        fill: Writes the content into a folder, and returns the text of its README (Markdown).
        licence: Of the set.
        head: First lines of the README.

    Raises:
        InputError: ``out`` is not empty, or cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is not empty", expected="a new or empty folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as fresh:
            whole = Path(fresh) / out.name
            whole.mkdir()
            text = fill(whole)
            made = f"Made by embodied_iqa {__version__}; dataset.json records how."
            name = store.path.resolve().name
            lines = [*head, f"# {name}", "", text, "", "## Licence", "", licence.text, "", made, ""]
            (whole / "README.md").write_text("\n".join(lines), encoding="utf-8")
            (whole / "LICENSE.txt").write_text(licence.text + "\n", encoding="utf-8")
            record = json.dumps(store.record().tree(), indent=1, sort_keys=True, ensure_ascii=False)
            (whole / "dataset.json").write_text(record + "\n", encoding="utf-8")
            whole.replace(out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
