"""`embodied-iqa metrics`: image-quality metrics by name, their values of images, and their training."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.parser import Parser, perform

_ACTIONS: Final = {
    "list": "listing:list_metrics",
    "show": "listing:show_metric",
    "score": "scoring:score",
    "train": "training:train",
    "fine-tune": "fine_tuning:train",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    listing = actions.add_parser("list", help="list the metrics and what they need")
    show = actions.add_parser("show", help="show one metric and measure its speed here")
    show.add_argument("name", metavar="NAME", help="name of a metric")
    score = actions.add_parser("score", help="measure an image or a folder of images")
    score.add_argument("names", metavar="NAMES", help="names of metrics, by commas")
    add = score.add_argument
    images = "an image, a folder with sub-folders, a video, a recording or a LeRobot data set"
    add("images", type=Path, metavar="IMAGES", help=images)
    undistorted = "the undistorted image, or a source of the same names, such as the input of `distort`"
    add("--reference", type=Path, metavar="PATH", help=undistorted)
    topic = "image topic of a recording, or camera of a data set; repeatable"
    add("--only-topic", action="append", default=[], metavar="TOPIC", help=topic)
    camera = "name of the camera of the images, for metrics of policies and trained ones"
    add("--view", metavar="VIEW", help=camera)
    train = actions.add_parser("train", help="train a metric on the scores of a database")
    train.module = f"{__name__}.train_options"
    tune = actions.add_parser("fine-tune", help="train a metric of pyiqa on an export of a database")
    tune.module = f"{__name__}.fine_tuning"
    for action in (listing, show, score):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
