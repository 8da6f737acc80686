"""`embodied-iqa annotate`: the last two steps of `build`, for a database that has its images."""

from __future__ import annotations

import argparse

from embodied_iqa.cli import build


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `build`, with other default steps."""
    build.configure(parser)
    parser.set_defaults(steps="annotate,score")


def run(arguments: argparse.Namespace) -> int:
    """Query and score; return the exit code."""
    return build.run(arguments)
