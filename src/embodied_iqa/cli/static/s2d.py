"""`embodied-iqa static s2d`: static scores against execution of the same tasks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.cli.output import next_command, print_json, print_report_table
from embodied_iqa.runs.graph.arm_parameters import RobotKind

if TYPE_CHECKING:
    from embodied_iqa.data.database.run_rows import RunRow
    from embodied_iqa.suites.static_benchmark.static_to_simulated import Executions, Relation, S2dRow
    from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaResults

_RECORD = "experiment.json"
_REFERENCES = "shards/*.reference.parquet"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("results", type=Path, metavar="RESULTS", help="folder of `embodied-iqa evaluate static --vla`")
    add(
        "execution",
        type=Path,
        metavar="EXECUTION",
        help="folder of `embodied-iqa experiment --bench`, or a CSV file of real runs with the columns "
        "subject, task, execution (0 to 1)",
    )
    add("--simulated", action="store_true", help="the runs of the CSV file are simulated")
    add("--json", action="store_true", help="print as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Correlate, write `s2d.json` and print; return the exit code."""
    from embodied_iqa.suites.static_benchmark import static_to_simulated as s2d
    from embodied_iqa.suites.static_benchmark.vla.baselines import BASELINES
    from embodied_iqa.suites.static_benchmark.vla.vla_results import read_vla_results

    results = read_vla_results(arguments.results)
    executions, relation = _executions(arguments, results)
    rows = s2d.s2d_rows(results, executions, relation)
    write_json_whole(arguments.results / s2d.S2D_FILE, unstructure(rows))
    if arguments.json:
        print_json(rows)
        return 0
    known = {row.subject for row in rows}
    missing = sorted({row.subject for row in results.by_task} - known - set(BASELINES))
    _print(rows, relation, missing)
    next_command("report", arguments.results)
    return 0


def _executions(arguments: argparse.Namespace, results: VlaResults) -> tuple[Executions, Relation]:
    from embodied_iqa.data.database.run_rows import read_rows
    from embodied_iqa.suites.static_benchmark import static_to_simulated as s2d
    from embodied_iqa.suites.static_benchmark.static_to_simulated import Relation

    path: Path = arguments.execution
    if path.is_file():
        relation = Relation.SIMULATED if arguments.simulated else Relation.REAL
        return s2d.executions_of_csv(path), relation
    parameters = _parameters(path)
    robot = parameters.get("arm_node.robot")
    is_real = any(kind.is_real for kind in RobotKind if kind == robot)
    runs: list[RunRow] = [row for file in sorted(path.glob(_REFERENCES)) for row in read_rows(file)]
    relation = Relation.REAL if is_real else Relation.SIMULATED
    return s2d.executions_of_runs(results, runs), relation


def _parameters(path: Path) -> dict[str, object]:
    if not (path / _RECORD).is_file():
        raise InputError(f"{path} holds no execution", expected="the folder of an experiment, or a CSV file")
    tree = load_json(path / _RECORD, "the experiment")
    found = tree.get("parameters") if isinstance(tree, dict) else None
    if not isinstance(found, dict):
        raise InputError(f"{path / _RECORD} is damaged", expected="parameters of an experiment")
    return found


def _print(rows: Sequence[S2dRow], relation: Relation, missing: Sequence[str]) -> None:
    from embodied_iqa.pages.reports.static.further import s2d_table
    from embodied_iqa.suites.static_benchmark import static_to_simulated as s2d

    print_report_table(s2d_table(rows, relation))
    if missing:
        print(f"without a run that counts (a run that the gate held does not): {', '.join(missing)}")
    print(f"published (static-to-real, Octo, 50 instances): {', '.join(map(str, s2d.PUBLISHED))}")
