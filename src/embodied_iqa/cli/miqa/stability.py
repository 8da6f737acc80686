"""`embodied-iqa miqa stability`: labels of random parts of the models, compared."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.cli.plan_options import at_least, seed_number, words_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.stability import PUBLISHED, TRIALS, Spread, Stability, stability_of

_NUMBERS = ("SRCC", "PLCC", "RMSE")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="MDB", help="folder of `embodied-iqa miqa build`")
    tasks = words_of(VisionTask)
    add(
        "--vision-task",
        type=tasks,
        default="",
        metavar="NAMES",
        help="by commas (default: all that were built)",
    )
    add(
        "--trials",
        type=at_least(1),
        default=TRIALS,
        metavar="N",
        help="random splits (default %(default)s)",
    )
    add("--seed", type=seed_number, default=0, metavar="N", help="of the splits (default 0)")
    add("--json", action="store_true", help="print as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compare and print; return the exit code."""
    database = MiqaDatabase(arguments.database)
    built = tuple(task for task in database.tasks if database.manifest(task).models)
    tasks = tuple(dict.fromkeys(arguments.vision_task)) or built or database.tasks
    found = [
        stability_of(task, database.values(task), trials=arguments.trials, seed=arguments.seed)
        for task in tasks
    ]
    if arguments.json:
        print_json(found)
    else:
        _print(found)
    return 0


def _print(stabilities: Sequence[Stability]) -> None:
    published = [f"published {name}" for name in _NUMBERS]
    table = table_of("task", "label", *_NUMBERS, *published, right=(*_NUMBERS, *published))
    for task in stabilities:
        for row in task.rows:
            known = [f"{value:.3f}" for value in PUBLISHED[task.task, row.label]]
            table.add_row(str(task.task), row.label, *map(_shown, (row.srcc, row.plcc, row.rmse)), *known)
    console().print(table)
    for task in stabilities:
        print(
            f"{task.task}: {task.trials} splits of {task.models} models ({task.models - task.small} and "
            f"{task.small}; {task.distinct} different ones exist), {task.images} images; "
            f"splits without a correlation: {max(row.undefined for row in task.rows)}"
        )
    print("published: other images and 75 models; not a target")


def _shown(spread: Spread) -> str:
    return "undefined" if spread.mean is None else f"{spread.mean:.3f} (sd {spread.std:.3f})"
