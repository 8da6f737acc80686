"""Actions of `embodied-iqa db` that work on whole databases."""

from __future__ import annotations

import argparse
import dataclasses
import json
from decimal import Decimal
from typing import Final

from embodied_iqa.cli.build.summary import next_report
from embodied_iqa.cli.output import console, next_command, print_json, print_note, table_of
from embodied_iqa.data.database import joined_runs
from embodied_iqa.data.database.building.merge import merge_databases
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.store import open_database

_UNBOUNDED: Final = 100_000


def check(arguments: argparse.Namespace) -> int:
    """Verify a database; return 1 where it has errors, or its build has not ended."""
    report = check_database(open_database(arguments.database), images=not arguments.no_images)
    exit_code = int(report.result != "correct")
    if arguments.json:
        print_json({"result": report.result, **dataclasses.asdict(report)})
        return exit_code
    for line in report.errors:
        print(f"error: {line}")
    for line in report.unfinished:
        print(f"not finished: {line}")
    for line in report.remarks:
        print(f"note: {line}")
    print("; ".join(filter(None, (f"{arguments.database}: {report.result}", _counted(report.counts)))))
    if report.unfinished:
        print(f"this goes on with it: {report.command or 'the same `build`, without --steps'}")
    if not exit_code:
        next_report(open_database(arguments.database))
    return exit_code


def merge(arguments: argparse.Namespace) -> int:
    """Merge two databases."""
    stores = open_database(arguments.first), open_database(arguments.second)
    record = merge_databases(*stores, arguments.out, arguments.workers)
    counts = {name: count for name, count in record.counts.items() if name != "failures"}
    first, second = ({subject.name for subject in store.record().subjects} for store in stores)
    one = sorted(first ^ second)
    if arguments.json:
        print_json({"database": str(arguments.out), "counts": counts, "in_one_only": one})
        return 0
    print(f"{arguments.out}: {_counted(counts)}")
    if one:
        print_note(f"in one of them only: {', '.join(one)}; the other part has none of their answers")
        next_command("annotate", "--out", arguments.out)
        return 0
    next_report(open_database(arguments.out))
    return 0


def join_execution(arguments: argparse.Namespace) -> int:
    """Keep the runs of experiments in a database."""
    count = joined_runs.join_execution(open_database(arguments.database), arguments.experiments)
    if arguments.json:
        print_json({"database": str(arguments.database), "runs": count})
        return 0
    print(f"{arguments.database}: {count:,} runs joined")
    next_report(open_database(arguments.database))
    return 0


def sql(arguments: argparse.Namespace) -> int:
    """Query a database."""
    result = query(open_database(arguments.database), arguments.query)
    if arguments.json:
        print(json.dumps(result.to_pylist(), indent=2, default=_plain))
        return 0
    rows = [list(map(_cell, row)) for row in zip(*(c.to_pylist() for c in result.columns), strict=True)]
    table = table_of(*result.column_names)
    for row in rows:
        table.add_row(*row)
    console().print(table)
    return 0


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _plain(value: object) -> object:
    """Return a number that JSON has no type for as a number, any other value as text."""
    if not isinstance(value, Decimal):
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-" if value is None else str(value)
