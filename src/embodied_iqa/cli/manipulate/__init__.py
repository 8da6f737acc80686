"""`embodied-iqa manipulate`: episodes of the benchmark of planners, and what belongs to it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.lazy import load
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_workers
from embodied_iqa.suites.cell_manipulation.episodes import Subset

_ACTIONS: Final = {
    "make": "making:make",
    "ceiling": "ceiling:ceiling",
    "detect": "detecting:run",
    "errors": "failing:run",
    "fit": "gating:run",
    "import": "importing:run",
    "replay": "replaying:run",
}
_RESULTS: Final = {
    "detect": ("detecting", "error of a detector's object list, by kind of object"),
    "errors": ("failing", "why a planner's episodes failed"),
    "fit": ("gating", "fit the learned gate to the front camera and a detector"),
    "import": ("importing", "counts of a public trajectory file of EB-Manipulation"),
    "replay": ("replaying", "execute the actions of a run again and compare every outcome"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    make = actions.add_parser("make", help="make the episodes of cell-manipulation from a seed")
    subsets = f"by commas: {', '.join(Subset)}; all: the protocol's five, 228 episodes (default)"
    make.add_argument("--subset", default="all", metavar="NAMES", help=subsets)
    make.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all episodes (default: 1)")
    make.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the episodes")
    ceiling = actions.add_parser("ceiling", help="what the expert achieves on the grid of the actions")
    episodes = "folder of `manipulate make`"
    ceiling.add_argument("episodes", type=Path, metavar="EP", help=episodes)
    add_workers(ceiling, "processes")
    ceiling.add_argument("--out", type=Path, metavar="FILE", help="write every run as JSON, with its actions")
    for action in (make, ceiling):
        action.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, (module, summary) in _RESULTS.items():
        load(f"{__name__}.{module}").configure(actions.add_parser(name, help=summary))


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
