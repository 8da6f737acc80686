"""The manifest of a folder of distorted pictures: one line an output, as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from embodied_iqa.errors import InputError

__all__ = ["Manifest", "Record"]

_JOURNAL = "manifest.partial.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """How one output was made.

    Attributes:
        output: The file, relative to the folder.
        reference: The clean picture.
        reference_sha256: Hash of its file, or of its pixels where it is a frame of a recording.
        type: The distortion's id.
        name: The distortion's name.
        level: Level 1 to 5; with a region, the level inside.
        parameters: The level's parameters by name.
        seed: The seed of the run.
        outside_level: Level outside of the region; None without one.
        mask_sha256: Hash of the region's mask; None without one.
        sha256: Hash of the distorted pixels, ``(H, W, 3)`` RGB.
        width_px: Width.
        height_px: Height.
    """

    output: str
    reference: str
    reference_sha256: str
    type: str
    name: str
    level: int
    parameters: dict[str, float] = field(hash=False)
    seed: int = 0
    outside_level: int | None = None
    mask_sha256: str | None = None
    sha256: str = ""
    width_px: int = 0
    height_px: int = 0

    def made_as(self, other: Record) -> bool:
        """Return whether ``other`` would be made in the same way from the same picture."""
        mine, theirs = (
            replace(record, sha256="", width_px=0, height_px=0, reference="") for record in (self, other)
        )
        return mine == theirs


class Manifest:
    """What a folder holds; survives a kill, as every record is appended to a journal at once.

    Args:
        folder: The folder; it need not exist.

    Raises:
        InputError: A manifest is there but cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, Record] = {}
        try:
            if (folder / "manifest.json").exists():
                text = (folder / "manifest.json").read_text(encoding="utf-8")
                self._learn(json.loads(text)["pictures"])
            if (folder / _JOURNAL).exists():
                text = (folder / _JOURNAL).read_text(encoding="utf-8")
                self._learn([json.loads(line) for line in text.split("\n")[:-1]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                "the folder holds a manifest that cannot be read; move it away", got=str(folder)
            ) from error

    def _learn(self, records: Sequence[dict[str, object]]) -> None:
        for values in records:
            record = Record(**values)  # type: ignore[arg-type]  # a foreign file fails as a TypeError
            self._records[record.output] = record

    def find(self, output: str) -> Record | None:
        """Return the record of an output that is there, file and all."""
        record = self._records.get(output)
        return record if record is not None and (self._folder / output).exists() else None

    def add(self, records: Sequence[Record]) -> None:
        """Note outputs that were just made."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / _JOURNAL).open("a", encoding="utf-8") as journal:
            for record in records:
                self._records[record.output] = record
                journal.write(json.dumps(asdict(record)) + "\n")

    def finish(self) -> None:
        """Write ``manifest.json`` and ``manifest.csv`` with every output that is there."""
        records = [self._records[output] for output in sorted(self._records)]
        present = [asdict(record) for record in records if (self._folder / record.output).exists()]
        table = io.StringIO()
        writer = csv.DictWriter(table, [line.name for line in fields(Record)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(values | {"parameters": json.dumps(values["parameters"])} for values in present)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._write("manifest.csv", table.getvalue())
        self._write("manifest.json", json.dumps({"pictures": present}, indent=1) + "\n")
        (self._folder / _JOURNAL).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        partial = self._folder / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(self._folder / name)
