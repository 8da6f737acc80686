"""`embodied-iqa record`: clean images of the cell's cameras, with the arm's state, without a trial."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.cell_options import add_cell_options, cell_overrides
from embodied_iqa.cli.gate_options import add_calibration, gate_overrides
from embodied_iqa.cli.node_options import add_node_options, with_settings
from embodied_iqa.cli.output import next_command
from embodied_iqa.cli.plan_options import add_plan_options, read_plan
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.clean_recording_plan import CleanRecordingPlan, CleanRecordingProgress
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.trial.run_folder import git_hash, make_run_folder, versions

RECORDING_FILE: Final = "clean.mcap"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help=f"new or empty folder for {RECORDING_FILE}")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, metavar="MIN", help="how long to record")
    length.add_argument("--seconds", type=float, metavar="S", help="how long to record")
    add_plan_options(parser, CleanRecordingPlan, "silence_s as silence", silence_s="S")
    add_cell_options(parser)
    add_calibration(add, ", noted in the recording, and checked against it next")
    add_node_options(parser)
    add_plan_options(parser, CleanRecordingPlan, "namespace")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Record; return the exit code."""
    seconds = arguments.seconds if arguments.minutes is None else 60.0 * arguments.minutes
    for name, value in (("--minutes or --seconds", seconds), ("--silence", arguments.silence_s)):
        if not 0.0 < value < math.inf:
            raise UsageError(name, expected="a time above 0", got=value)
    namespace = parse_namespace(arguments.namespace)
    graph = check_cell(
        resolve(
            tuple(arguments.config),
            with_settings(cell_overrides(arguments) | gate_overrides(arguments), arguments.set),
            namespace=namespace,
            only_reads=True,
        )
    )
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()

    path = make_run_folder(arguments.out) / RECORDING_FILE
    given = {"graph": graph, "path": path, "seconds": seconds, "metadata": _metadata(graph)}
    plan = read_plan(CleanRecordingPlan, arguments, namespace=namespace, **given)
    try:
        return _record(arguments, plan)
    finally:
        if not path.exists():
            with suppress(OSError):
                path.parent.rmdir()


def check_cell(graph: GraphParameters) -> GraphParameters:
    """Return the parameters of a cell whose cameras and arm can be read.

    Raises:
        UsageError: They are those of the simulated cell, or the images were made before.
    """
    if graph.arm_node.robot is RobotKind.SIM or graph.camera_node.source.kind is CameraKind.WORLD:
        raise UsageError(
            "the cell is the simulated one, whose clean images `gate calibrate --simulated` renders",
            expected=f"--camera {CameraSource.of_kind(CameraKind.LIVE, CameraKind.OWN)} "
            "and --robot ur5 or none, or a parameter file with them",
        )
    if graph.camera_node.is_stored:
        raise UsageError(
            "these images are stored already",
            expected=f"--camera {CameraSource.of_kind(CameraKind.LIVE, CameraKind.OWN)}",
            got=graph.camera_node.path or str(graph.camera_node.source),
        )
    return graph


def _metadata(graph: GraphParameters) -> dict[str, str]:
    found = {f"version.{name}": version for name, version in versions().items()} | {"git_hash": git_hash()}
    for node, values in graph.values().items():
        found |= {f"{node}.{name}": str(value) for name, value in values.items()}
    return found


def _record(arguments: argparse.Namespace, plan: CleanRecordingPlan) -> int:
    from embodied_iqa.live.cell.clean_recording import record_clean

    with ProgressBars(transient=False) as bars:
        seen: list[CleanRecordingProgress] = []

        def show(progress: CleanRecordingProgress) -> None:
            seen[:] = [progress]
            counts = ", ".join(f"{view} {count}" for view, count in progress.images.items())
            bars.update("recording [s]", min(progress.seconds, plan.seconds), plan.seconds, note=counts)

        try:
            done = record_clean(plan, show, lambda line: print(f"record: {line}", file=sys.stderr))
        except BaseException as error:
            if not seen:  # nothing but the beginning of a file
                plan.path.unlink(missing_ok=True)
            if not plan.path.exists():
                raise
            done = seen[0]
            is_wished = isinstance(error, KeyboardInterrupt) and all(done.images.values())
            if not is_wished:
                _report(arguments, plan, done)
                raise
    _report(arguments, plan, done)
    return 0


def _report(arguments: argparse.Namespace, plan: CleanRecordingPlan, done: CleanRecordingProgress) -> None:
    path, lease = os.path.relpath(plan.path), plan.graph.gate_node.judge.lease
    if arguments.json:
        tree = {"recording": path, "seconds": round(done.seconds, 3), "images": dict(done.images)}
        print(json.dumps(tree | {"arm_states": done.arm_states, "lost": done.lost}, indent=2))
    else:
        print(path)
        for view, count in done.images.items():
            rate_hz = done.rate_hz(view)
            rate = "" if rate_hz is None else f", {rate_hz:.1f} per second"
            if rate_hz is not None and rate_hz < lease.least_rate_hz:
                rate += f": too slow for a trial, whose lease (lease.ttl_s) lasts {lease.ttl_s:g} s"
            print(f"  {view}: {count} images{rate}")
        print(f"  {done.arm_states} states of the arm; {done.lost} messages lost to a slow disk")
    if all(done.images.values()):
        calibration = plan.graph.gate_node.calibration
        if calibration == SHIPPED_CALIBRATION:
            next_command("gate", "calibrate", path, "--out", "GATE.yaml")
            print("of a second recording: `gate check` it with the first one's calibration", file=sys.stderr)
        else:
            next_command("gate", "check", path, "--calibration", calibration)
