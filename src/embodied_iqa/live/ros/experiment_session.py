"""Runs an experiment on the ROS graph, in real time, with a recording of each task."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.live.ros.trial_session import run_session
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, RunKey
from embodied_iqa.runs.experiment.rows import row_of
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.session_plan import SessionPlan
from embodied_iqa.runs.trial.attendance import Person
from embodied_iqa.runs.trial.command_start import CommandStart


def run_on_graph(
    plan: ExperimentPlan,
    missing: Sequence[RunKey],
    graph: GraphParameters,
    out: Path,
    *,
    attach: bool,
    person: Person | None = None,
    wants_end: Callable[[], bool] = lambda: False,
    namespace: str = "",
) -> Generator[tuple[RunKey, RunRow], None, None]:
    """Run every task with missing runs completely: a distorted run needs the reference run before it.

    Args:
        plan: The experiment.
        missing: The missing runs.
        graph: Parameters of the nodes.
        out: Folder of the experiment; recordings go to `recordings/<task>/trial.mcap`;
            an earlier one is kept as `recordings/<task>.1` and so on.
        attach: Use a graph that runs already; it must have the subject and the mode of the gate.
        person: Answers the questions of a trial on a real arm.
        wants_end: Called regularly; returns whether a person wants to end the present run.
        namespace: Of the graph, such as ``/cell1``; empty for none.

    Raises:
        UsageError: No arm is configured.
        EmbodiedIqaError: A process ended or a task failed; finished tasks are kept.
    """
    if graph.arm_node.robot is RobotKind.NONE:
        raise UsageError("an experiment needs an arm", got="none", available=("sim", "ur5"))
    lacking, start = set(missing), CommandStart.of_folder(out)
    for group in plan.groups():
        if lacking.isdisjoint(group):
            continue
        reference = group[0]
        session = SessionPlan(
            tasks=(reference.task.task,),
            scene_seed=reference.task.scene_seed,
            distortions=plan.distortions,
            graph=graph_of(reference, graph),
            attach=attach,
            chosen=("vla_node.subject", "gate_node.judge.mode"),
            namespace=namespace,
        )
        folder = out / "recordings" / reference.name.removesuffix(".reference")
        runs = _recorded_runs(session, folder, person, wants_end, start)
        if len(runs) != len(group):
            raise InternalError(f"the recording of {reference.name} holds {len(runs)} runs, not {len(group)}")
        for key, run in zip(group, runs, strict=True):
            yield key, row_of(key, run)


def graph_of(key: RunKey, graph: GraphParameters) -> GraphParameters:
    """Return the parameters with the subject and the gate of a run."""
    judge = key.arm.options(graph.gate_node.judge)
    vla = replace(graph.vla_node, subject=key.subject, repaired=judge.repairs)
    gate = replace(graph.gate_node, judge=judge, policy=vla.options.policy_name(vla.subject))
    return replace(graph, vla_node=vla, gate_node=gate)


def _recorded_runs(
    session: SessionPlan,
    folder: Path,
    person: Person | None,
    wants_end: Callable[[], bool],
    start: CommandStart,
) -> tuple[RunRecord, ...]:
    if folder.exists():  # of a session that was cut short, or of a smaller plan
        folder.rename(_free_name(folder))
    folder.mkdir(parents=True)
    folders = session.folders(folder)
    run_session(session, folders, folder, _ignore, person, start=start, wants_end=wants_end)
    return read_trial(folders[0].recording).runs


def _ignore(_number: int, _news: object) -> None:
    """Take the progress of a task, which the experiment shows by its runs."""


def _free_name(folder: Path) -> Path:
    """Return the first of `<folder>.1`, `<folder>.2` and so on that does not exist."""
    return next(path for number in count(1) if not (path := Path(f"{folder}.{number}")).exists())
