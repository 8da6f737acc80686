"""`embodied-iqa evaluate miqa`: metrics on the labels of machine vision of held-out images."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.cli.plan_options import add_workers, at_least, words_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.evaluation.evaluating import BASELINES, EvaluationPlan, evaluate, trained_on
from embodied_iqa.suites.miqa.evaluation.evaluation_results import MetricRow, MiqaEvaluation, Share
from embodied_iqa.suites.miqa.training_rows import TARGET, Label, parse_target

_SUFFIX: Final = "-evaluation"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "models", nargs="+", metavar="MODEL", help="folders of `embodied-iqa miqa train`, or names of metrics"
    )
    add("database", type=Path, metavar="MDB", help="database of `miqa build`; nothing is written to it")
    add("--out", type=Path, metavar="DIR", help="measured values and the report (default: MODEL-evaluation)")
    labels = f"{', '.join(Label)} (default: that of MODEL)"
    add("--label", choices=list(map(str, Label)), default="", metavar="NAME", help=labels)
    tasks = words_of("--task", VisionTask)
    add("--task", type=tasks, default="", metavar="A,B", help="tasks of the labels (default: that of MODEL)")
    add("--cross", action="store_true", help="all tasks of the database: transfer between them")
    baselines = ",".join(BASELINES)
    add(
        "--metrics", default=baselines, metavar="A,B", help=f"metrics beside (default: {baselines}; none: '')"
    )
    draws = "draws of references for intervals (default: 500)"
    add("--draws", type=at_least(1), default=500, metavar="N", help=draws)
    drawn = "held-out images of each reference, drawn with seed 0 (default: all)"
    add("--images", "--pictures", type=at_least(0), default=0, metavar="N", help=drawn)
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
    chosen = arguments.task or ((task,) if task else ())
    tasks = database.tasks if arguments.cross or not chosen else chosen
    others = [word for word in arguments.metrics.split(",") if word]
    return EvaluationPlan(
        tuple(dict.fromkeys([*names, *others])),
        tasks,
        Label(arguments.label or label),
        arguments.draws,
        arguments.images,
    )


def _print(result: MiqaEvaluation) -> None:
    for facts in result.tasks:
        right = ("SRCC", "95 %", "PLCC", "KRCC", "RMSE", "ms")
        title = f"{result.label} of {facts.task}: {facts.pictures:,} held-out images"
        table = table_of("metric", *right, title=title, right=right)
        for row in result.metrics:
            if row.task is facts.task:
                table.add_row(row.metric, *_cells(row))
        console().print(table)
        _print_falls(result, facts.task)
    for remark in result.remarks:
        print(f"note: {remark}")
    for one in result.differences:
        if one.low is not None and one.high is not None:
            ends = f"[{one.low:+.3f}, {one.high:+.3f}]"
            print(f"{one.task}: {one.first} minus {one.second}: SRCC {one.value:+.3f} {ends}")


def _print_falls(result: MiqaEvaluation, task: VisionTask) -> None:
    right = ("in order", "95 %", "monotone", "95 % ", "types that fall")
    table = table_of("metric", *right, title=f"{task}: scores when levels rise", right=right)
    for row in result.falls_of(task):
        falling, kinds = result.falling_types(task, row.metric)
        table.add_row(row.metric, *_share(row.ordered), *_share(row.monotone), f"{falling} of {kinds}")
    console().print(table)


def _share(share: Share) -> tuple[str, str]:
    return "-" if share.value is None else f"{share.value:.3f}", _ends(share.low, share.high)


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _cells(row: MetricRow) -> list[str]:
    found = row.agreement
    ends = _ends(row.low, row.high)
    numbers = ["-" if one is None else f"{one:.3f}" for one in (found.plcc, found.krcc, found.rmse)]
    time = "-" if row.milliseconds is None else f"{row.milliseconds:.1f}"
    return ["-" if found.srcc is None else f"{found.srcc:.3f}", ends, *numbers, time]
