"""The folder of a benchmark: `items.tsv` with the questions, `benchmark.json` with where they come from."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_versioned, unstructure
from embodied_iqa.suites.static_benchmark.tsv import ItemTable, read_tsv, write_tsv

ITEMS_FILE: Final = "items.tsv"
RECORD_FILE: Final = "benchmark.json"
FORMAT: Final = 1
MADE: Final = "simulated cell, items version"
"""Start of the source of items that were made here; a number follows."""
ITEMS_VERSION: Final = 3
"""Changes where a seed gives other items."""
PUBLISHED_MD5: Final = {
    "5c50611650ca966970180a80d49429f0": "StaticEmbodiedBench.tsv",
    "034cf398a3c7d848d966e1081e4baf68": "StaticEmbodiedBench_circular.tsv",
}
"""MD5 of the two public files, as VLMEvalKit (commit e8e78f0) lists them."""


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """What is known of a benchmark.

    Attributes:
        format: `FORMAT`.
        source: Where the items come from, in a few words.
        items: Number of rows of `items.tsv`.
        md5: Of `items.tsv`.
        source_md5: Of the file that was imported; empty for items that were made here.
    """

    format: int
    source: str
    items: int
    md5: str
    source_md5: str = ""


def write_benchmark(folder: Path, table: ItemTable, source: str, source_md5: str = "") -> BenchmarkRecord:
    """Write the items, then the record: a folder without a record is unfinished.

    Raises:
        InputError: The folder holds other items, or cannot be written.
    """
    check_new(folder)
    write_tsv(folder / ITEMS_FILE, table.items, table.images)
    record = BenchmarkRecord(FORMAT, source, len(table.items), md5_of(folder / ITEMS_FILE), source_md5)
    write_json_whole(folder / RECORD_FILE, unstructure(record))
    return record


def check_new(folder: Path) -> None:
    """Check that a folder holds no benchmark.

    Raises:
        InputError: It does.
    """
    if (folder / RECORD_FILE).exists():
        raise InputError(f"{folder} holds a benchmark already", expected="a new folder")


def read_record(folder: Path) -> BenchmarkRecord:
    """Read the record of a benchmark.

    Raises:
        InputError: There is none, or it has another format.
    """
    if not (folder / RECORD_FILE).is_file():
        raise InputError(
            f"{folder} holds no static benchmark",
            expected="a folder of `embodied-iqa static make` or `import`",
        )
    return read_versioned(BenchmarkRecord, folder / RECORD_FILE, "the record of the benchmark", FORMAT)


def read_items(folder: Path) -> ItemTable:
    """Read the items of a benchmark; the last one read stays in memory.

    Raises:
        InputError: They are damaged, or are not those of the record.
    """
    return _items(folder, read_record(folder))


@lru_cache(maxsize=1)
def _items(folder: Path, record: BenchmarkRecord) -> ItemTable:
    file = folder / ITEMS_FILE
    if (found := md5_of(file)) != record.md5:
        raise InputError(f"{file} was changed since it was written", expected=f"md5 {record.md5}", got=found)
    return read_tsv(file)


def version_note(record: BenchmarkRecord) -> str:
    """Return a line on made items of another version than `ITEMS_VERSION`; empty for all others."""
    found = re.match(rf"{MADE} (\d+),", record.source)
    if found is None or int(found[1]) == ITEMS_VERSION:
        return ""
    made = f"`static make` makes version {ITEMS_VERSION}"
    return f"items of version {found[1]}: {made}; scores on the two are not comparable"


def md5_of(path: Path) -> str:
    """Return the MD5 of a file, 32 hexadecimal digits, as the published files are named by it.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
