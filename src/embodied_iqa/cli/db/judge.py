"""`embodied-iqa db judge`: verdicts of a gate on the pairs of a database."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from embodied_iqa.base.progress import track
from embodied_iqa.cli.output import next_command, print_json, printable
from embodied_iqa.data.database.store import open_database
from embodied_iqa.data.database.verdicts import VERDICT_NAMES
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import make_judge
from embodied_iqa.quality.gate.pair_judging import judge_pairs, uncalibrated


def run(arguments: argparse.Namespace) -> int:
    """Judge; return the exit code."""
    store = open_database(arguments.database)
    file = load_gate_file(arguments.calibration)
    judge = make_judge(parse_judge(arguments.judge), file)
    missing = uncalibrated(store, file)
    name = f"{arguments.calibration.name}, {arguments.judge}"
    progress = partial(track, title="pairs")
    found = judge_pairs(store, Gatekeeper(judge, GateOptions()), name, progress)
    counts = {verdict: found[verdict] for verdict in VERDICT_NAMES}
    if missing:
        words = f"note: not calibrated, every image is rejected: {', '.join(missing)}"
        print(printable(words), file=sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print_json(counts)
        return 0
    print(f"{arguments.database}: " + ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()))
    next_command("studio", arguments.database)
    return 0
