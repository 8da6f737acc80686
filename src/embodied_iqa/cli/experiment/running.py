"""Runs of `embodied-iqa experiment`: in one process without ROS, or through the ROS graph."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from embodied_iqa import __version__
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.distortion_options import schedules_of
from embodied_iqa.cli.experiment.table import as_tree, print_detectors, print_gates, print_table, write_csv
from embodied_iqa.cli.gate_options import gate_overrides
from embodied_iqa.cli.node_options import with_settings
from embodied_iqa.cli.output import next_command, print_json, print_progress
from embodied_iqa.cli.person import END_KEY, end_key, person_at_terminal
from embodied_iqa.cli.plan_options import engine_of
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.imaging.distortions import parse_levels
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.optional_vlm import parse_optional_vlm
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.quality.gate.calibration_file import gate_file_path
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeKind
from embodied_iqa.runs.experiment.arms import OFF, GateArm, parse_arms
from embodied_iqa.runs.experiment.experiment_plan import (
    ExperimentPlan,
    ExperimentTask,
    RunKey,
    parse_distortions,
    parse_subjects,
    parse_tasks,
)
from embodied_iqa.runs.experiment.folder import ExperimentFolder, opened_experiment, read_experiment
from embodied_iqa.runs.experiment.scores import mean_rows, score_rows
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.recorded_graph import CALIBRATION_SHA256
from embodied_iqa.runs.graph.session_plan import check_graph, check_task
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.world.worlds import CELL

if TYPE_CHECKING:
    from embodied_iqa.runs.peers.stored import ComparedDetectors

"""A gate that was fitted anew must not go on with runs of the old one."""
_GATE: Final = "gate_node.judge.mode"
_RESULT_FREE: Final = ("recorder_node", "playback_node")
"""Nodes whose parameters do not change results."""
_NO_RESULT: Final = {
    ("vla_node", "subject"),
    ("vla_node", "simulated"),
    ("trial_node", "has_vlm"),
    ("trial_node", "return_limit_s"),
    ("vla_node", "arm_model"),
    ("sim_node", "arm_model"),
    ("camera_node", "arm_model"),
    ("vla_node", "tool_length_m"),
    ("sim_node", "emulator_ip"),
    ("arm_node", "ur.ip"),
    ("gate_node", "judge.mode"),
    ("gate_node", "judge_note"),
}
"""Parameters that do not change results or, as subject and gate, are part of each run's key."""
_SCENE_SEED: Final = 7
_Runs: TypeAlias = Generator[tuple[RunKey, RunRow], None, None]
_MakesRuns: TypeAlias = Callable[[ExperimentPlan, list[RunKey], ProgressBars], _Runs]
"""Starts the missing runs of a plan."""


def run(arguments: argparse.Namespace) -> int:
    """Perform the missing runs and score all; return the exit code."""
    if arguments.workers > 1 and arguments.ros:
        raise UsageError("wrong --workers", expected="1 with --ros", got=arguments.workers)
    if arguments.ros and engine_of(arguments) != EngineOptions():
        raise UsageError("--engine needs runs without --ros", got=arguments.engine)
    for option in ("attach", "namespace"):
        if getattr(arguments, option) and not arguments.ros:
            raise UsageError(f"--{option} needs --ros")
    subjects = parse_subjects(arguments.subjects)
    graph = _graph(arguments, subjects)
    arms = _arms(arguments, graph)
    _check_peers(arguments, subjects, arms)
    if arguments.world != CELL:
        return _run_in_world(arguments, subjects, arms, graph)
    plan = _plan(arguments, subjects, _tasks(arguments, subjects, graph), arms, graph.camera_node.views)
    parameters = _parameters(arguments, graph)
    with opened_experiment(arguments.out, parameters, plan, add=arguments.add) as folder:
        missing = folder.missing(graph.vla_node.options)
        return _perform(arguments, graph, folder, missing, partial(_runs, arguments, graph))


def _run_in_world(
    arguments: argparse.Namespace,
    subjects: tuple[SubjectReference, ...],
    arms: tuple[GateArm, ...],
    graph: GraphParameters,
) -> int:
    """Perform the runs of another world than the cell."""
    from embodied_iqa.cli.experiment import other_worlds

    options = other_worlds.options_of(arguments, subjects, arms, graph)
    asked = other_worlds.ask_world(arguments, options, subjects)
    plan = _plan(arguments, subjects, asked.tasks, arms, asked.views)
    parameters = _parameters(arguments, graph) | {"world": f"{options.world}: {asked.version}"}
    with opened_experiment(arguments.out, parameters, plan, add=arguments.add) as folder:
        missing = folder.missing(options.vla_options(asked.views))
        other_worlds.tell_time(arguments, options, missing)
        return _perform(arguments, graph, folder, missing, partial(other_worlds.runs_of, arguments, options))


