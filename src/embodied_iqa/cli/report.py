"""`embodied-iqa report`: the report of a run, a database or a static benchmark, from its folder."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.cli.output import next_command
from embodied_iqa.data.recording.errors import RecordingReadError

if TYPE_CHECKING:
    from embodied_iqa.data.recording.repair.recover import RecoveryReport

_DATABASE = "database"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="of a run (runs/<id>), a database or `evaluate static`"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write (default FOLDER/report.html)")
    parser.add_argument("--json", action="store_true", help="print path, kind and recoveries as JSON")
    database = parser.add_argument_group("of a database")
    database.add_argument(
        "--all-views",
        action="store_true",
        help="also count scores for views that the subject is not made for",
    )
    database.add_argument("--seed", type=int, default=0, help="of the intervals (default 0)")


def _recover(folder: Path) -> list[RecoveryReport]:
    """Recover the recordings of a run that were cut short, as far as that is possible."""
    reports: list[RecoveryReport] = []
    repair = load("embodied_iqa.data.recording.repair.recover")
    for recording in load("embodied_iqa.runs.offline.stored_run:recordings_of")(folder):
        try:
            repair.readable_file(recording)
        except RecordingReadError:
            with suppress(RecordingReadError):  # nothing was recorded: the report says so
                reports.append(repair.recover(recording))
    return reports


def run(arguments: argparse.Namespace) -> int:
    """Write the report; return the exit code."""
    store = load("embodied_iqa.data.database.store")
    page: Path
    recovered: list[RecoveryReport] = []
    kind = _DATABASE if store.is_database(arguments.folder) else "run"
    if kind == _DATABASE:
        if arguments.seed < 0:
            raise UsageError("--seed is wrong", expected="0 or more", got=arguments.seed)
        write = load("embodied_iqa.pages.reports.database.report:write_database_report")
        database = store.open_database(arguments.folder)
        page = write(database, arguments.out, all_views=arguments.all_views, seed=arguments.seed)
    elif arguments.all_views or arguments.seed:
        raise UsageError(f"{arguments.folder} is not a database", expected="one, for --all-views and --seed")
    elif load("embodied_iqa.pages.reports.static.stored_results:is_static_results")(arguments.folder):
        kind = "static benchmark"
        page = load("embodied_iqa.pages.reports.static.report:write_static_report")(
            arguments.folder, arguments.out
        )
    else:
        recovered = _recover(arguments.folder)
        write = load("embodied_iqa.pages.reports.trial.report:report_of_folder")
        page = write(arguments.folder, arguments.out)
    if arguments.json:
        files = [str(report.output) for report in recovered]
        print(json.dumps({"report": str(page), "kind": kind, "recovered": files}, indent=2))
        return 0
    for one in recovered:
        print(f"{one.source} was cut short; recovered {one.kept_messages} messages: {one.output}")
    print(f"report: {os.path.relpath(page)}")
    if kind == _DATABASE:
        next_command("export", arguments.folder, "--format", "pyiqa", "--out", "DIR")
    else:
        next_command("experiment", "--out", "DIR")
    return 0
