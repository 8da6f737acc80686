"""`embodied-iqa manipulate replay`: executes the actions of transcripts again and compares the outcomes."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.progress import track
from embodied_iqa.cli.output import print_json
from embodied_iqa.cli.plan_options import add_stride


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of `embodied-iqa evaluate manipulation`")
    add_stride(parser)
    add("--json", action="store_true", help="print the differences as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Replay; return 1 if an episode ends otherwise."""
    from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
    from embodied_iqa.suites.cell_manipulation.planning.planner_results import read_transcripts
    from embodied_iqa.suites.cell_manipulation.planning.transcript import replay

    transcripts = list(read_transcripts(arguments.run))[:: arguments.stride]
    if not transcripts:
        expected = "a folder of `embodied-iqa evaluate manipulation`"
        raise InputError(f"no run in {arguments.run}", expected=expected)
    different = []
    with Environment(EnvironmentOptions(())) as environment:
        for one in track(transcripts, "episodes", len(transcripts)):
            try:
                replay(one, environment)
            except InputError as error:
                different.append(f"{one.arm}: {error}")
    if arguments.json:
        print_json({"episodes": len(transcripts), "different": different})
        return 1 if different else 0
    for line in different:
        print(line)
    same = len(transcripts) - len(different)
    print(f"{same} of {len(transcripts)} episodes: the same outcome and places in every step")
    return 1 if different else 0
