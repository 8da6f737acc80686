"""`embodied-iqa miqa score`: what images are worth to machine vision, by a trained metric."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.cli.parser import perform


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("images", nargs="+", type=Path, metavar="IMAGE", help="images, or folders of images")
    add("--model", type=Path, required=True, metavar="DIR", help="folder of `embodied-iqa miqa train`")
    add("--json", action="store_true", help="print the values as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Score; return the exit code."""
    return perform("embodied_iqa.cli.metrics.scoring:score_files", arguments)
