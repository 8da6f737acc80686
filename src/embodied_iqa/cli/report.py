"""`embodied-iqa report`: write the page of a run again, from its folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="folder of a run: runs/<id>")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="page to write (default RUN_DIR/report.html)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the report; return the exit code."""
    from embodied_iqa.analysis.stored_run import report_of_folder  # noqa: PLC0415 - start-up stays short

    page = report_of_folder(arguments.run_dir, arguments.out)
    print(f"report: {os.path.relpath(page)}")
    return 0
