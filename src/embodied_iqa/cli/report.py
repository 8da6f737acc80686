"""`embodied-iqa report`: write the page of a run or of a database, from its folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from embodied_iqa.errors import UsageError

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of a run (runs/<id>) or of a database")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write (default FOLDER/report.html)")
    database = parser.add_argument_group("of a database")
    database.add_argument(
        "--all-views",
        action="store_true",
        help="also scores of pictures from a view that the subject is not made for",
    )
    database.add_argument("--seed", type=int, default=0, help="of the intervals (default 0)")


def run(arguments: argparse.Namespace) -> int:
    """Write the report; return the exit code."""
    from embodied_iqa.database.store import is_database  # noqa: PLC0415 - start-up stays short

    page = _of_database(arguments) if is_database(arguments.folder) else _of_run(arguments)
    print(f"report: {os.path.relpath(page)}")
    return 0


def _of_database(arguments: argparse.Namespace) -> Path:
    from embodied_iqa.database.store import open_database  # noqa: PLC0415
    from embodied_iqa.reports.database.report import write_database_report  # noqa: PLC0415 - as above

    if arguments.seed < 0:
        raise UsageError("--seed is wrong", expected="0 or more", got=arguments.seed)
    store = open_database(arguments.folder)
    return write_database_report(store, arguments.out, all_views=arguments.all_views, seed=arguments.seed)


def _of_run(arguments: argparse.Namespace) -> Path:
    from embodied_iqa.reports.trial.report import report_of_folder  # noqa: PLC0415 - as above

    if arguments.all_views or arguments.seed:
        raise UsageError(f"{arguments.folder} is no database", expected="one, for --all-views and --seed")
    return report_of_folder(arguments.folder, arguments.out)
