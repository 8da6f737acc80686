"""`embodied-iqa db`: checks, shows, merges and queries databases."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.gate_options import add_calibration, add_judge
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_workers, seed_number

__all__ = ["configure", "run"]

_ACTIONS: Final = {
    "check": "actions:check",
    "show": "show:run",
    "health": "health:run",
    "merge": "actions:merge",
    "sql": "actions:sql",
    "join-execution": "actions:join_execution",
    "judge": "judge:run",
}
"""Action to the module of this folder and its function."""
_DB: Final = "folder of a database"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="verify hashes, columns, links, completeness and images")
    check.add_argument("database", type=Path, metavar="DB", help=_DB)
    check.add_argument("--no-images", action="store_true", help="do not decode every image")
    show = actions.add_parser("show", help="draw a sample: images side by side, answers, actions, scores")
    show.add_argument("database", type=Path, metavar="DB", help=_DB)
    show.add_argument("--pairs", type=int, default=4, metavar="N", help="how many (default 4)")
    show.add_argument("--seed", type=seed_number, default=0, metavar="N", help="of the sample (default 0)")
    show.add_argument("--out", type=Path, metavar="FILE", help="also write the images, a PNG")
    health = actions.add_parser(
        "health", help="whether the scores can tell metrics apart: ceiling, loss by class, trend by level"
    )
    health.add_argument("database", type=Path, metavar="DB", help=_DB)
    merge = actions.add_parser("merge", help="merge two databases into a new one and score it again")
    merge.add_argument("first", type=Path, metavar="DB1", help=_DB)
    merge.add_argument("second", type=Path, metavar="DB2", help="the other one")
    merge.add_argument("--out", type=Path, required=True, metavar="DB", help="new folder")
    add_workers(merge, "blocks in parallel")
    sql = actions.add_parser("sql", help="query the tables with DuckDB")
    sql.add_argument("database", type=Path, metavar="DB", help=_DB)
    example = "SELECT distortion_name, avg(decision_mean) FROM opinions GROUP BY ALL"
    sql.add_argument("query", metavar="SQL", help=f'such as "{example}"')
    join = actions.add_parser("join-execution", help="keep the runs of experiments beside the scores")
    join.add_argument("database", type=Path, metavar="DB", help=_DB)
    folders = "folders of `embodied-iqa experiment`; their runs replace those joined before"
    join.add_argument("experiments", type=Path, nargs="+", metavar="EXPERIMENT", help=folders)
    judge = actions.add_parser("judge", help="keep the verdicts of a gate on all pairs beside the scores")
    judge.add_argument("database", type=Path, metavar="DB", help=_DB)
    add_calibration(judge.add_argument, "; its verdicts replace those of an earlier gate", required=True)
    add_judge(judge.add_argument, more="; the last two of `gate fit`")
    for action in (check, show, health, merge, sql, join, judge):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Perform the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
