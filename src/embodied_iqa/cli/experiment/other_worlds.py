"""Runs of `embodied-iqa experiment` in a suite of LIBERO or a world of your own."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import print_progress
from embodied_iqa.cli.plan_options import engine_of
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import single_policy
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.experiment.arms import GateArm
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import run_with
from embodied_iqa.runs.experiment.world_runs import (
    WorldOptions,
    WorldRunner,
    check_judge,
    check_world,
    open_world,
    parse_world_tasks,
)
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.world.protocols import close_subject

_OF_THE_CELL: Final = ("ros", "bench", "peers", "robot", "model", "robot_ip", "camera")


@dataclass(frozen=True, slots=True)
class AskedWorld:
    """What a world says of itself.

    Attributes:
        version: Of the world.
        views: Its cameras.
        tasks: Those that were asked for.
    """

    version: str
    views: tuple[View, ...]
    tasks: tuple[ExperimentTask, ...]


def options_of(
    arguments: argparse.Namespace,
    subjects: Sequence[SubjectReference],
    arms: Sequence[GateArm],
    graph: GraphParameters,
) -> WorldOptions:
    """Return the parameters of the runs.

    Raises:
        UsageError: An unknown world, an option that is of the cell only, or a gate that was not fitted here.
    """
    check_world(arguments.world)
    for option in _OF_THE_CELL:
        if getattr(arguments, option):
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} is of the simulated cell", expected="no --world", got=arguments.world)
    for subject in subjects:
        single_policy(subject)
    gate = graph.gate_node
    for arm in arms:
        rules: GateOptions = arm.options(gate.judge)
        if not arm.is_oracle:
            check_judge(gate.calibration, rules, arguments.world)
    return WorldOptions(arguments.world, graph)


def ask_world(
    arguments: argparse.Namespace, options: WorldOptions, subjects: Sequence[SubjectReference]
) -> AskedWorld:
    """Open the world and return its version, its cameras and the tasks of the arguments.

    Raises:
        UserError: It is not installed, or has no such tasks or initial states; or a policy does not fit.
    """
    with closing(open_world(options.world)) as world:
        first = arguments.scene_seed or 0
        tasks = parse_world_tasks(world, arguments.first_tasks, arguments.task, first, arguments.scenes)
        for subject in subjects:
            close_subject(options.make_vla(world, subject))
        return AskedWorld(world.version, world.views, tasks)


def tell_time(arguments: argparse.Namespace, options: WorldOptions, missing: list[RunKey]) -> None:
    """Print how long the missing runs take at most, measured on the first one of each subject."""
    if not missing:
        return
    with closing(WorldRunner(options)) as runner:
        for subject in dict.fromkeys(key.subject for key in missing):
            own = [key for key in missing if key.subject == subject]
            references = sum(key.distortion is None for key in own)
            time = runner.time_of(own[0])
            text = time.text(references, len(own) - references, arguments.workers)
            print_progress(f"{subject}: {text}")


def runs_of(
    arguments: argparse.Namespace,
    options: WorldOptions,
    _plan: ExperimentPlan,
    missing: list[RunKey],
    _bars: ProgressBars,
) -> Generator[tuple[RunKey, RunRow], None, None]:
    """Execute the missing runs; yield each when it is done."""
    vlm = None if arguments.vlm in {"", "none"} else options.nodes.vlm_node.subject
    runs: Generator[tuple[RunKey, RunRow], None, None] = run_with(
        partial(WorldRunner, options, vlm), missing, engine_of(arguments)
    )
    return runs
