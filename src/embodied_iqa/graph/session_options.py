"""What a session of trials is asked to do, checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.distortions import DistortionSpec, parse_distortion
from embodied_iqa.errors import UsageError
from embodied_iqa.graph.node_table import GraphConfig
from embodied_iqa.graph.parameters import TrialParameters, VlaParameters, VlmParameters
from embodied_iqa.subjects.registry import Role, check_subject
from embodied_iqa.tasks.instruction import parse_instruction
from embodied_iqa.trial.run_folder import slug

__all__ = [
    "DEFAULT_DISTORTIONS",
    "DEFAULT_TASKS",
    "SessionSettings",
    "TaskFolder",
    "check_distortions",
    "check_subjects",
    "check_tasks",
]

DEFAULT_TASKS = ("pick the red cube", "push the green cylinder", "press the blue button")
"""One task of each verb."""
DEFAULT_DISTORTIONS = ("02:2", "18:5", "19:5")
"""Lens blur that hardly matters, glare, darkness."""


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task and where its recording and scores go.

    Attributes:
        task: The instruction.
        folder: Holds `trial.mcap` and `scores.json`.
    """

    task: str
    folder: Path

    @property
    def recording(self) -> Path:
        """Path of the recording."""
        return self.folder / "trial.mcap"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """A session: some tasks, each with a reference run and distorted runs.

    Attributes:
        tasks: The instructions.
        scene_seed: Seed of the scenes.
        distortions: One run each, for each task.
        graph: Parameters of every node.
        attach: Use a graph that runs already instead of starting one.
        run_deadline_s: How long one run may take, real time, apart from what a person takes.
    """

    tasks: tuple[str, ...]
    scene_seed: int
    distortions: tuple[DistortionSpec, ...]
    graph: GraphConfig
    attach: bool = False
    run_deadline_s: float = 180.0

    @property
    def deadline_s(self) -> float:
        """How long one task may take, real time; a person is asked twice a run."""
        trial = self.graph.nodes["trial_node"]
        person_s = 0.0
        if isinstance(trial, TrialParameters) and trial.attended:
            person_s = 2 * trial.person_limit_s
        return (self.run_deadline_s + person_s) * (1 + len(self.distortions))

    def folders(self, run_folder: Path) -> tuple[TaskFolder, ...]:
        """Return where each task goes: the run's folder itself for one task, else one folder each."""
        if len(self.tasks) == 1:
            return (TaskFolder(self.tasks[0], run_folder),)
        return tuple(TaskFolder(task, run_folder / slug(task)) for task in self.tasks)


def check_tasks(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks in their plain form.

    Raises:
        UsageError: A word is unknown, or a task comes twice.
    """
    tasks = tuple(str(parse_instruction(word)) for word in words)
    twice = sorted({task for task in tasks if tasks.count(task) > 1})
    if twice:
        raise UsageError("a task is given twice", got=twice[0])
    return tasks


def check_distortions(words: tuple[str, ...], seed: int) -> tuple[DistortionSpec, ...]:
    """Return the distortions that words such as `19:5` name.

    Raises:
        UsageError: There is no such distortion or level.
    """
    return tuple(parse_distortion(word, seed=seed) for word in words)


def check_subjects(graph: GraphConfig) -> GraphConfig:
    """Return the graph, whose subjects can all be resolved.

    Raises:
        UsageError: There is no such VLM or VLA.
    """
    for config in graph.nodes.values():
        if isinstance(config, VlmParameters):
            check_subject(config.subject, Role.VLM)
        if isinstance(config, VlaParameters):
            check_subject(config.subject, Role.VLA)
    return graph
