"""`embodied-iqa static circular`: every rotation of the options of a TSV file."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import print_json
from embodied_iqa.suites.static_benchmark.circular import can_rotate, circular_items
from embodied_iqa.suites.static_benchmark.tsv import read_tsv, write_tsv
from embodied_iqa.suites.static_benchmark.tsv_rows import shown


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", type=Path, metavar="TSV", help="plain file; groups and answers are kept")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: beside it, with _circular")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the rotations; return the exit code."""
    source: Path = arguments.file
    out: Path = arguments.out or source.with_name(f"{source.stem}_circular{source.suffix}")
    if out.resolve() == source.resolve():
        raise UsageError("--out is the file that is read", expected="another file")
    table = read_tsv(source)
    items = circular_items(table.items)
    write_tsv(out, items, table.images)
    alone = [item.index for item in table.items if not can_rotate(item)]
    if arguments.json:
        tree = {"file": str(out), "rows": len(items), "items": len(table.items), "not_rotated": alone}
        print_json(tree | {"columns_not_written": table.unknown_columns})
        return 0
    print(f"{out}: {len(items)} rows of {len(table.items)} items")
    if table.unknown_columns:
        print(f"columns that are not written: {', '.join(map(shown, table.unknown_columns[:40]))}")
    if alone:
        first = ", ".join(map(str, alone[:10]))
        print(
            f"not rotated, because options name letters: {len(alone)} ({first}{', ...' * (len(alone) > 10)})"
        )
    return 0
