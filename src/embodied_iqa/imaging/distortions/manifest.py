"""Manifest of a folder of distorted images, as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import remove_parts, write_text_whole
from embodied_iqa.base.records import read_json, structure, unstructure
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES
from embodied_iqa.base.user_files.texts import check_size

MANIFEST_FILE: Final = "manifest.json"
_JOURNAL: Final = "manifest.partial.jsonl"
SEEDING: Final = (
    "type, level, seed, view and stamp_ns determine what is done to an image, by command as in Python: "
    "embodied_iqa.distort(image, 'TYPE:LEVEL', seed=seed, view=view, stamp_ns=stamp_ns). A file has view "
    "'top' and a stamp that follows from its pixels, which is what Python takes where neither is given."
)
"""The rule, as ``manifest.json`` states it."""


@dataclass(frozen=True, slots=True)
class Record:
    """How one output was made.

    Attributes:
        output: The file, relative to the folder.
        reference: The clean image.
        reference_sha256: Hash of its file, or of its pixels if it is a frame of a recording.
        type: The distortion's id.
        name: The distortion's name.
        level: Level 1 to 5; with a region, the level inside.
        parameters: The level's parameters by name.
        seed: The seed of the run.
        view: Camera of the image; see `SEEDING`.
        stamp_ns: Its stamp.
        outside_level: Level outside the region; None without a region.
        mask_sha256: Hash of the region's mask; None without a region.
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
    view: str = ""
    stamp_ns: int = 0
    outside_level: int | None = None
    mask_sha256: str | None = None
    sha256: str = ""
    width_px: int = 0
    height_px: int = 0

    def same_recipe_as(self, other: Record) -> bool:
        """Return whether ``other`` would be made in the same way from the same image."""
        mine, theirs = (
            replace(record, sha256="", width_px=0, height_px=0, reference="", stamp_ns=0)
            for record in (self, other)
        )
        return mine == theirs


@dataclass(frozen=True, slots=True)
class Failure:
    """A clean image that could not be distorted.

    Attributes:
        reference: The image.
        reason: Why, in one line.
    """

    reference: str
    reason: str


@dataclass(frozen=True, slots=True)
class _File:
    """Content of ``manifest.json``."""

    images: tuple[Record, ...]
    failed: tuple[Failure, ...] = ()
    seeding: str = ""


def folders_with_outputs(root: Path) -> Iterator[Path]:
    """Iterate over the folders below one that hold distorted images; those that cannot be read hold none."""
    for name in (MANIFEST_FILE, _JOURNAL):
        for file in root.rglob(name):
            if file.parent != root and outputs_of(file.parent):
                yield file.parent


def outputs_of(folder: Path) -> dict[str, Record]:
    """Return how each file in a folder was made that `embodied-iqa distort` wrote; of another folder none."""
    try:
        return {record.output: record for record in Manifest(folder).records}
    except InputError:  # a manifest of something else
        return {}


class Manifest:
    """The outputs in a folder; survives a kill, because each record is appended to a journal at once.

    Args:
        folder: The folder; it need not exist.

    Raises:
        InputError: The folder holds a manifest that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, Record] = {}
        self._failed: dict[str, Failure] = {}
        if (folder / MANIFEST_FILE).exists():
            stored = read_json(_File, folder / MANIFEST_FILE, "the manifest", most_bytes=MOST_DATASET_BYTES)
            self._add(stored.images)
        if (folder / _JOURNAL).exists():
            self._add(_journalled(folder / _JOURNAL))

    @property
    def records(self) -> tuple[Record, ...]:
        """The outputs."""
        return tuple(self._records.values())

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The images of this run that could not be distorted."""
        return tuple(self._failed.values())

    def begin(self) -> None:
        """Open the journal; remove unfinished images of a run that was killed.

        Raises:
            InputError: The folder cannot be written to.
        """
        if (self._folder / _JOURNAL).exists():
            remove_parts(self._folder)
        self._append("")

    def _append(self, text: str) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / _JOURNAL).open("a", encoding="utf-8") as journal:
                journal.write(text)
        except OSError as error:
            raise InputError(f"cannot write to {self._folder}: {error.strerror}") from error

    def _add(self, records: Iterable[Record]) -> None:
        self._records.update({record.output: record for record in records})

    def find(self, output: str) -> Record | None:
        """Return the record of an output whose file exists."""
        record = self._records.get(output)
        return record if record is not None and (self._folder / output).exists() else None

    def add(self, result: Record | Failure) -> None:
        """Add an output that was just made, or an image of which it could not be made.

        Raises:
            InputError: The folder cannot be written to.
        """
        if isinstance(result, Failure):
            self._failed[result.reference] = result
            return
        self._records[result.output] = result
        self._append(json.dumps(unstructure(result)) + "\n")

    def finish(self) -> None:
        """Write ``manifest.json`` and ``manifest.csv`` with every output whose file exists, and the failures.

        Raises:
            InputError: The folder cannot be written to, or the manifest would be too large to be read again;
                the journal then keeps all records.
        """
        records = [self._records[output] for output in sorted(self._records)]
        present = [unstructure(record) for record in records if (self._folder / record.output).exists()]
        table = io.StringIO()
        writer = csv.DictWriter(table, [column.name for column in fields(Record)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(values | {"parameters": json.dumps(values["parameters"])} for values in present)
        failed = [unstructure(failure) for failure in self.failed]
        tree: dict[str, Any] = {"seeding": SEEDING, "images": present}
        tree |= {"failed": failed} if failed else {}
        file, text = self._folder / MANIFEST_FILE, json.dumps(tree, indent=1) + "\n"
        check_size(text, file, "the manifest", most_bytes=MOST_DATASET_BYTES)
        write_text_whole(self._folder / "manifest.csv", table.getvalue())
        write_text_whole(file, text)
        (self._folder / _JOURNAL).unlink(missing_ok=True)


def _journalled(path: Path) -> Iterable[Record]:
    """Return the records of a journal without its last line, which a kill may have cut."""
    try:
        trees = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the manifest {path}: {error}") from error
    return structure(tuple[Record, ...], trees, f"the manifest {path}")
