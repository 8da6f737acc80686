"""`embodied-iqa rescore`: score a recorded trial again from its raw frames, without ROS."""

from __future__ import annotations

import argparse
import json
from functools import cache, partial
from pathlib import Path

from embodied_iqa.cli.output import results_table
from embodied_iqa.errors import UsageError
from embodied_iqa.gate.calibration_file import load_calibrations
from embodied_iqa.gate.judge import GateConfig
from embodied_iqa.graph.launching import recorded_overrides
from embodied_iqa.graph.node_table import resolve
from embodied_iqa.graph.parameters import GateParameters, GraphParameters
from embodied_iqa.graph.session_results import scores_tree
from embodied_iqa.offline.rescoring import Rescorer, Subjects
from embodied_iqa.progress import ProgressBars
from embodied_iqa.resources import shared_file
from embodied_iqa.trial.reading import read_trial
from embodied_iqa.trial.record import TrialRecord
from embodied_iqa.trial.run_folder import make_run_folder, write_json
from embodied_iqa.trial.scores import as_json, score_trial, unscored_subjects


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("recording", type=Path, metavar="TRIAL.MCAP", help="recording of a trial")
    parser.add_argument("--out", type=Path, metavar="DIR", help="new or empty folder for scores.json")
    parser.add_argument("--config", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="thresholds of the gate")
    parser.add_argument(
        "--playback", action="store_true", help="play the recording through the ROS nodes (needs --out)"
    )
    parser.add_argument(
        "--attach", action="store_true", help="with --playback: use nodes that run already (ros2 launch)"
    )
    parser.add_argument("--json", action="store_true", help="print scores.json instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Score again; return the exit code."""
    from embodied_iqa.subjects.registry import make_vla, make_vlm  # noqa: PLC0415 - start-up

    graph = resolve(tuple(arguments.config), recorded_overrides(arguments.recording))
    if arguments.playback:
        return _play_back(arguments, graph)
    gate = graph.gate_node
    rules, calibration = _gate(arguments, gate)
    vlm, vla = graph.vlm_node, graph.vla_node
    subjects = Subjects(
        vlm=cache(partial(make_vlm, options=vlm.options)),
        vla=cache(partial(make_vla, options=vla.options)),
        calibrations=load_calibrations(calibration),
        gate=rules,
    )
    rescorer = Rescorer(arguments.recording, subjects)
    total = sum(run.frames_published for run in rescorer.live.runs) or None
    with ProgressBars(transient=False) as bars:
        record = rescorer.record(lambda done: bars.update("rescoring pictures", done, total))
    if arguments.out is not None:
        make_run_folder(arguments.out)
    return _tell(arguments, record)


def _play_back(arguments: argparse.Namespace, graph: GraphParameters) -> int:
    """Score again what the nodes make of the recording."""
    if arguments.out is None:
        raise UsageError("--playback writes a new recording", expected="--out DIR")
    read_trial(arguments.recording)  # a recording that cannot be used is told before anything starts
    from embodied_iqa.ros.environment import prepare_environment, require_ros  # noqa: PLC0415 - needs ROS
    from embodied_iqa.ros.playback_session import play_back  # noqa: PLC0415 - needs ROS

    prepare_environment()
    require_ros()
    launched = frozenset({"log"}) if arguments.attach else frozenset()
    folder = make_run_folder(arguments.out, may_hold=launched)
    recording = play_back(graph, arguments.recording, folder, attach=arguments.attach)
    return _tell(arguments, read_trial(recording))


def _tell(arguments: argparse.Namespace, record: TrialRecord) -> int:
    from embodied_iqa.subjects.registry import constants_of  # noqa: PLC0415 - start-up stays short

    runs = [as_json(scores) for scores in score_trial(record, constants_of)]
    tree = scores_tree(
        record.metadata.get("run", arguments.recording.parent.name),
        runs,
        unscored_subjects(record, constants_of),
    )
    if arguments.out is not None:
        write_json(arguments.out / "scores.json", tree)
    if arguments.json:
        print(json.dumps(tree, indent=2))
    else:
        for remark in tree["remarks"]:
            print(f"note: {remark}")
        results_table(tree)
    return 0


def _gate(arguments: argparse.Namespace, gate: GateParameters) -> tuple[GateConfig, Path]:
    path = arguments.calibration or Path(gate.calibration)
    return gate.judge, path if path.is_absolute() or arguments.calibration else shared_file(str(path))
