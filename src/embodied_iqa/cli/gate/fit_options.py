"""Options of `embodied-iqa gate fit`."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.cli.gate_options import add_judge
from embodied_iqa.cli.node_options import add_node_options
from embodied_iqa.cli.parser import yaml_file
from embodied_iqa.cli.plan_options import add_plan_options, add_workers
from embodied_iqa.cli.stored_options import add_stored_options
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.judgement import JudgeKind
from embodied_iqa.quality.gate.risk_control import Promise


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    sources = "a database with scores of the policy, recordings of clean images, or a LeRobot data set"
    add("sources", type=Path, nargs="+", metavar="DB|BAG", help=sources)
    add("--view", required=True, metavar="VIEW", help="name of a camera")
    add("--vla", required=True, metavar="SUBJECT", help="VLA whose loss is predicted")
    out = "YAML file to write; networks are put beside it"
    add("--out", type=yaml_file, required=True, metavar="FILE", help=out)
    add("--keep", action="store_true", help="keep the other cameras and fits in FILE")
    add_plan_options(parser, Promise, "risk", "confidence", risk="R", confidence="P")
    add_judge(add, JudgeKind.LEARNED, kinds="learned or metric:NAME")
    add_plan_options(parser, FitPlan, "loss", "features", "seed")
    ranges = "normal ranges of the cameras, of `gate calibrate` (default from the clean frames)"
    add("--statistics", type=Path, metavar="FILE", help=ranges)
    tasks = "tasks of frames of recordings that are not of trials, as in docs/tasks.md"
    add("--tasks", type=Path, metavar="FILE", help=tasks)
    add_stored_options(parser.add_argument_group("recordings that are not of trials").add_argument)
    add_workers(parser)
    add("--json", action="store_true", help="print the result as JSON")
    add_node_options(parser)
