"""`embodied-iqa miqa build`: labels of distorted images by vision models, resumable."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.miqa import TASKS
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_engine_options, add_plan_options
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan

DEFAULT_REFERENCES: Final = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="MDB", help="new folder, or a database to continue")
    add("--references", type=int, metavar="N", help="how many; may grow later (default 12, or all)")
    models = "by commas: panel (default), names as in docs/vision-models.md, python:MODULE:NAME"
    add("--models", default="panel", metavar="NAMES", help=models)
    add("--task", default=TASKS, metavar="TASKS", help="some of %(default)s")
    add_plan_options(parser, MiqaPlan, "seed", "share", seed="S", share="P")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--coco", type=Path, metavar="FILE", help="instances of your images as COCO JSON")
    source.add_argument("--database", type=Path, metavar="DB", help="annotated database of simulated scenes")
    add("--images", "--pictures", type=Path, metavar="DIR", help="the images of --coco")
    kept = "write the distorted images; without, they are made again from their seeds"
    add("--keep-images", "--keep-pictures", action="store_true", help=kept)
    add_engine_options(parser, "references in parallel")
    add("--json", action="store_true", help="print the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Label what is missing; return the exit code."""
    return perform(f"{__package__}.building:run", arguments)
