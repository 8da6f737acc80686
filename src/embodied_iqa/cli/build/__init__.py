"""`embodied-iqa build`: an annotated database, from references to scores, resumable."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.node_options import add_node_options
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import (
    RANDOM_LEVEL,
    add_engine_options,
    add_levels,
    add_plan_options,
    at_least,
)
from embodied_iqa.cli.stored_options import add_stored_options
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel

__all__ = ["EMBEDDED", "configure", "run"]

DEFAULT_SIZE: Final = "480x360"
EMBEDDED: Final = "embedded"
"""Name of all subjects that need no server."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DB", help="new folder, or a database to continue")
    add("--references", type=at_least(1), metavar="N", help="how many; may grow later (default 12, or all)")
    panel = f"subjects by commas, or {EMBEDDED} (default: those of the database, of a new one {EMBEDDED})"
    add("--panel", metavar="NAMES", help=panel)
    add_plan_options(parser, BuildPlan, "seed", "store", seed="N")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--from-folder", type=Path, metavar="DIR", help="your own images; needs --tasks or --task"
    )
    stored = "recording of a trial, or with --tasks or --task any recording, LeRobot data set or video"
    source.add_argument("--from-bag", type=Path, metavar="FILE", help=stored)
    suites = "suites of LIBERO by commas, such as libero_spatial (docs/libero.md)"
    source.add_argument("--world", metavar="SUITES", help=suites)
    add_stored_options(parser.add_argument_group("recordings, data sets and videos").add_argument)
    action = (
        "compare decisions with recorded actions, too; what these mean, and of a recording where they are"
    )
    add("--action", metavar="CONVENTION[=TOPIC]", help=action)
    cell = "the images show the simulated cell as its cameras do; else their cameras are not known"
    add("--cell-cameras", action="store_true", help=cell)
    add("--tasks", type=Path, metavar="FILE", help="tasks of images or frames, as in docs/tasks.md")
    add("--views", default="", metavar="VIEWS", help="cameras of the references (default wrist,top,side)")
    add("--size", metavar="WxH", help=f"of simulated images (default {DEFAULT_SIZE})")
    models = [str(model) for model in CameraModel]
    model = f"of simulated images (default {DEFAULT_MODEL})"
    add("--camera-model", choices=models, help=model)
    one = "one for each reference and distortion"
    add_levels(parser, "of each distortion", RANDOM_LEVEL, random=one)
    add_plan_options(parser, BuildOptions, "steps", "retry", steps="STEPS")
    add_engine_options(parser)
    add("--json", action="store_true", help="print the summary as JSON")
    add_node_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build what is missing; return the exit code."""
    return perform(f"{__name__}.building:run", arguments)
