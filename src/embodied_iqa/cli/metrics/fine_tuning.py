"""`embodied-iqa metrics fine-tune`: trains a metric of pyiqa on an export of a database."""

from __future__ import annotations

import argparse
import json
import sys

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import next_command
from embodied_iqa.cli.plan_options import read_plan
from embodied_iqa.quality.metrics.pyiqa.fine_tuning import FineTuning, fine_tune


def train(arguments: argparse.Namespace) -> int:
    """Train with pyiqa's own trainer; print the name of the trained metric."""
    word, _, name = arguments.name.partition(":")
    name, _, file = name.partition("@")
    if word != "pyiqa" or not name or file:
        raise UsageError(
            "not a metric of pyiqa", expected="pyiqa:NAME, such as pyiqa:cnniqa", got=arguments.name
        )
    if min(arguments.epochs, arguments.batch, arguments.crop) < 1 or arguments.learning_rate <= 0:
        raise UsageError(
            "wrong options of training", expected="epochs, batch and crop from 1, a rate above 0"
        )
    plan = read_plan(FineTuning, arguments, crop_px=arguments.crop)

    def show(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    best = fine_tune(name, plan, arguments.out, arguments.weights, show)
    trained = f"pyiqa:{name}@{best}"
    print(json.dumps({"metric": trained}) if arguments.json else f"metric: {trained}")
    if not arguments.json:
        next_command("metrics", "score", trained, "IMAGES")
    return 0
