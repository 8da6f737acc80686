"""`embodied-iqa manipulate published`: the published table of EB-Manipulation, and its arithmetic."""

from __future__ import annotations

import argparse
import json

from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, table_of
from embodied_iqa.suites.cell_manipulation.planning.published import EPISODES, check_row, published_rows


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    check = "check that each value is a share of its episodes and each average follows; list the exceptions"
    parser.add_argument("--check", action="store_true", help=check)
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return the exit code."""
    rows = published_rows()
    checks = [check_row(row) for row in rows]
    if arguments.json:
        print(json.dumps(unstructure(checks if arguments.check else list(rows)), indent=1))
        return 0
    names = [str(subset) for subset in EPISODES]
    right = ("average", *names, "solved of 228") if arguments.check else ("average", *names)
    table = table_of("model", *right, right=right)
    for row, check in zip(rows, checks, strict=True):
        cells = [row.model, f"{row.average:.1f}", *(f"{value:.1f}" for value in row.subsets.values())]
        solved = "-" if check.solved is None else str(check.solved)
        table.add_row(*cells, *([solved] if arguments.check else []))
    console().print(table)
    if arguments.check:
        exceptions = [(check.model, words) for check in checks for words in check.exceptions]
        for model, words in exceptions:
            print(f"{model}: {words}")
        fitting = len(rows) - len({model for model, _ in exceptions})
        print(f"{fitting} of {len(rows)} rows: shares of the episodes, and the average over them")
    return 0
