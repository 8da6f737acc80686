"""`embodied-iqa benchmark`: image-quality metrics against the scores of a database, resumable."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions
from embodied_iqa.base.lazy import load
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, table_of
from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import TRAIN, BenchmarkPlan, Target, Unseen

if TYPE_CHECKING:
    from embodied_iqa.data.database.store import DatabaseStore
    from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults, ScoreRow

Word = TypeVar("Word", Target, Unseen)
_METRICS: Final = "psnr,psnr:240x180,ssim,gmsd"
_TITLES: Final = {"measure": "measuring blocks of images", "compare": "comparing with scores"}


class _Shown:
    """Progress on standard error: a line for each training, which shows bars of its own, then bars."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._bars: ProgressBars | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in _TITLES:
            if total:
                print(f"trained {done} of {total} metrics", file=sys.stderr)
            return
        if self._bars is None:
            self._bars = self._stack.enter_context(ProgressBars())
        self._bars.update(stage, done, total, title=_TITLES[stage])


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="DB", help="database with scores; nothing is written to it")
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or a benchmark to continue")
    names = f"by commas; {TRAIN}NAME is trained anew for each split (default {_METRICS})"
    add("--metrics", default=_METRICS, metavar="NAMES", help=names)
    targets = f"scores, some of {','.join(Target)} (default: all that the database has)"
    add("--targets", default="", metavar="NAMES", help=targets)
    trained_on = "scores or human databases that metrics are trained on (default decision)"
    add("--train-on", default=str(Target.DECISION), metavar="NAMES", help=trained_on)
    add("--repeats", type=int, default=10, metavar="N", help="splits by reference, 8:2 (default 10)")
    unseen = f"generalization studies: some of {','.join(Unseen)}"
    add("--unseen", default="", metavar="NAMES", help=unseen)
    human = "human database NAME:DIR: live, tid2013, kadid10k or koniq10k; may be repeated"
    add("--human", action="append", default=[], metavar="NAME:DIR", help=human)
    add("--draws", type=int, default=200, metavar="N", help="of the bootstrap (default 200)")
    views = "also count scores for views that the subject is not made for"
    add("--all-views", action="store_true", help=views)
    add("--workers", type=int, default=1, metavar="N", help="jobs in parallel (default 1)")
    runner = "what runs the workers"
    add("--engine", choices=[str(item) for item in EngineKind], default="processes", help=runner)
    add("--ray-address", default="", metavar="ADDRESS", help="of a cluster; default: start one here")
    add("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing; return the exit code."""
    store = load("embodied_iqa.data.database.store:open_database")(arguments.database)
    engine = EngineOptions(EngineKind(arguments.engine), arguments.workers, arguments.ray_address)
    plan = _plan(arguments, store)
    run_benchmark = load("embodied_iqa.quality.metrics.benchmark.runner:run_benchmark")
    with ExitStack() as stack:
        show = _Shown(stack)
        results: BenchmarkResults = run_benchmark(store, arguments.out, plan, engine, show)
    page: Path = load("embodied_iqa.pages.reports.stored:write_report")(arguments.out)
    if arguments.json:
        tree = load("embodied_iqa.base.records:unstructure")(results)
        json.dump(tree, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return 0
    for target, rows in results.overall().items():
        _print_rows(f"{target}: mean of {results.repeats} splits", rows)
    for remark in results.remarks:
        print(remark)
    print(f"report: {os.path.relpath(page)}")
    return 0


def _plan(arguments: argparse.Namespace, store: DatabaseStore) -> BenchmarkPlan:
    targets = _words(Target, arguments.targets, "--targets")
    if not targets:
        grid = load("embodied_iqa.data.analysis.loading:load_grid")(store, all_views=arguments.all_views)
        targets = load("embodied_iqa.quality.metrics.benchmark.targets:available_targets")(grid)
    if arguments.draws < 1:
        raise UsageError("--draws is wrong", expected="1 or more", got=arguments.draws)
    return BenchmarkPlan(
        metrics=_names(arguments.metrics),
        targets=targets,
        train_on=_names(arguments.train_on),
        repeats=arguments.repeats,
        unseen=_words(Unseen, arguments.unseen, "--unseen"),
        human=tuple(arguments.human),
        draws=arguments.draws,
        all_views=arguments.all_views,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _words(kind: type[Word], text: str, option: str) -> tuple[Word, ...]:
    names = _names(text)
    unknown = [name for name in names if name not in set(map(str, kind))]
    if unknown:
        raise UsageError(f"{option} is wrong", got=unknown[0], available=list(map(str, kind)))
    return tuple(kind(name) for name in names)


def _print_rows(title: str, rows: tuple[ScoreRow, ...]) -> None:
    headings = ("SRCC", "+-", "KRCC", "PLCC", "RMSE", "AUC", "of ceiling")
    table = table_of("metric", *headings, title=title, right=headings)
    for row in rows:
        mean = [number(row.mean[name], 3) for name in ("krcc", "plcc", "rmse", "auc")]
        table.add_row(
            row.metric,
            number(row.mean["srcc"], 3),
            number(row.spread["srcc"], 3),
            *mean,
            number(row.share, 3),
        )
    console().print(table)
