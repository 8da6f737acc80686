"""Options of `embodied-iqa cell check`, said to be at work before the packages that read a cell load."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import print_progress
from embodied_iqa.cli.parser import perform


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("config", type=Path, nargs="+", metavar="FILE", help="ROS parameter file, such as cell.yaml")
    add("--set", action="append", default=[], metavar="NODE.PARAMETER=VALUE", help="one; may be repeated")
    add("--seconds", type=float, default=5.0, metavar="S", help="how long to look (default 5)")
    add("--namespace", default="", metavar="NAME", help="of the relative names of topics, such as cell1")
    add("--task", metavar="TEXT", help="of the policy's test decision, such as 'pick the red cube'")
    report = (
        "folder for the images with the tool drawn into them, and checks.json: new, or of an earlier check"
    )
    add("--out", type=Path, metavar="DIR", help=report)
    add("--json", action="store_true", help="print the checks as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Say what is checked, then check; return the exit code."""
    if not 0.0 < arguments.seconds < math.inf:
        raise UsageError("--seconds", expected="a time above 0", got=arguments.seconds)
    print_progress(f"checking {', '.join(map(str, arguments.config))}")
    return perform("embodied_iqa.cli.cell.check:run", arguments)
