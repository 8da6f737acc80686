"""`embodied-iqa report`: the report of stored results, from their folder, as HTML or in a Markdown page."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.data.recording.errors import RecordingReadError

if TYPE_CHECKING:
    from embodied_iqa.data.recording.repair.recover import RecoveryReport
    from embodied_iqa.pages.reports.kit.chapters import ChapterPage
    from embodied_iqa.pages.reports.stored import Stored

FRAMES_FILE: Final = "frames.csv"
"""Every image that `rescore` judged: of anybody, so that no trial in the simulated cell follows."""
_PAGE: Final = "report.html"
_RUN: Final = "run"
_DATABASE: Final = "database"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    results = "of a run (runs/<id>), a database, or what benchmark, experiment or evaluate wrote"
    parser.add_argument("folder", type=Path, metavar="FOLDER", help=results)
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"page to write (default FOLDER/{_PAGE})")
    parser.add_argument("--json", action="store_true", help="print path, kind and recoveries as JSON")
    markdown = parser.add_argument_group("in a Markdown page, instead of HTML")
    tables = "write the tables between the marks of a section; all other text of the page stays"
    markdown.add_argument("--markdown", type=Path, metavar="PAGE", help=tables)
    section = "of the page (default: the kind of results, such as database)"
    markdown.add_argument("--section", default="", metavar="NAME", help=section)
    chapters = "anchors of the chapters to write (default: all with tables)"
    markdown.add_argument("--chapters", default="", metavar="A,B", help=chapters)
    database = parser.add_argument_group("of a database")
    views = "also count scores for views that the subject is not made for"
    database.add_argument("--all-views", action="store_true", help=views)
    database.add_argument(
        "--seed", type=seed_number, default=0, metavar="N", help="of the intervals (default 0)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the report; return the exit code."""
    from embodied_iqa.pages.reports.stored import kind_of

    kind = kind_of(arguments.folder)
    _check(arguments, kind)
    recovered: list[RecoveryReport] = []
    page: Path
    if kind is not None:
        page = _write(arguments, kind)
    else:
        from embodied_iqa.pages.reports.trial.trial_report import report_of_folder

        recovered = _recover(arguments.folder)
        page = report_of_folder(arguments.folder, arguments.out)
    name = _RUN if kind is None else kind.name
    if arguments.json:
        files = [str(report.output) for report in recovered]
        print_json({"report": str(page), "kind": name, "recovered": files})
        return 0
    _print(page, name, recovered, arguments.folder)
    return 0


def _check(arguments: argparse.Namespace, kind: Stored | None) -> None:
    """Refuse options that mean nothing here."""
    if (kind is None or kind.name != _DATABASE) and (arguments.all_views or arguments.seed):
        raise UsageError(f"{arguments.folder} is not a database", expected="one, for --all-views and --seed")
    if (arguments.section or arguments.chapters) and not arguments.markdown:
        raise UsageError("--section and --chapters are of a Markdown page", expected="--markdown PAGE")
    if arguments.markdown and arguments.out:
        raise UsageError("--out and --markdown", expected="one of them")
    if arguments.markdown and kind is None:
        from embodied_iqa.pages.reports.stored import KINDS

        raise UsageError(
            f"{arguments.folder} has no tables for --markdown",
            expected="the folder of finished results",
            available=[known.name for known in KINDS],
        )


def _write(arguments: argparse.Namespace, kind: Stored) -> Path:
    """Write the tables into a Markdown page, or the HTML page; return its path."""
    out: Path = arguments.markdown or arguments.out or arguments.folder / _PAGE
    page = kind.page(arguments.folder, out, arguments.all_views, arguments.seed)
    if arguments.markdown:
        from embodied_iqa.pages.reports.kit.markdown import write_section

        write_section(out, arguments.section or kind.name.split()[0], _chosen(page, arguments.chapters))
    else:
        from embodied_iqa.pages.reports.kit.chapters import write_chapters

        write_chapters(out, kind.template, page)
    return out


def _chosen(page: ChapterPage, anchors: str) -> ChapterPage:
    """Return a page with some of its chapters, in their order; all without a choice."""
    wanted = set(filter(None, anchors.split(",")))
    known = {chapter.anchor: chapter for chapter in page.chapters}
    for anchor in sorted(wanted - known.keys()):
        raise UsageError("unknown chapter", got=anchor, available=known)
    return replace(page, chapters=tuple(known[name] for name in known if name in wanted or not wanted))


def _recover(folder: Path) -> list[RecoveryReport]:
    """Recover the recordings of a run that were cut short, as far as that is possible."""
    from embodied_iqa.data.recording.repair import recover as repair
    from embodied_iqa.runs.offline.stored_run import recordings_of

    reports: list[RecoveryReport] = []
    for recording in recordings_of(folder):
        try:
            repair.readable_file(recording)
        except RecordingReadError:
            with suppress(RecordingReadError):  # nothing was recorded: the report says so
                reports.append(repair.recover(recording))
    return reports


def _print(page: Path, kind: str, recovered: Sequence[RecoveryReport], folder: Path) -> None:
    for one in recovered:
        print(f"{one.source} was cut short; recovered {one.kept_messages} messages: {one.output}")
    print(f"report: {os.path.relpath(page)}")
    if kind == _DATABASE:
        next_command("export", folder, "--format", "pyiqa", "--out", "DIR")
    elif kind == _RUN:
        next_command("studio", folder)
