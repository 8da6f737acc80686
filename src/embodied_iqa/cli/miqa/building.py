"""`embodied-iqa miqa build`: labels of distorted images by vision models, resumable."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import BlockReport
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, next_command, print_json, print_left_out, print_note, table_of
from embodied_iqa.cli.plan_options import (
    add_engine_options,
    add_plan_options,
    at_least,
    engine_of,
    read_plan,
    words_of,
)
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan

if TYPE_CHECKING:
    from embodied_iqa.suites.miqa.building.builder import BuildSummary
    from embodied_iqa.suites.miqa.building.reference import MiqaSource

_REFERENCES: Final = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="MDB", help="new folder, or a database to continue")
    add("--references", type=at_least(1), metavar="N", help="how many; may grow later (default 12, or all)")
    models = "by commas: panel (default), names as in docs/vision-models.md, python:MODULE:NAME"
    add("--models", default="panel", metavar="NAMES", help=models)
    tasks = words_of(VisionTask, may_be_empty=False)
    add(
        "--vision-task", type=tasks, default=",".join(VisionTask), metavar="NAMES", help="some of %(default)s"
    )
    add_plan_options(parser, MiqaPlan, "seed", "share", seed="N", share="P")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--coco", type=Path, metavar="FILE", help="instances of your images as COCO JSON")
    source.add_argument("--database", type=Path, metavar="DB", help="annotated database of simulated scenes")
    add("--images", type=Path, metavar="DIR", help="the images of --coco")
    kept = "write the distorted images; without, they are made again from their seeds"
    add("--keep-images", action="store_true", help=kept)
    add_engine_options(parser, "references in parallel")
    add("--json", action="store_true", help="print the summary as JSON")


class _Progress:
    """Bar of the references."""

    def __init__(self, bars: ProgressBars) -> None:
        self._bars = bars

    def begin(self, references: int) -> None:
        """Show the bar."""
        self._bars.update("labels", 0, references, title="references")

    def advance(self, report: BlockReport) -> None:
        """Count a reference."""
        self._bars.advance("labels", note=f"{report.rows / max(report.busy_s, 1e-3):.1f} images/s a worker")


def run(arguments: argparse.Namespace) -> int:
    """Label what is missing; return the exit code."""
    from embodied_iqa.suites.miqa.building.builder import build_labels
    from embodied_iqa.suites.miqa.building.models import unknown_categories

    plan, engine = _plan(arguments), engine_of(arguments)
    for note in unknown_categories(plan.models, plan.tasks, plan.source):
        print_note(note)
    with ProgressBars(transient=False) as bars:
        summary = build_labels(arguments.out, plan, engine, _Progress(bars))
    if arguments.json:
        print_json({"path": str(arguments.out), **unstructure(summary)})
    else:
        _print(arguments.out, summary)
        next_command("miqa", "stability", arguments.out)
    return 0


def _plan(arguments: argparse.Namespace) -> MiqaPlan:
    models = tuple(dict.fromkeys(word.strip() for word in arguments.models.split(",") if word.strip()))
    source = _source(arguments)
    wanted = len(source.names) if arguments.references is None else arguments.references
    given = {"references": wanted, "models": models, "tasks": tuple(dict.fromkeys(arguments.vision_task))}
    return read_plan(MiqaPlan, arguments, source=source, **given)


def _source(arguments: argparse.Namespace) -> MiqaSource:
    from embodied_iqa.suites.miqa.building.coco import CocoSource
    from embodied_iqa.suites.miqa.building.from_database import DatabaseSource
    from embodied_iqa.suites.miqa.building.rendered import RenderedSource

    if (arguments.coco is None) != (arguments.images is None):
        raise UsageError("images of the user need both", expected="--coco FILE and --images DIR")
    if arguments.coco is not None:
        source = CocoSource(arguments.coco, arguments.images)
        print_left_out(f"{name}: {reason}" for name, reason in source.unusable.items())
        return source
    if arguments.database is not None:
        return DatabaseSource(arguments.database)
    return RenderedSource(arguments.seed, arguments.references or _REFERENCES)


def _print(path: Path, summary: BuildSummary) -> None:
    numbers = ("references", "images", "models", "C", "A", "clean A")
    table = table_of("task", *numbers, "weights from", right=numbers)
    for task in summary.tasks:
        manifest = task.manifest
        counts = (str(manifest.references), str(manifest.rows), str(len(manifest.models)))
        means = (f"{value:.3f}" for value in (task.consistency, task.accuracy, task.clean_accuracy))
        table.add_row(str(manifest.task), *counts, *means, str(manifest.weights_from))
    console().print(table)
    print(f"{path}: {summary.labelled} references labelled in this run")
    if summary.busy_s:
        share = 100 * summary.inference_s / summary.busy_s
        print(f"time of the workers: {summary.busy_s:.0f} s, {share:.0f} % of it in models")
