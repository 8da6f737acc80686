"""`embodied-iqa export`: a database in the formats of other tools."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import next_command, print_json, print_note


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="DB", help="folder of a database")
    formats = "for IQA-PyTorch, for Hugging Face datasets, or plain tables"
    add("--format", required=True, choices=("pyiqa", "hf", "csv"), help=formats)
    add("--out", type=Path, required=True, metavar="DIR", help="new or empty folder")
    licence = "of the set, such as cc-by-4.0 (default apache-2.0, or other where not all is simulated)"
    add("--licence", metavar="NAME", help=licence)
    all_views = "mean opinions also of subjects that are not made for the image's view"
    add("--all-views", action="store_true", help=all_views)
    add("--json", action="store_true", help="print the folder and its files as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Export; return the exit code."""
    from embodied_iqa.data.database.edits import state_of
    from embodied_iqa.data.database.store import open_database
    from embodied_iqa.data.export import exporting

    if arguments.licence is not None and not re.fullmatch(r"[A-Za-z0-9.+-]+", arguments.licence):
        raise UsageError("wrong --licence", expected="such as cc-by-4.0", got=arguments.licence)
    store = open_database(arguments.database)
    print_note(state_of(store))
    exporting.export_database(
        store,
        arguments.out,
        exporting.ExportFormat(arguments.format),
        licence=arguments.licence,
        all_views=arguments.all_views,
    )
    if arguments.json:
        files = sorted(file.relative_to(arguments.out).as_posix() for file in arguments.out.iterdir())
        print_json({"export": str(arguments.out), "format": arguments.format, "files": files})
        return 0
    print(f"export: {os.path.relpath(arguments.out)}; README.md in it says how to load it")
    next_command("db", "show", arguments.database)
    return 0
