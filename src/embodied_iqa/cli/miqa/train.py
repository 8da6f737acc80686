"""`embodied-iqa miqa train`: trains a metric on the training references of a database; resumable."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_workers


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="MDB", help="database of `miqa build`; nothing is written to it")
    models = "ra-miqa, ra-miqa-small (default), its ablation or a baseline; see docs/miqa.md"
    add("--model", default="ra-miqa-small", metavar="NAME", help=models)
    add("--task", default="cls", metavar="TASK", help="of the labels: cls (default), det or ins")
    label = "composite (default), consistency or accuracy"
    add("--label", default="composite", metavar="NAME", help=label)
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or a training to continue")
    layer = "block of the region encoder whose tokens are averaged: 1, 2, ..., last or none (default: last)"
    add("--region-layer", metavar="N", help=layer)
    add("--weights", type=Path, metavar="FILE", help="backbone to begin with (safetensors, names of timm)")
    region = "region encoder (safetensors; default: one is trained on rendered scenes)"
    add("--region-weights", type=Path, metavar="FILE", help=region)
    add("--epochs", type=int, metavar="N", help="at most (default: as in the recipe)")
    images = "of each reference, drawn by the seed; 0 for all (default: as in the recipe)"
    add("--images", "--pictures", type=int, metavar="N", help=images)
    add("--seed", type=int, default=0, help="of everything random (default: 0)")
    add_workers(parser)
    add("--json", action="store_true", help="print the card as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train; return the exit code."""
    return perform(f"{__package__}.training:train", arguments)
