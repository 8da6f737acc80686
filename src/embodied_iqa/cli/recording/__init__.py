"""`embodied-iqa recording`: shows what a recording, a LeRobot data set or a video holds; exports trials."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.parser import Parser, perform
from embodied_iqa.data.lerobot.video_output import VideoCodec

_ACTIONS: Final = {"info": "showing:info", "export": "exporting:export"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    info = actions.add_parser("info", help="topics, types, rates, and faults of times and stamps")
    what = "a recording (MCAP, SQLite, a folder of `ros2 bag`), a LeRobot data set or a video"
    info.add_argument("recording", type=Path, metavar="FILE", help=what)
    info.add_argument("--json", action="store_true", help="print the result as JSON, times in ns")
    export = actions.add_parser("export", help="trials as a LeRobot data set, to train a policy with")
    add = export.add_argument
    add("sources", type=Path, nargs="+", metavar="RUN|BAG", help="recordings of trials, or folders of them")
    out = "new or empty folder for a LeRobot data set, version 3.0"
    add("--lerobot", type=Path, required=True, metavar="DIR", help=out)
    add("--fps", type=float, metavar="HZ", help="steps a second (default: the rate of the first camera)")
    codecs = [str(codec) for codec in VideoCodec]
    add("--video", choices=codecs, help="store videos instead of images without loss")
    add("--successful", action="store_true", help="only runs that succeeded")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
