"""`embodied-iqa static import`: the published TSV file, plain or circular, as a benchmark."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import print_json
from embodied_iqa.suites.static_benchmark.benchmark import (
    ITEMS_FILE,
    PUBLISHED_MD5,
    check_new,
    md5_of,
    write_benchmark,
)
from embodied_iqa.suites.static_benchmark.circular import plain_items
from embodied_iqa.suites.static_benchmark.items import Dimension, Person
from embodied_iqa.suites.static_benchmark.tsv import ItemTable, read_tsv
from embodied_iqa.suites.static_benchmark.tsv_rows import shown

_DIMENSIONS = {item.split(maxsplit=1)[0].split("-")[0]: item for item in Dimension}
_PERSONS = {item.split(maxsplit=1)[0]: item for item in Person}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("file", type=Path, metavar="TSV", help="such as StaticEmbodiedBench.tsv")
    add("--out", type=Path, required=True, metavar="BENCH", help="new folder")
    meaning = f"meaning of a value of a column of groups: {', '.join((*_DIMENSIONS, *_PERSONS))}"
    add("--category", action="append", default=[], metavar="MEANING=VALUE", help=meaning)
    add("--images", type=Path, metavar="DIR", help="folder of the files in the column image_path")
    add("--json", action="store_true", help="print what was read as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read, report and write; return the exit code."""
    dimensions, persons = _meanings(arguments.category)
    check_new(arguments.out)
    if (arguments.out / ITEMS_FILE).resolve() == arguments.file.resolve():
        raise UsageError(
            f"--out is the folder of the file that is read, {ITEMS_FILE}", expected="a new folder"
        )
    table = read_tsv(arguments.file, dimensions, persons, arguments.images)
    for item in table.items:
        if item.image == item.index:
            table.image(item)  # a damaged image is found now, not after hours of questions
    md5 = md5_of(arguments.file)
    write_benchmark(arguments.out, table, arguments.file.name, md5)
    if arguments.json:
        print_json(_record(arguments.out, table, md5))
    else:
        _report(arguments.file, table, md5)
    return 0


def _meanings(words: list[str]) -> tuple[dict[str, Dimension], dict[str, Person]]:
    dimensions: dict[str, Dimension] = {}
    persons: dict[str, Person] = {}
    for word in words:
        meaning, equals, value = word.partition("=")
        if not (equals and value and meaning in {*_DIMENSIONS, *_PERSONS}):
            raise UsageError(
                "wrong --category",
                expected="MEANING=VALUE, such as macro=Planning",
                got=word,
                available=(*_DIMENSIONS, *_PERSONS),
            )
        if meaning in _DIMENSIONS:
            dimensions[value] = _DIMENSIONS[meaning]
        else:
            persons[value] = _PERSONS[meaning]
    return dimensions, persons


def _record(out: Path, table: ItemTable, md5: str) -> dict[str, object]:
    return {
        "benchmark": str(out),
        "md5": md5,
        "published_as": PUBLISHED_MD5.get(md5),
        "rows": len(table.items),
        "items": len(plain_items(table.items)),
        "images": len(table.images),
        "values_without_a_meaning": table.unmapped,
        "columns_not_read": table.unknown_columns,
    }


def _report(file: Path, table: ItemTable, md5: str) -> None:
    plain = plain_items(table.items)
    known = PUBLISHED_MD5.get(md5, "not a published file")
    print(f"{file}: {len(table.items)} rows, {len(plain)} items, {len(table.images)} images")
    print(f"md5 {md5} ({known})")
    references = sum(item.image != item.index for item in table.items)
    print(f"images by the index of another row: {references}")
    options = Counter(len(item.options) for item in plain)
    print("options: " + ", ".join(f"{count} items with {k}" for k, count in sorted(options.items())))
    for kind, unknown in (("dimension", "dimension"), ("view", "person")):
        counts = Counter(str(getattr(item, unknown) or "unknown") for item in plain)
        print(f"{kind}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    if table.unmapped:
        values = ", ".join(f"{value} ({count})" for value, count in sorted(table.unmapped.items()))
        print(f"values without a meaning (see --category): {values}")
    if table.unknown_columns:
        print(f"columns that are not read: {', '.join(map(shown, table.unknown_columns[:40]))}")
    if lost := table.missing_in_pandas:
        first = ", ".join(str(item.index) for item in lost[:5]) + (", ..." if len(lost) > 5 else "")
        print(f"items with an option that VLMEvalKit reads as a missing cell: {len(lost)} ({first})")
