"""`embodied-iqa recording`: shows what a recording, a data set, a video or a folder holds; exports trials."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.parser import Parser, perform

_ACTIONS: Final = {"info": "showing:run", "export": "exporting:run"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    info = actions.add_parser("info", help="topics, types, rates, and faults of times and stamps")
    what = "a recording (MCAP, SQLite, a folder of `ros2 bag`), a data set, a video or a folder of images"
    info.add_argument("recording", type=Path, metavar="FILE", help=what)
    info.add_argument("--json", action="store_true", help="print the result as JSON, times in ns")
    export = actions.add_parser("export", help="trials as a LeRobot data set, to train a policy with")
    export.module = f"{__name__}.exporting"


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
