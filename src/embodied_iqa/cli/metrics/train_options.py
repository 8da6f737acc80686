"""Options of `embodied-iqa metrics train`."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.cli.plan_options import add_plan_options
from embodied_iqa.quality.metrics.training.training_plan import TrainingPlan


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    metric = "embodied-nr or embodied-fr [:SUBJECT+SUBJECT], cnniqa, resnet-18 or vit-small"
    add("name", metavar="NAME", help=metric)
    add("database", type=Path, metavar="DB", help="database with scores; nothing is written to it")
    options = ("out", "target", "split", "seed", "epochs", "workers", "all_views")
    add_plan_options(parser, TrainingPlan, *options, out="DIR")
    add("--json", action="store_true", help="print the result as JSON")
