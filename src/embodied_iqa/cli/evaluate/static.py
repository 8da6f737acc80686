"""`embodied-iqa evaluate static`: subjects on a static benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.node_options import add_node_options, overrides_of
from embodied_iqa.cli.output import console, print_report_table, table_of
from embodied_iqa.cli.plan_options import add_engine_options, add_levels, engine_of
from embodied_iqa.pages.reports.kit.formatting import plural

if TYPE_CHECKING:
    from embodied_iqa.base.jobs.engine import BlockReport
    from embodied_iqa.suites.static_benchmark.subjects import Asked
    from embodied_iqa.suites.static_benchmark.vlm_scores import GroupScore, SubjectScore, VlmScores

VLM_FILE = "vlm.json"
"""Scores of VLMs in the folder of results."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("bench", type=Path, metavar="BENCH", help="folder of `embodied-iqa static make` or `static import`")
    add("--vlm", metavar="SUBJECTS", help="VLMs by commas: subject names, or oracle, letter-a, random")
    add("--vla", metavar="SUBJECTS", help="VLAs by commas: subject names, or expert, expert-1cm, still")
    add("--out", type=Path, metavar="RESULTS", help="new folder, or one to continue (default: BENCH/results)")
    add("--circular", action="store_true", help="also ask every rotation of the options")
    add(
        "--answer-judge",
        metavar="SUBJECT",
        help="VLM that reads unparsed answers; its hits are counted apart",
    )
    add("--grey", action="store_true", help="also show grey images: what the text alone gives away")
    add("--distortion", action="append", default=[], metavar="ID:LEVEL", help="such as 12:3; repeatable")
    add("--distortions", metavar="IDS", help="types by commas, or all; with --levels")
    add_levels(parser, "of --distortions", "all")
    add_engine_options(parser)
    add("--retry", action="store_true", help="ask again where a subject failed")
    add("--json", action="store_true", help="print the scores as JSON")
    add_node_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; return the exit code."""
    from embodied_iqa.pages.reports.static import stored_results as stored
    from embodied_iqa.pages.reports.stored import write_report

    if not (arguments.vlm or arguments.vla):
        raise UsageError("nothing to evaluate", expected="--vlm SUBJECTS or --vla SUBJECTS")
    if arguments.answer_judge and not arguments.vlm:
        raise UsageError("--answer-judge reads answers of VLMs", expected="--vlm SUBJECTS")
    if (arguments.circular or arguments.grey) and not arguments.vlm:
        raise UsageError("--circular and --grey are of questions to VLMs", expected="--vlm SUBJECTS")
    results: Path = arguments.out or arguments.bench / "results"
    stored.check_evaluation(results, arguments.bench)
    found: dict[str, object] = {}
    if arguments.vlm:
        from embodied_iqa.suites.static_benchmark.benchmark import read_record, version_note

        if note := version_note(read_record(arguments.bench)):
            print(note, file=sys.stderr)
        scores = _evaluate_vlms(arguments, results)
        write_json_whole(results / VLM_FILE, unstructure(scores))
        found["vlm"] = unstructure(scores)
        if not arguments.json:
            _print(scores)
    if arguments.vla:
        from embodied_iqa.cli.evaluate.static_vla import evaluate, print_scores

        of_vlas = evaluate(arguments, results)
        found["vla"] = unstructure(of_vlas)
        if not arguments.json:
            print_scores(of_vlas)
    stored.write_evaluation(results, arguments.bench)
    page = write_report(results)
    print(json.dumps(found, indent=2) if arguments.json else f"scores: {results}; report: {page}")
    return 0


def _evaluate_vlms(arguments: argparse.Namespace, results: Path) -> VlmScores:
    from embodied_iqa.runs.graph.node_table import resolve
    from embodied_iqa.suites.static_benchmark.benchmark import read_items, read_record
    from embodied_iqa.suites.static_benchmark.circular import plain_items
    from embodied_iqa.suites.static_benchmark.conditions import conditions_of
    from embodied_iqa.suites.static_benchmark.judging import judge_scores
    from embodied_iqa.suites.static_benchmark.runs import VlmRun, rows_of_run, run_vlms
    from embodied_iqa.suites.static_benchmark.subjects import parse_subjects
    from embodied_iqa.suites.static_benchmark.vlm_scores import score_vlms

    words = [*arguments.distortion, *(arguments.distortions.split(",") if arguments.distortions else ())]
    record = read_record(arguments.bench)
    judge = _judge(arguments.answer_judge)
    node = resolve(tuple(arguments.config), overrides_of(arguments.set), only_reads=True).vlm_node
    plan = VlmRun(
        arguments.bench,
        results,
        parse_subjects(arguments.vlm),
        conditions_of(words, arguments.levels, grey=arguments.grey),
        arguments.circular,
        node.options,
        engine_of(arguments),
        arguments.retry,
    )
    with ProgressBars(transient=False) as bars:
        watch = _Watch(bars)
        parts = run_vlms(plan, watch)
    watch.report()
    rows = rows_of_run(read_items(arguments.bench), circular=arguments.circular)
    scores = score_vlms(rows, parts, record.md5)
    if judge is None:
        return scores
    plain = plain_items(rows)
    judged = judge_scores(judge, node.options, results, plain, parts)
    return replace(
        scores, subjects=tuple(replace(row, judged=judged[row.subject]) for row in scores.subjects)
    )


def _judge(name: str | None) -> Asked | None:
    """Return the judge before anybody is asked: a wrong one is an error at once."""
    from embodied_iqa.suites.static_benchmark.judging import check_judge
    from embodied_iqa.suites.static_benchmark.subjects import parse_subjects

    if name is None:
        return None
    (judge, *others) = parse_subjects(name)
    if others:
        raise UsageError("several judges", expected="one VLM", got=name)
    check_judge(judge)
    return judge


class _Watch:
    """Shows the progress and adds up the cost."""

    def __init__(self, bars: ProgressBars) -> None:
        self._bars = bars
        self._rows, self._outside_s = 0, 0.0

    def __call__(self, done: int, jobs: int, report: BlockReport) -> None:
        self._bars.update("answers", done, jobs, note=", ".join(report.failures))
        self._rows += report.rows
        self._outside_s += max(0.0, report.busy_s - report.inference_s)

    def report(self) -> None:
        """Print the cost of the new answers."""
        if self._rows:
            each_ms = 1000 * self._outside_s / self._rows
            print(f"{self._rows} new answers, {each_ms:.2f} ms each without the models' own time")


def _print(scores: VlmScores) -> None:
    groups = sorted({(group.dimension, group.person) for row in scores.subjects for group in row.groups})
    chance, nobody = scores.subjects[0].chance, len(scores.failed_by_all)
    items = plural(nobody, "item")
    print(f"chance {chance:.1%}; {items} that no model answers correctly (dummies not counted)")
    table = table_of(
        "subject", "adapter", "plain", "circular", "minus plain", "unparsed", "refused", "empty", "failed"
    )
    for row in scores.subjects:
        circular = _circular(row)
        counts = [str(row.readings[name]) for name in ("unparsed", "refused", "empty", "failed")]
        table.add_row(row.subject, row.adapter, str(row.plain), *circular, *counts)
    console().print(table)
    table = table_of("dimension", "view", "chance", *(row.subject for row in scores.subjects))
    for key in groups:
        shares = [_group(row.groups, key) for row in scores.subjects]
        chances = {f"{one.chance:.1%}" for one in shares if one is not None}
        table.add_row(*key, *chances, *map(_cell, shares))
    console().print(table)
    for row in scores.subjects:
        bias = ", ".join(f"{one.letter} {one.answered:.0%} (right {one.right:.0%})" for one in row.bias)
        print(f"letters of {row.subject}: {bias}")
    _print_judges(scores)
    if any(row.conditions for row in scores.subjects):
        from embodied_iqa.pages.reports.static.further import distorted_vlms

        print_report_table(distorted_vlms(scores))
    for pair in scores.comparisons:
        only = f"only {pair.first} {pair.only_first}, only {pair.second} {pair.only_second}"
        print(f"{pair.first} against {pair.second}: {only}, McNemar p = {pair.p_value:.3g}")


def _print_judges(scores: VlmScores) -> None:
    for row in scores.subjects:
        one = row.judged
        if one is not None:
            counts = f"{one.read} of {one.asked} unparsed answers read, {one.hits} right, {one.failed} failed"
            print(f"judge {one.judge} of {row.subject}: {counts}; with them {one.plain}")


def _circular(row: SubjectScore) -> tuple[str, str]:
    found = row.circular
    if found is None:
        return "-", "-"
    incomplete = f" ({found.incomplete} incomplete)" if found.incomplete else ""
    return f"{found.hits}{incomplete}", f"{100 * found.minus_plain:+.1f}"


def _group(groups: Sequence[GroupScore], key: tuple[str, str]) -> GroupScore | None:
    return next((one for one in groups if (one.dimension, one.person) == key), None)


def _cell(score: GroupScore | None) -> str:
    return "" if score is None else f"{score.hits} of {score.hits.n}"