def _perform(
    arguments: argparse.Namespace,
    graph: GraphParameters,
    folder: ExperimentFolder,
    missing: list[RunKey],
    runs: _MakesRuns,
) -> int:
    if missing:
        _run_missing(missing, folder, runs)
    scored = score_rows(folder.rows())
    results, means = folder.write_results(scored), mean_rows(scored)
    write_csv(means, arguments.out / "scores.csv")
    comparison = page = None
    peers = None if arguments.peers is None else _peers(arguments, graph)
    if len(folder.plan.arms) > 1:
        from embodied_iqa.pages.reports.experiment.experiment_report import write_experiment_report
        from embodied_iqa.runs.experiment.gate_arms import compare_arms

        names = [arm.name for arm in folder.plan.arms]
        comparison = compare_arms([item.run for item in scored], names)
        page = write_experiment_report(read_experiment(arguments.out), comparison, arguments.out, peers)
    if arguments.json:
        print_json(as_tree(means, comparison, peers))
        return 0
    print_table(means)
    if comparison is not None:
        print_gates(comparison)
    if peers is not None:
        print_detectors(peers)
    if page is not None:
        print(f"report: {page}")
    print(f"runs: {results}")
    if comparison is None:
        next_command("db", "join-execution", "DB", arguments.out)
    return 0


def _check_peers(
    arguments: argparse.Namespace, subjects: Sequence[SubjectReference], arms: Sequence[GateArm]
) -> None:
    if arguments.peers is None:
        return
    if not 0 < arguments.peers < 1:
        raise UsageError("wrong --peers", expected="a share between 0 and 1", got=arguments.peers)
    if arguments.ros or len(subjects) != 1 or OFF not in arms:
        raise UsageError("--peers watches one policy", expected="one subject, --gate off,..., without --ros")


def _peers(arguments: argparse.Namespace, graph: GraphParameters) -> ComparedDetectors:
    from embodied_iqa.runs.peers.recorder import compare_on

    with ProgressBars(transient=False) as bars:
        compared: ComparedDetectors = compare_on(
            arguments.out, HeadlessOptions(graph), arguments.peers, lambda done: bars.update("watched", done)
        )
    return compared


def _arms(arguments: argparse.Namespace, graph: GraphParameters) -> tuple[GateArm, ...]:
    """Return the gates of ``--gate``, else that of the configuration."""
    arms = parse_arms(arguments.gate or str(graph.gate_node.judge.mode))
    if arguments.ros and any(arm.is_oracle for arm in arms):
        raise UsageError("no live gate knows the schedule", expected="oracle without --ros", got="oracle")
    if arguments.attach and len(arms) > 1:
        raise UsageError("a running graph has one gate", expected="one --gate", got=arguments.gate)
    return arms


def _plan(
    arguments: argparse.Namespace,
    subjects: tuple[SubjectReference, ...],
    tasks: tuple[ExperimentTask, ...],
    arms: tuple[GateArm, ...],
    views: Sequence[View],
) -> ExperimentPlan:
    levels, schedules = parse_levels(arguments.levels), schedules_of(arguments)
    distortions = parse_distortions(arguments.distortions, levels, arguments.seed, schedules)
    for spec in distortions:
        spec.check_view(views)
    return ExperimentPlan(subjects, tasks, distortions, arms)


def _tasks(
    arguments: argparse.Namespace, subjects: Sequence[SubjectReference], graph: GraphParameters
) -> tuple[ExperimentTask, ...]:
    from embodied_iqa.suites.static_benchmark.vla import trajectories

    robot = graph.arm_node.robot
    if arguments.ros and not (robot.is_simulated or arguments.task):
        raise UsageError(f"no task for robot {robot}", expected="--task TEXT, any sentence")
    if arguments.bench is None:
        seed = _SCENE_SEED if arguments.scene_seed is None else arguments.scene_seed
        wanted = arguments.first_tasks, arguments.task, seed, arguments.scenes
        if not arguments.ros:  # always the simulated cell
            return parse_tasks(*wanted)
        return parse_tasks(*wanted, partial(check_task, graph=graph, policies=subjects))
    if arguments.first_tasks is not None or arguments.task:
        raise UsageError("both a benchmark and tasks", expected="--bench or --task, not both")
    folder = trajectories.TrajectoryFolder(arguments.bench)
    tasks = tuple(
        ExperimentTask(task.instruction, task.scene_seed)
        for task in folder.read()
        if task.scene_seed is not None
    )
    if not tasks:
        raise UsageError(
            f"{arguments.bench} has no simulated tasks", expected="trajectories of `static make`"
        )
    return tasks


