"""`embodied-iqa rescore`: score a recorded trial again from its raw frames, without ROS."""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path

from embodied_iqa.cli.output import results_table
from embodied_iqa.errors import InputError
from embodied_iqa.gate.calibration_file import load_calibrations
from embodied_iqa.gate.judge import GateConfig
from embodied_iqa.resources import shared_file
from embodied_iqa.trial.graph import resolve
from embodied_iqa.trial.parameters import GateParameters
from embodied_iqa.trial.record import TrialRecord
from embodied_iqa.trial.rescoring import Rescorer, Subjects
from embodied_iqa.trial.results import scores_tree
from embodied_iqa.trial.run_folder import make_run_folder, write_json
from embodied_iqa.trial.scores import as_json, score_trial


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("recording", type=Path, metavar="TRIAL.MCAP", help="recording of a trial")
    parser.add_argument("--out", type=Path, metavar="DIR", help="new or empty folder for scores.json")
    parser.add_argument("--config", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="thresholds of the gate")
    parser.add_argument("--json", action="store_true", help="print scores.json instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Score again; return the exit code."""
    from embodied_iqa.subjects.registry import constants_of, make_vla, make_vlm  # noqa: PLC0415 - start-up

    gate = resolve(tuple(arguments.config)).nodes["gate_node"]
    if not isinstance(gate, GateParameters):
        raise InputError("the configuration has no gate_node")
    rules, calibration = _gate(arguments, gate)
    subjects = Subjects(
        vlm=cache(make_vlm), vla=cache(make_vla), calibrations=load_calibrations(calibration), gate=rules
    )
    rescorer = Rescorer(arguments.recording, subjects)
    record = _with_progress(rescorer)
    runs = [as_json(scores) for scores in score_trial(record, constants_of)]
    tree = scores_tree(record.metadata.get("run", arguments.recording.parent.name), runs, [])
    if arguments.out is not None:
        write_json(make_run_folder(arguments.out) / "scores.json", tree)
    if arguments.json:
        print(json.dumps(tree, indent=2))
    else:
        results_table(tree)
    return 0


def _gate(arguments: argparse.Namespace, gate: GateParameters) -> tuple[GateConfig, Path]:
    path = arguments.calibration or Path(gate.calibration)
    return gate.judge, path if path.is_absolute() or arguments.calibration else shared_file(str(path))


def _with_progress(rescorer: Rescorer) -> TrialRecord:
    from rich.console import Console  # noqa: PLC0415 - start-up stays short
    from rich.progress import Progress  # noqa: PLC0415

    total = sum(run.frames_published for run in rescorer.live.runs) or None
    with Progress(console=Console(stderr=True)) as bar:
        line = bar.add_task("rescoring pictures", total=total)
        return rescorer.record(lambda done: bar.update(line, completed=done))
