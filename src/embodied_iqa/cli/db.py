"""`embodied-iqa db`: verifies, shows, joins and queries databases."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="verify hashes, columns, links, completeness and pictures")
    check.add_argument("database", type=Path, metavar="DB")
    check.add_argument("--no-pictures", action="store_true", help="do not decode every picture")
    show = actions.add_parser("show", help="draw a sample: pictures side by side, answers, actions, scores")
    show.add_argument("database", type=Path, metavar="DB")
    show.add_argument("--pairs", type=int, default=4, metavar="N", help="how many (default 4)")
    show.add_argument("--seed", type=int, default=0, metavar="S", help="which ones (default 0)")
    show.add_argument("--out", type=Path, metavar="FILE", help="also write the pictures, a PNG")
    merge = actions.add_parser("merge", help="join two databases into a new one and score it again")
    merge.add_argument("first", type=Path, metavar="DB1")
    merge.add_argument("second", type=Path, metavar="DB2")
    merge.add_argument("--out", type=Path, required=True, metavar="DB", help="new folder")
    merge.add_argument("--workers", type=int, default=1, metavar="N", help="blocks at once (default 1)")
    sql = actions.add_parser("sql", help="query the tables with DuckDB")
    sql.add_argument("database", type=Path, metavar="DB")
    sql.add_argument("query", metavar="SQL", help='such as "SELECT distortion_name, avg(score) FROM ..."')
    join = actions.add_parser("join-execution", help="keep the runs of experiments beside the scores")
    join.add_argument("database", type=Path, metavar="DB")
    join.add_argument(
        "experiments",
        type=Path,
        nargs="+",
        metavar="EXPERIMENT",
        help="folders of `embodied-iqa experiment`; their runs take the place of those joined before",
    )
    for action in (check, show, sql):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for; return the exit code."""
    actions = {"check": _check, "show": _show, "merge": _merge, "sql": _sql, "join-execution": _join}
    return actions[arguments.action](arguments)


def _check(arguments: argparse.Namespace) -> int:
    from embodied_iqa.database.check import check_database  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.store import open_database  # noqa: PLC0415

    report = check_database(open_database(arguments.database), pictures=not arguments.no_pictures)
    if arguments.json:
        tree = {"errors": report.errors, "remarks": report.remarks, "counts": report.counts}
        print(json.dumps(tree, indent=2))
        return 1 if report.errors else 0
    for line in report.errors:
        print(f"wrong: {line}")
    for line in report.remarks:
        print(f"note: {line}")
    counts = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    print(f"{arguments.database}: {'not ' if report.errors else ''}as it was written; {counts}")
    return 1 if report.errors else 0


def _show(arguments: argparse.Namespace) -> int:
    from embodied_iqa.cli.db_show import draw_sample, print_sample  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.sample import draw_pairs  # noqa: PLC0415
    from embodied_iqa.database.store import open_database  # noqa: PLC0415

    store = open_database(arguments.database)
    sample = draw_pairs(store, arguments.pairs, arguments.seed)
    if arguments.json:
        print(json.dumps([item.tree() for item in sample], indent=2))
    else:
        print_sample(sample)
    if arguments.out is not None:
        draw_sample(store, sample, arguments.out)
        if not arguments.json:
            print(f"pictures: {arguments.out}")
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    from embodied_iqa.database.building.merge import merge_databases  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.store import open_database  # noqa: PLC0415

    stores = open_database(arguments.first), open_database(arguments.second)
    record = merge_databases(*stores, arguments.out, arguments.workers)
    counts = {name: count for name, count in record.counts.items() if name != "failures"}
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"{arguments.out}: {words}")
    return 0


def _join(arguments: argparse.Namespace) -> int:
    from embodied_iqa.database.execution import join_execution  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.store import open_database  # noqa: PLC0415

    count = join_execution(open_database(arguments.database), arguments.experiments)
    print(f"{arguments.database}: {count:,} runs joined")
    return 0


def _sql(arguments: argparse.Namespace) -> int:
    from embodied_iqa.database.query import query  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.store import open_database  # noqa: PLC0415

    names, rows = query(open_database(arguments.database), arguments.query)
    if arguments.json:
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2, default=str))
        return 0
    from rich.table import Table  # noqa: PLC0415

    from embodied_iqa.cli.output import console  # noqa: PLC0415

    table = Table(*names, header_style="bold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console().print(table)
    return 0


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-" if value is None else str(value)
