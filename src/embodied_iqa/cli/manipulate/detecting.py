"""`embodied-iqa manipulate detect`: the error of a detector's object list, by kind of object."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embodied_iqa.base.progress import track
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.cli.plan_options import add_stride
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.suites.cell_manipulation.making import read_episodes
from embodied_iqa.suites.cell_manipulation.planning.planner_options import (
    CLASSICAL,
    Coordinates,
    PromptOptions,
)

if TYPE_CHECKING:
    from embodied_iqa.suites.cell_manipulation.planning.detection_error import ListError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("episodes", type=Path, metavar="EP", help="folder of `manipulate make`")
    by = "classical (default), or panel:NAME and other vision models"
    add("--detector", default=CLASSICAL, metavar="MODEL", help=by)
    add("--distortion", metavar="ID:LEVEL", help="of the images, such as 12:3 (default clean)")
    add_stride(parser)
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the error; return the exit code."""
    from embodied_iqa.suites.cell_manipulation.planning.detection_error import NEAR_BINS, list_errors

    episodes = read_episodes(arguments.episodes)[:: arguments.stride]
    options = PromptOptions(coordinates=Coordinates.DETECTOR, detector=arguments.detector)
    spec = parse_distortion(arguments.distortion) if arguments.distortion else None
    errors = list(track(list_errors(episodes, options, spec), arguments.detector, len(episodes)))
    rows = _rows(errors)
    false = sum(one.false for one in errors)
    if arguments.json:
        print_json({"images": len(errors), "false": false, "things": rows})
        return 0
    within = f"within {NEAR_BINS} bins"
    table = table_of("kind", "number", within, "median", "95 %", right=("number", within, "median", "95 %"))
    for row in rows:
        spread = (f"{row['median_bins']:.1f}", f"{row['p95_bins']:.1f}")
        table.add_row(row["kind"], str(row["number"]), f"{row['near']:.1%}", *spread)
    console().print(table)
    print(f"{len(errors)} images; {false} entries near nothing; distances in bins of 10 mm")
    return 0


def _rows(errors: list[ListError]) -> list[dict[str, Any]]:
    from embodied_iqa.suites.cell_manipulation.planning.detection_error import NEAR_BINS

    kinds = np.array([kind for one in errors for kind in one.kinds])
    off = np.array([bins for one in errors for bins in one.off_bins])
    groups = {str(kind): kinds == kind for kind in sorted(set(kinds.tolist()))}
    groups["all"] = np.ones(len(kinds), bool)
    return [
        {
            "kind": kind,
            "number": int(rows.sum()),
            "near": float((off[rows] <= NEAR_BINS).mean()),
            "median_bins": float(np.quantile(off[rows], 0.5, method="nearest")),
            "p95_bins": float(np.quantile(off[rows], 0.95, method="nearest")),
        }
        for kind, rows in groups.items()
    ]
