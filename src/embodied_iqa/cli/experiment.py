"""`embodied-iqa experiment`: execution scores of subjects on distorted pictures, resumable."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa import __version__
from embodied_iqa.cli.experiment_output import as_tree, print_table, write_csv
from embodied_iqa.cli.node_options import add_node_options, overrides_of
from embodied_iqa.cli.person import person_at_terminal
from embodied_iqa.config import Scalar
from embodied_iqa.errors import UsageError
from embodied_iqa.experiment.plan import (
    EMBEDDED,
    ExperimentPlan,
    RunKey,
    parse_distortions,
    parse_levels,
    parse_subjects,
    parse_tasks,
)
from embodied_iqa.gate.verdict import GateMode
from embodied_iqa.graph.node_table import resolve
from embodied_iqa.graph.parameters import GraphParameters, RobotKind
from embodied_iqa.graph.session_plan import check_subjects
from embodied_iqa.progress import ProgressBars
from embodied_iqa.subjects.reference import SubjectReference

if TYPE_CHECKING:
    from embodied_iqa.experiment.folder import ExperimentFolder
    from embodied_iqa.experiment.rows import RunRow

__all__ = ["configure", "run"]

_GATE = "gate_node.judge.mode"
_RESULT_FREE = ("recorder_node", "playback_node")
"""Nodes whose parameters change no result."""
_NO_RESULT = {
    ("vla_node", "subject"),
    ("vla_node", "simulated"),
    ("sim_node", "emulator_ip"),
    ("arm_node", "ur.ip"),
}
"""Parameters that change no result, or, as the subject, are part of each run's key."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--subjects", default=EMBEDDED, metavar="NAMES", help=f"VLAs by commas, or {EMBEDDED} (default)")
    add("--tasks", type=int, metavar="N", help="the first N of the ten tasks (default: all)")
    add("--task", action="append", default=[], metavar="TEXT", help="a task in words; may be repeated")
    add("--scene-seed", type=int, default=7, metavar="N", help="scene of the first task (default 7)")
    add("--distortions", default="all", metavar="IDS", help="such as 02,12,19, or all (default)")
    add("--levels", default="5", metavar="LEVELS", help="such as 5 (default), 1,3,5 or 1-5")
    add("--seed", type=int, default=0, metavar="N", help="seed of the distortions (default 0)")
    add(
        "--gate",
        choices=[str(mode) for mode in GateMode],
        help="default off, as in the paper; to be named for a real arm",
    )
    add("--vlm", default="", metavar="NAME", help="let this VLM answer too: cognition beside execution")
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or one that was broken off")
    add("--workers", type=int, default=1, metavar="N", help="processes (default 1); in simulation only")
    add_node_options(parser)
    add("--ros", action="store_true", help="through the ROS graph in real time, recorded")
    add("--robot", choices=["sim", "ur5"], help="with --ros: which arm moves (default sim)")
    add("--robot-ip", metavar="ADDRESS", help="of the UR arm's controller (--robot ur5)")
    add("--camera", choices=["simulated", "realsense"], help="where pictures come from")
    add("--attach", action="store_true", help="with --ros: use a graph that runs already (ros2 launch)")
    add("--json", action="store_true", help="print the table as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Carry out what is missing; return the exit code."""
    if arguments.workers < 1 or (arguments.workers > 1 and arguments.ros):
        raise UsageError("wrong --workers", expected="1 or more; 1 with --ros", got=arguments.workers)
    if arguments.attach and not arguments.ros:
        raise UsageError("--attach goes with --ros")
    plan = _plan(arguments)
    graph = _graph(arguments, plan.subjects)
    from embodied_iqa.experiment.folder import ExperimentFolder  # noqa: PLC0415 - start-up
    from embodied_iqa.experiment.scores import mean_rows, score_rows  # noqa: PLC0415

    folder = ExperimentFolder(arguments.out, _parameters(arguments, graph))
    missing = folder.missing(plan)
    if missing:
        _run_missing(arguments, graph, plan, missing, folder)
    scored = score_rows(folder.rows(plan))
    results, means = folder.write_results(scored), mean_rows(scored)
    write_csv(means, arguments.out / "scores.csv")
    if arguments.json:
        print(json.dumps(as_tree(means), indent=2))
        return 0
    print_table(means)
    print(f"runs: {results}")
    return 0


def _plan(arguments: argparse.Namespace) -> ExperimentPlan:
    return ExperimentPlan(
        subjects=parse_subjects(arguments.subjects),
        tasks=parse_tasks(arguments.tasks, arguments.task, arguments.scene_seed),
        distortions=parse_distortions(arguments.distortions, parse_levels(arguments.levels), arguments.seed),
    )


def _graph(arguments: argparse.Namespace, subjects: Sequence[SubjectReference]) -> GraphParameters:
    """Resolve the configuration with every subject, since the robot may refuse one; return the first's."""
    first, *_ = [_resolved(arguments, subject) for subject in subjects]
    return first


def _resolved(arguments: argparse.Namespace, subject: SubjectReference) -> GraphParameters:
    """Resolve for one subject; the gate is off where neither the command line nor ``--set`` names it."""
    overrides = {_GATE: str(GateMode.OFF)} | _overrides(arguments) | {"vla_node.subject": subject}
    graph = resolve(tuple(arguments.config), overrides)
    if graph.arm_node.robot is RobotKind.UR5 and not (arguments.ros and arguments.gate):
        raise UsageError(
            "an experiment on a real arm", expected="--ros and --gate, named", got="one of them is missing"
        )
    return check_subjects(graph)


def _overrides(arguments: argparse.Namespace) -> dict[str, Scalar]:
    named = {
        _GATE: arguments.gate,
        "vlm_node.subject": arguments.vlm,
        "arm_node.robot": arguments.robot,
        "arm_node.ur.ip": arguments.robot_ip,
        "camera_node.source": arguments.camera,
    }
    overrides: dict[str, Scalar] = {name: value for name, value in named.items() if value}
    return overrides | overrides_of(arguments.set)


def _parameters(arguments: argparse.Namespace, graph: GraphParameters) -> dict[str, Scalar]:
    """Return what the results depend on."""
    parameters: dict[str, Scalar] = {
        f"{node}.{name}": value
        for node, values in graph.values().items()
        if node not in _RESULT_FREE
        for name, value in values.items()
        if (node, name) not in _NO_RESULT
    }
    engine = "ros" if arguments.ros else "headless"
    return parameters | {"engine": engine, "vlm": arguments.vlm, "embodied_iqa": __version__}


def _runs(
    arguments: argparse.Namespace,
    graph: GraphParameters,
    plan: ExperimentPlan,
    missing: list[RunKey],
    bars: ProgressBars,
) -> Iterable[tuple[RunKey, RunRow]]:
    if arguments.ros:
        from embodied_iqa.ros.environment import prepare_environment, require_ros  # noqa: PLC0415 - needs ROS
        from embodied_iqa.ros.experiment_session import run_on_graph  # noqa: PLC0415 - needs ROS

        prepare_environment()
        require_ros()
        person = person_at_terminal(bars) if graph.arm_node.robot is RobotKind.UR5 else None
        rows: Iterable[tuple[RunKey, RunRow]] = run_on_graph(
            plan, missing, graph, arguments.out, attach=arguments.attach, person=person
        )
        return rows
    from embodied_iqa.experiment.headless_runs import run_all  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.offline.headless_options import HeadlessOptions  # noqa: PLC0415

    vlm = graph.vlm_node.subject if arguments.vlm else None
    return run_all(missing, HeadlessOptions(graph), vlm=vlm, workers=arguments.workers)


def _run_missing(
    arguments: argparse.Namespace,
    graph: GraphParameters,
    plan: ExperimentPlan,
    missing: list[RunKey],
    folder: ExperimentFolder,
) -> None:
    total = len(plan.runs())
    kept = total - len(missing)
    with ProgressBars(transient=False) as bars:
        bars.update("runs", kept, total)
        runs = _runs(arguments, graph, plan, missing, bars)
        for made, (key, row) in enumerate(runs, start=1):
            folder.add(key, row)
            rate = 60 * bars.per_second("runs", made)
            bars.update("runs", kept + made, title=key.task.task, note=f"{rate:.1f} runs/min")
