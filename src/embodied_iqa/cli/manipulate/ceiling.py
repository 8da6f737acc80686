"""`embodied-iqa manipulate ceiling`: success of the expert on the grid, by task and subset."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.cli.plan_options import add_workers
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Subset
from embodied_iqa.suites.cell_manipulation.making import read_episodes

if TYPE_CHECKING:
    from embodied_iqa.suites.cell_manipulation.ceiling import ExpertRun


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("episodes", type=Path, metavar="EP", help="folder of `manipulate make`")
    add_workers(parser, "processes")
    add("--out", type=Path, metavar="FILE", help="write every run as JSON, with its actions")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the expert in all episodes and print its success; return the exit code."""
    from embodied_iqa.suites.cell_manipulation.ceiling import measure_ceiling

    episodes = read_episodes(arguments.episodes)
    runs: list[ExpertRun] = []
    with ProgressBars() as bars:
        for run in measure_ceiling(episodes, arguments.workers):
            runs.append(run)
            bars.update("episodes", len(runs), len(episodes))
    order = {episode.name: index for index, episode in enumerate(episodes)}
    runs.sort(key=lambda run: order[run.episode])
    if arguments.out is not None:
        write_text_whole(arguments.out, json.dumps([unstructure(run) for run in runs], indent=1))
    if arguments.json:
        print_json({name: _tree(share) for name, share in _shares(runs)})
    else:
        _print(runs)
    return 0


def _shares(runs: Sequence[ExpertRun]) -> list[tuple[str, Share]]:
    """Return the success of all runs, of each task and of each subset."""
    groups = {"all": list(runs)}
    groups |= {str(task): [run for run in runs if run.task is task] for task in CellTask}
    groups |= {str(subset): [run for run in runs if run.subset is subset] for subset in Subset}
    return [
        (name, wilson(sum(run.success for run in group), len(group)))
        for name, group in groups.items()
        if group
    ]


def _tree(share: Share) -> dict[str, Any]:
    return {"success": share.value, "low": share.low, "high": share.high, "episodes": share.n}


def _print(runs: Sequence[ExpertRun]) -> None:
    table = table_of("episodes of", "number", "success with 95 % interval", right=["number"])
    for name, share in _shares(runs):
        table.add_row(name, str(share.n), str(share))
    console().print(table)
    steps = sum(run.steps for run in runs)
    spent_ms = sum(run.processor_ms_per_step * run.steps for run in runs) / steps
    print(f"{steps} steps, {sum(run.invalid for run in runs)} of them invalid, {spent_ms:.0f} ms each")
    for run in runs:
        if not run.success:
            print(f"{run.episode} ({run.task}): {run.missing}")
