"""`embodied-iqa metrics`: image-quality metrics by name, their values of images, and their training."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.parser import Parser, perform
from embodied_iqa.cli.plan_options import add_workers, seed_number

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
    _configure_train(train)
    tune = actions.add_parser("fine-tune", help="train a metric of pyiqa on an export of a database")
    tune.module = f"{__name__}.fine_tuning"
    for action in (listing, show, score, train):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def _configure_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    metric = "embodied-nr or embodied-fr [:SUBJECT+SUBJECT], cnniqa, resnet-18 or vit-small"
    add("name", metavar="NAME", help=metric)
    add("database", type=Path, metavar="DB", help="database with scores; nothing is written to it")
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or a training to continue")
    target = (
        "decision, position, ..., cognition, metric:NAME, or miqa:TASK:LABEL of a database of `miqa build`"
    )
    add("--target", default="decision", metavar="NAME", help=f"{target} (default decision)")
    add("--split", type=int, default=0, metavar="N", help="split by reference, 0 to 9 (default 0)")
    add("--seed", type=seed_number, default=0, metavar="N", help="of everything random (default 0)")
    add_workers(parser)
    views = "also count scores for views that the subject is not made for"
    add("--all-views", action="store_true", help=views)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
