"""`embodied-iqa manipulate import`: the public trajectory files of EB-Manipulation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, print_json, table_of

if TYPE_CHECKING:
    from embodied_iqa.suites.cell_manipulation.planning.trajectories import PlanAgreement, TrajectoryCount


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    files = "eb-man_dataset_multi_step.json or eb-man_dataset_single_step.json"
    add("file", type=Path, metavar="FILE", help=files)
    add("--json", action="store_true", help="print counts and agreements as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print what the file holds; return the exit code."""
    from embodied_iqa.suites.cell_manipulation.planning.trajectories import (
        count_trajectories,
        plan_agreements,
        read_trajectories,
    )

    found = read_trajectories(arguments.file)
    counts = count_trajectories(found.trajectories)
    agreements = list(plan_agreements(found.trajectories))
    if arguments.json:
        tree = {
            "counts": unstructure(counts),
            "agreements": unstructure(agreements),
            "skipped": dict(found.skipped),
        }
        print_json(tree)
        return 0
    _print_counts(counts)
    if agreements:
        _print_agreements(agreements)
    for reason, count in found.skipped.items():
        print(f"skipped {count}: {reason}")
    return 0


def _print_counts(counts: Sequence[TrajectoryCount]) -> None:
    right = ("episodes", "solved", "turns", "format errors", "actions", "out of grid", "invalid")
    table = table_of("model", "subset", *right, right=right)
    for one in counts:
        turns = (one.episodes, one.successes, one.turns, one.format_errors)
        actions = (one.actions, one.out_of_grid, one.invalid)
        table.add_row(one.model, one.subset, *map(str, (*turns, *actions)))
    console().print(table)


def _print_agreements(agreements: Sequence[PlanAgreement]) -> None:
    right = ("episodes", "same first action", "same plan")
    table = table_of("models", *right, right=right)
    for pair in agreements:
        numbers = (pair.episodes, pair.same_action, pair.same_plan)
        table.add_row(f"{pair.first}, {pair.second}", *map(str, numbers))
    console().print(table)