def _graph(arguments: argparse.Namespace, subjects: Sequence[SubjectReference]) -> GraphParameters:
    """Resolve the configuration with each subject and gate: the robot may refuse one. Return the first."""
    named = parse_arms(arguments.gate) if arguments.gate else ()
    modes: list[GateMode | None] = [arm.options(GateOptions()).mode for arm in named]
    first, *_ = [
        _resolved(arguments, subjects, subject, mode)
        for subject in subjects
        for mode in dict.fromkeys(modes or [None])
    ]
    return first


def _resolved(
    arguments: argparse.Namespace,
    subjects: Sequence[SubjectReference],
    subject: SubjectReference,
    mode: GateMode | None,
) -> GraphParameters:
    """Resolve the configuration for one subject; the gate is off unless ``--gate`` or ``--set`` sets it.

    All subjects of a folder have the same parameters: the cameras are those of all of them, and the judge of
    the arms ``on`` and ``shadow`` is statistics unless it is set.
    """
    named: dict[str, Scalar] = {} if mode is None else {_GATE: str(mode)}
    overrides = {_GATE: str(GateMode.OFF), **_overrides(arguments, named), "vla_node.subject": subject}
    graph = resolve(
        tuple(arguments.config),
        overrides,
        defaults={"gate_node.judge.kind": str(JudgeKind.STATISTICS)},
        policies=subjects,
        namespace=parse_namespace(arguments.namespace),
    )
    needed = {"--ros": arguments.ros, "--gate": arguments.gate}
    if graph.arm_node.robot.is_real and (missing := [name for name, given in needed.items() if not given]):
        asked = " and ".join(missing)
        raise UsageError("an experiment on a real arm", expected=asked, got=f"no {' and no '.join(missing)}")
    none = replace(graph.vlm_node, subject=parse_optional_vlm("none"))
    check_graph(graph if arguments.vlm or arguments.ros else replace(graph, vlm_node=none))
    return graph


def _overrides(arguments: argparse.Namespace, gate: Mapping[str, Scalar]) -> dict[str, Scalar]:
    named = {
        "vlm_node.subject": arguments.vlm,
        "arm_node.robot": arguments.robot,
        "arm_node.model": arguments.model,
        "arm_node.ur.ip": arguments.robot_ip,
        "camera_node.source": arguments.camera,
    }
    overrides: dict[str, Scalar] = {name: value for name, value in named.items() if value}
    return with_settings({**gate, **overrides, **gate_overrides(arguments)}, arguments.set)


def _parameters(arguments: argparse.Namespace, graph: GraphParameters) -> dict[str, Scalar]:
    """Return the parameters that the results depend on."""
    parameters: dict[str, Scalar] = {
        f"{node}.{name}": value
        for node, values in graph.values().items()
        if node not in _RESULT_FREE
        for name, value in values.items()
        if (node, name) not in _NO_RESULT
    }
    engine = "ros" if arguments.ros else "headless"
    parameters[CALIBRATION_SHA256] = sha256_of(gate_file_path(graph.gate_node.calibration))
    return parameters | {"engine": engine, "vlm": arguments.vlm, "embodied_iqa": __version__}


def _runs(
    arguments: argparse.Namespace,
    graph: GraphParameters,
    plan: ExperimentPlan,
    missing: list[RunKey],
    bars: ProgressBars,
) -> _Runs:
    if not arguments.ros:
        from embodied_iqa.runs.experiment.headless_runs import run_all

        vlm = None if arguments.vlm in {"", "none"} else graph.vlm_node.subject
        options, engine = HeadlessOptions(graph), engine_of(arguments)
        headless: _Runs = run_all(missing, options, vlm=vlm, engine=engine)
        return headless
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    person = person_at_terminal(bars) if graph.arm_node.robot.is_real else None
    if sys.stdin.isatty():
        with bars.paused():
            print_progress(f"experiment: {END_KEY} and Enter end a run, and stop a real arm on its way back")
    from embodied_iqa.live.ros.experiment_session import run_on_graph

    rows: _Runs = run_on_graph(
        plan,
        missing,
        graph,
        arguments.out,
        attach=arguments.attach,
        person=person,
        wants_end=end_key(),
        namespace=parse_namespace(arguments.namespace),
    )
    return rows


def _run_missing(missing: list[RunKey], folder: ExperimentFolder, make: _MakesRuns) -> None:
    total = len(folder.plan.runs())
    kept = total - len(missing)
    with ProgressBars(transient=False) as bars:
        bars.update("runs", kept, total)
        # however it ends, a run's renderer is closed here and not by the garbage collector
        with closing(make(folder.plan, missing, bars)) as runs:
            for made, (key, row) in enumerate(runs, start=1):
                folder.add(key, row)
                rate = 60 * bars.per_second("runs", made)
                bars.update("runs", kept + made, title=key.task.task, note=f"{rate:.1f} runs/min")
