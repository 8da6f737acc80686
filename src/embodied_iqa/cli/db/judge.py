"""`embodied-iqa db judge`: verdicts of a gate on the pairs of a database."""

from __future__ import annotations

import argparse
from functools import partial

from embodied_iqa.base.progress import track
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.data.database.store import open_database
from embodied_iqa.data.database.verdicts import VERDICT_NAMES
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.pair_judging import judge_pairs


def run(arguments: argparse.Namespace) -> int:
    """Judge; return the exit code."""
    store = open_database(arguments.database)
    judge = load_judge(parse_judge(arguments.judge), arguments.calibration)
    name = f"{arguments.calibration.name}, {arguments.judge}"
    progress = partial(track, title="pairs")
    found = judge_pairs(store, Gatekeeper(judge, GateOptions()), name, progress)
    counts = {verdict: found[verdict] for verdict in VERDICT_NAMES}
    if arguments.json:
        print_json(counts)
        return 0
    print(f"{arguments.database}: " + ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()))
    next_command("studio", arguments.database)
    return 0
