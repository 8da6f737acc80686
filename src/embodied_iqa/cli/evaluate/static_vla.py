"""`embodied-iqa evaluate static --vla`: VLAs against the expert trajectories of a static benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.output import console, table_of
from embodied_iqa.cli.plan_options import engine_of
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.suites.static_benchmark.conditions import CLEAN, conditions_of
from embodied_iqa.suites.static_benchmark.vla.evaluation import VlaRun, evaluate_vlas
from embodied_iqa.suites.static_benchmark.vla.stored_chunks import vla_subject
from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaResults, VlaRow

_NUMBERS = (
    "chunk", "position", "orientation", "end", "overall", "log first", "geodesic", "refused", "failed",
)  # fmt: skip


def evaluate(arguments: argparse.Namespace, results: Path) -> VlaResults:
    """Ask the VLAs of a command line and write `vla.json`.

    Raises:
        UserError: A subject is unknown or named twice, or the benchmark has no trajectories.
    """
    names = [name.strip() for name in arguments.vla.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise UsageError("wrong --vla", expected="VLAs by commas, each once", got=arguments.vla)
    words = [*arguments.distortion, *(arguments.distortions.split(",") if arguments.distortions else ())]
    conditions = conditions_of(words, arguments.levels, grey=False)
    specs = tuple(parse_distortion(one.name) for one in conditions if one.name != CLEAN)
    node = resolve(tuple(arguments.config), overrides_of(arguments.set), only_reads=True).vla_node
    run = VlaRun(
        arguments.bench,
        results,
        tuple(map(vla_subject, names)),
        specs,
        engine=engine_of(arguments),
        vla=node.options,
        retry=arguments.retry,
    )
    with ProgressBars(transient=False) as bars:
        return evaluate_vlas(run, lambda done, jobs: bars.update("chunks", done, jobs))


def print_scores(results: VlaResults) -> None:
    """Print the scores on clean images, and under each condition."""
    table = table_of("subject", "images", "timing", *_NUMBERS, "95 % interval", right=_NUMBERS)
    for row in results.rows:
        if row.main or not row.level:
            table.add_row(*_cells(row))
    console().print(table)


def _cells(row: VlaRow) -> tuple[str, ...]:
    shown = f"{row.distortion}:{row.level}" if row.level else CLEAN
    timing = f"{row.timing} (main)" if row.main else str(row.timing)
    parts = (row.position, row.orientation, row.end_effector, row.overall)
    more = (*parts, row.overall_log_first, row.overall_geodesic)
    ends = "" if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}"
    chunk = "" if row.chunk is None else f"{row.chunk:g}"
    numbers = (f"{number:.2f}" for number in more)
    return (row.subject, shown, timing, chunk, *numbers, str(row.refused), str(row.failed), ends)
