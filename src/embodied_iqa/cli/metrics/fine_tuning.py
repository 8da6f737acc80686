"""`embodied-iqa metrics fine-tune`: trains a metric of pyiqa on an export of a database."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import next_command, print_progress
from embodied_iqa.cli.plan_options import add_plan_options, at_least, read_plan
from embodied_iqa.quality.metrics.pyiqa.fine_tuning import FineTuning, fine_tune


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("name", metavar="pyiqa:NAME", help="metric of pyiqa, such as pyiqa:cnniqa")
    add("export", type=Path, metavar="EXPORT", help="folder of `embodied-iqa export --format pyiqa`")
    add("--out", type=Path, required=True, metavar="DIR", help="new folder")
    add("--weights", type=Path, metavar="FILE", help="weights to begin with (default random)")
    rates = ("target", "split", "epochs", "learning_rate", "batch")
    add_plan_options(parser, FineTuning, *rates, learning_rate="RATE")
    crop = "side of random crops (default 384)"
    add("--crop", dest="crop_px", type=at_least(1), default=384, metavar="PX", help=crop)
    add_plan_options(parser, FineTuning, "seed", "gpus")
    add("--json", action="store_true", help="print the result as JSON")


def train(arguments: argparse.Namespace) -> int:
    """Train with pyiqa's own trainer; print the name of the trained metric."""
    word, _, name = arguments.name.partition(":")
    name, _, file = name.partition("@")
    if word != "pyiqa" or not name or file:
        raise UsageError(
            "not a metric of pyiqa", expected="pyiqa:NAME, such as pyiqa:cnniqa", got=arguments.name
        )
    if arguments.learning_rate <= 0:
        raise UsageError("--learning-rate is wrong", expected="above 0", got=arguments.learning_rate)
    plan = read_plan(FineTuning, arguments)

    best = fine_tune(name, plan, arguments.out, arguments.weights, print_progress)
    trained = f"pyiqa:{name}@{best}"
    print(json.dumps({"metric": trained}) if arguments.json else f"metric: {trained}")
    if not arguments.json:
        next_command("metrics", "score", trained, "IMAGES")
    return 0
