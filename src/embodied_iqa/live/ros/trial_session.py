"""A session of trials: starts the graph, sends the tasks, stops the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from embodied_iqa_msgs.action import RunTrial

from embodied_iqa.base.termination import terminable
from embodied_iqa.live.ros.conversion import spec_to_msg
from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.live.ros.trial_client import TrialClient, TrialProgress
from embodied_iqa.runs.graph.node_table import nodes_of
from embodied_iqa.runs.graph.recorded_graph import calibration_identity
from embodied_iqa.runs.graph.running_graph import RunningValues, check_running
from embodied_iqa.runs.graph.session_plan import SessionPlan, TaskFolder
from embodied_iqa.runs.trial.attendance import Person
from embodied_iqa.runs.trial.command_start import CommandStart
from embodied_iqa.runs.trial.run_folder import git_hash, versions

TaskProgress = Callable[[int, TrialProgress], None]


def run_session(
    settings: SessionPlan,
    folders: tuple[TaskFolder, ...],
    run_folder: Path,
    progress: TaskProgress,
    person: Person | None = None,
    *,
    start: CommandStart,
    wants_end: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Run every task of a session.

    Args:
        settings: The session.
        folders: Output folder of each task.
        run_folder: Folder of the run; logs go to its `log/`, of a plan with a name to a
            folder in it.
        progress: Called with the number of the task and its progress.
        person: Answers the questions of a trial on a real arm; without, another client of /trial/confirm
            does.
        start: Where all runs of a real arm begin; of the first session of a command, it is filled in.
        wants_end: Called regularly; returns whether a person wants to end the present run.

    Returns:
        One remark for each task that has any.

    Raises:
        EmbodiedIqaError: A process ended or a task failed; the graph has been stopped.
    """
    remarks: list[str] = []
    with (
        terminable(),
        _graph(settings, run_folder) as check,
        TrialClient(check, person, wants_end, namespace=settings.namespace) as client,
    ):
        values: RunningValues = settings.graph.values()
        if settings.attach:
            values = client.running_parameters(settings.graph.trial_node.start_deadline_s)
            check_running(settings, values)
        for number, folder in enumerate(folders):
            folder.folder.mkdir(parents=True, exist_ok=True)
            goal = _goal(settings, folder, values)
            remark = client.run(goal, partial(progress, number), settings.deadline_s(folder), start)
            if remark:
                remarks.append(f"{folder.task}: {remark}")
    return remarks


@contextmanager
def _graph(settings: SessionPlan, run_folder: Path) -> Iterator[Callable[[], None]]:
    """Start the nodes as child processes, or use those that run already."""
    if settings.attach:
        yield lambda: None
        return
    graph, log_folder = settings.started_graph, run_folder / "log" / settings.name
    place = settings.namespace
    with running_nodes(
        graph,
        nodes_of(graph),
        log_folder,
        "parameters.yaml",
        shares_domain=graph.shares_domain,
        namespace=place,
    ) as group:
        yield group.check


def _goal(settings: SessionPlan, folder: TaskFolder, parameters: RunningValues) -> RunTrial.Goal:
    metadata = {f"version.{name}": version for name, version in versions().items()}
    metadata |= {"git_hash": git_hash(), "task": folder.task, "scene_seed": str(settings.scene_seed)}
    for node, values in parameters.items():
        metadata |= {f"{node}.{name}": str(value) for name, value in values.items()}
    metadata |= calibration_identity(str(parameters["gate_node"]["calibration"]))
    return RunTrial.Goal(
        task=folder.task,
        scene_seed=settings.scene_seed,
        distortions=[spec_to_msg(spec) for spec in folder.distortions],
        recording=str(folder.recording),
        metadata_keys=list(metadata),
        metadata_values=list(metadata.values()),
    )
