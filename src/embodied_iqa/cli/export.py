"""`embodied-iqa export`: a database in the forms that others read."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from embodied_iqa.errors import UsageError

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("database", type=Path, metavar="DB", help="folder of a database")
    parser.add_argument(
        "--format",
        required=True,
        choices=("pyiqa", "hf", "csv"),
        help="for IQA-PyTorch, for Hugging Face datasets, or plain tables",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="new or empty folder")
    parser.add_argument(
        "--licence",
        metavar="NAME",
        help="of the set, such as cc-by-4.0 (default apache-2.0, or other where photographs are in it)",
    )
    parser.add_argument(
        "--all-views",
        action="store_true",
        help="mean opinions also of subjects that are not made for the picture's view",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export; return the exit code."""
    from embodied_iqa.database.store import open_database  # noqa: PLC0415
    from embodied_iqa.export.exporting import ExportFormat, export_database  # noqa: PLC0415 - start-up

    if arguments.licence is not None and not re.fullmatch(r"[A-Za-z0-9.+-]+", arguments.licence):
        raise UsageError("--licence is no name", expected="such as cc-by-4.0", got=arguments.licence)
    export_database(
        open_database(arguments.database),
        arguments.out,
        ExportFormat(arguments.format),
        licence=arguments.licence,
        all_views=arguments.all_views,
    )
    print(f"export: {os.path.relpath(arguments.out)}")
    return 0
