"""`embodied-iqa benchmark`: image-quality metrics against the scores of a database, resumable."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, print_note, table_of
from embodied_iqa.cli.plan_options import add_engine_options, add_plan_options, engine_of, read_plan, words_of
from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import TRAIN, BenchmarkPlan, Target

if TYPE_CHECKING:
    from embodied_iqa.data.database.store import DatabaseStore
    from embodied_iqa.quality.metrics.benchmark.benchmark_results import ScoreRow

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
    add("--metrics", type=words_of(str), default=_METRICS, metavar="NAMES", help=names)
    targets = f"scores, some of {','.join(Target)} (default: all that the database has)"
    add("--targets", type=words_of(Target), default="", metavar="NAMES", help=targets)
    add_plan_options(parser, BenchmarkPlan, "train_on", "repeats", "unseen", "draws", "all_views")
    human = "human database NAME:DIR: live, tid2013, kadid10k or koniq10k; may be repeated"
    add("--human", action="append", default=[], metavar="NAME:DIR", help=human)
    add_engine_options(parser, "jobs in parallel")
    add("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing; return the exit code."""
    from embodied_iqa.data.database.edits import state_of
    from embodied_iqa.data.database.store import open_database
    from embodied_iqa.pages.reports.benchmark.lines import splits_in_words
    from embodied_iqa.pages.reports.stored import write_report
    from embodied_iqa.quality.metrics.benchmark.runner import run_benchmark

    store, engine = open_database(arguments.database), engine_of(arguments)
    print_note(state_of(store))
    plan = _plan(arguments, store)
    with ExitStack() as stack:
        show = _Shown(stack)
        results = run_benchmark(store, arguments.out, plan, engine, show)
    page = write_report(arguments.out)
    if arguments.json:
        from embodied_iqa.base.records import unstructure

        json.dump(unstructure(results), sys.stdout, indent=1, ensure_ascii=False)
        print()
        return 0
    for target, rows in results.overall().items():
        _print_rows(f"{target}: mean of {splits_in_words(results, target)}", rows)
    for remark in results.remarks:
        print(remark)
    print(f"report: {os.path.relpath(page)}")
    return 0


def _plan(arguments: argparse.Namespace, store: DatabaseStore) -> BenchmarkPlan:
    from embodied_iqa.data.analysis.loading import load_grid
    from embodied_iqa.quality.metrics.benchmark.targets import available_targets

    targets = arguments.targets or available_targets(load_grid(store, all_views=arguments.all_views))
    return read_plan(BenchmarkPlan, arguments, targets=targets, human=tuple(arguments.human))


def _print_rows(title: str, rows: tuple[ScoreRow, ...]) -> None:
    headings = ("SRCC", "+-", "KRCC", "PLCC raw", "PLCC", "RMSE", "AUC", "of ceiling")
    table = table_of("metric", *headings, title=title, right=headings)
    for row in rows:
        mean = [number(row.mean[name], 3) for name in ("krcc", "plcc_raw", "plcc", "rmse", "auc")]
        table.add_row(
            row.metric,
            number(row.mean["srcc"], 3),
            number(row.spread["srcc"], 3),
            *mean,
            number(row.share, 3),
        )
    console().print(table)
