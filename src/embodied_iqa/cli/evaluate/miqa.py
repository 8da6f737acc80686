"""`embodied-iqa evaluate miqa`: metrics on the labels of machine vision of held-out images."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import print_json, print_report_table
from embodied_iqa.cli.plan_options import add_plan_options, add_workers, read_plan, words_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.evaluation.evaluating import BASELINES, EvaluationPlan, evaluate, trained_on
from embodied_iqa.suites.miqa.evaluation.evaluation_results import MiqaEvaluation
from embodied_iqa.suites.miqa.training_rows import TARGET, Label, parse_target

_SUFFIX: Final = "-evaluation"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "models", nargs="+", metavar="MODEL", help="folders of `embodied-iqa miqa train`, or names of metrics"
    )
    add("database", type=Path, metavar="MDB", help="database of `miqa build`; nothing is written to it")
    add("--out", type=Path, metavar="DIR", help="measured values and the report (default MODEL-evaluation)")
    labels = f"{', '.join(Label)} (default: that of MODEL)"
    add("--label", choices=list(map(str, Label)), default="", metavar="NAME", help=labels)
    tasks = words_of(VisionTask)
    add(
        "--vision-task",
        type=tasks,
        default="",
        metavar="NAMES",
        help="tasks of the labels (default: that of MODEL)",
    )
    add("--cross", action="store_true", help="all tasks of the database: transfer between them")
    baselines = ",".join(BASELINES)
    add(
        "--metrics",
        default=baselines,
        metavar="NAMES",
        help=f"metrics beside (default: {baselines}; none: '')",
    )
    add_plan_options(parser, EvaluationPlan, "draws", "images_each")
    add_workers(parser)
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, write the report, print a table; return the exit code."""
    from embodied_iqa.pages.reports.stored import write_report

    database = MiqaDatabase(arguments.database)
    names = [metric_name(model) for model in arguments.models]
    plan = _plan(arguments, database, names)
    out = arguments.out or Path(names[0].removeprefix("trained:").rstrip("/") + _SUFFIX)
    with ProgressBars() as bars:
        result = evaluate(database, plan, out, EngineOptions(workers=arguments.workers), bars.update)
    page = write_report(out)
    if arguments.json:
        print_json(result)
        return 0
    _print(result)
    print(f"report: {page}")
    return 0


def metric_name(model: str) -> str:
    """Return the name of a metric of a model: a folder counts as trained."""
    return f"trained:{model}" if Path(model).is_dir() else model


def _plan(arguments: argparse.Namespace, database: MiqaDatabase, names: list[str]) -> EvaluationPlan:
    target = next(filter(None, map(trained_on, names)), "")
    task, label = parse_target(f"{TARGET}{target}") if target else (None, Label.COMPOSITE)
    chosen = arguments.vision_task or ((task,) if task else ())
    tasks = database.tasks if arguments.cross or not chosen else chosen
    others = [word for word in arguments.metrics.split(",") if word]
    metrics = tuple(dict.fromkeys([*names, *others]))
    label = Label(arguments.label or label)
    return read_plan(EvaluationPlan, arguments, metrics=metrics, tasks=tasks, label=label)


def _print(result: MiqaEvaluation) -> None:
    from embodied_iqa.pages.reports.miqa.tables import agreement_table, difference_table, fall_table

    for facts in result.tasks:
        print_report_table(agreement_table(result, facts.task))
        if result.falls:
            print_report_table(fall_table(result, facts.task))
        if any(row.task is facts.task for row in result.differences):
            print_report_table(difference_table(result, facts.task))
    for remark in result.remarks:
        print(f"note: {remark}")
