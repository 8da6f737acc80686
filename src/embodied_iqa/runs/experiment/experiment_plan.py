"""Plan of an experiment: subjects x tasks x distortions x levels, and the reference runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import DistortionSpec, catalogue, entry
from embodied_iqa.models.subjects.catalogue import Backend, Role, names_of
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.registry import check_backend
from embodied_iqa.runs.experiment.arms import CONFIGURED, OFF, GateArm
from embodied_iqa.runs.trial.run_folder import slug, task_slug
from embodied_iqa.world.tasks.instruction import parse_instruction

ItemT = TypeVar("ItemT")

EMBEDDED: Final = "embedded"
"""Name for all VLAs that need neither GPU nor network."""

TASKS: Final = (
    "pick the red cube",
    "push the green cylinder",
    "press the blue button",
    "pick the yellow ball",
    "push the purple cube",
    "press the red button",
    "pick the blue cylinder",
    "push the orange bowl",
    "press the green button",
    "pick the purple cube",
)
"""The ten tasks of the full experiment, each in its own scene."""


@dataclass(frozen=True, slots=True)
class ExperimentTask:
    """A task in its scene.

    Attributes:
        task: The instruction.
        scene_seed: Seed of the scene.
    """

    task: str
    scene_seed: int


@dataclass(frozen=True, slots=True)
class RunKey:
    """One run.

    Attributes:
        subject: The VLA.
        task: The task.
        distortion: None for the reference run.
        arm: The gate; by default that of the parameters.
    """

    subject: SubjectReference
    task: ExperimentTask
    distortion: DistortionSpec | None
    arm: GateArm = CONFIGURED

    @property
    def reference(self) -> RunKey:
        """The run on undistorted images that this run is compared with, with the same gate."""
        return RunKey(self.subject, self.task, None, self.arm)

    @property
    def name(self) -> str:
        """Unique name of the run, valid as a file name."""
        where = f"{slug(self.subject.text)}.{task_slug(self.task.task)}.{self.task.scene_seed}"
        if self.arm.name not in {"", OFF.name}:
            where += f".gate-{slug(self.arm.name)}"
        spec = self.distortion
        if spec is None:
            return f"{where}.reference"
        schedule = f".{slug(spec.schedule)}" if spec.schedule else ""
        return f"{where}.{slug(spec.id)}.{spec.level}.{spec.seed}{schedule}"


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """The runs of an experiment.

    Attributes:
        subjects: The VLAs.
        tasks: The tasks.
        distortions: Each distortion at each level.
        arms: The gates.
    """

    subjects: tuple[SubjectReference, ...]
    tasks: tuple[ExperimentTask, ...]
    distortions: tuple[DistortionSpec, ...]
    arms: tuple[GateArm, ...] = (OFF,)

    def groups(self) -> tuple[tuple[RunKey, ...], ...]:
        """Return the runs of each task, subject and arm: the reference run, then one run per distortion."""
        return tuple(
            tuple(RunKey(subject, task, spec, arm) for spec in (None, *self.distortions))
            for task in self.tasks
            for subject in self.subjects
            for arm in self.arms
        )

    def extended(self, other: ExperimentPlan) -> ExperimentPlan:
        """Return a plan with the subjects, tasks, distortions and arms of both, all combined."""
        return ExperimentPlan(
            tuple(dict.fromkeys((*self.subjects, *other.subjects))),
            tuple(dict.fromkeys((*self.tasks, *other.tasks))),
            tuple(dict.fromkeys((*self.distortions, *other.distortions))),
            tuple(dict.fromkeys((*self.arms, *other.arms))),
        )

    def without(self, other: ExperimentPlan) -> tuple[str, ...]:
        """Return in words what this plan has and the other one lacks."""
        tasks = [task for task in self.tasks if task not in other.tasks]
        specs = [spec for spec in self.distortions if spec not in other.distortions]
        return (
            *(f"subject {subject}" for subject in self.subjects if subject not in other.subjects),
            *(f"task {task.task!r} in scene {task.scene_seed}" for task in tasks),
            *(f"distortion {spec.id}:{spec.level} with seed {spec.seed}{_scheduled(spec)}" for spec in specs),
            *(f"gate {arm.name}" for arm in self.arms if arm not in other.arms),
        )

    def runs(self) -> tuple[RunKey, ...]:
        """Return all runs, those of one scene together."""
        return tuple(key for group in self.groups() for key in group)


def parse_subjects(text: str) -> tuple[SubjectReference, ...]:
    """Parse `embedded` or references of VLAs, separated by commas.

    Raises:
        UsageError: A name is unknown.
    """
    embedded = names_of(Role.VLA, Backend.EMBEDDED)
    names = [name for word in _words(text) for name in (embedded if word == EMBEDDED else (word,))]
    subjects = [parse_vla(name) for name in names]
    for subject in subjects:
        check_backend(subject)
    return _once(subjects, "subject")


def _canonical(text: str) -> str:
    return str(parse_instruction(text))


def parse_tasks(
    count: int | None,
    texts: Sequence[str],
    scene_seed: int,
    scenes: int = 1,
    check: Callable[[str], str] = _canonical,
) -> tuple[ExperimentTask, ...]:
    """Return the first ``count`` tasks of the list, or the tasks in ``texts``, each in scenes of its own.

    Args:
        count: 1 to 10; None for all.
        texts: Instructions, instead of a count.
        scene_seed: Seed of the first scene; each further task, then each further scene, has the next seed.
        scenes: Scenes of each task.
        check: Returns a task as the subjects get it; by default in the canonical words of the cell.

    Raises:
        UsageError: Too many tasks, both a count and texts, or an invalid instruction.
    """
    if count is not None and texts:
        raise UsageError("both a number of tasks and tasks", expected="--first-tasks or --task, not both")
    if count is not None and not 1 <= count <= len(TASKS):
        raise UsageError(f"there are {len(TASKS)} tasks", expected=f"1 to {len(TASKS)}, or --task", got=count)
    if scene_seed < 0:
        raise UsageError("invalid scene seed", expected="an integer from 0", got=scene_seed)
    if scenes < 1:
        raise UsageError("invalid number of scenes", expected="1 or more", got=scenes)
    words = _once(tuple(check(text) for text in texts or TASKS[:count]), "task")
    return tuple(ExperimentTask(word, scene_seed + index) for index, word in enumerate(words * scenes))


def parse_distortions(
    text: str, levels: Sequence[int], seed: int, schedules: Sequence[str] = ("",)
) -> tuple[DistortionSpec, ...]:
    """Parse `all` or numbers and names such as `02,12,max-darken`; each gets every level and schedule.

    Raises:
        UsageError: An unknown or duplicate distortion, or a wrong schedule.
    """
    words = [line.id for line in catalogue()] if text == "all" else _words(text)
    ids = _once([entry(word).id for word in words], "distortion")
    return tuple(
        DistortionSpec(number, level, seed, schedule=schedule)
        for number in ids
        for level in levels
        for schedule in schedules
    )


def _scheduled(spec: DistortionSpec) -> str:
    return f", {spec.schedule}" if spec.schedule else ""


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("empty list", expected="one or more words, separated by commas", got=text)
    return words


def _once(items: Sequence[ItemT], what: str) -> tuple[ItemT, ...]:
    for item in items:
        if list(items).count(item) > 1:
            raise UsageError(f"duplicate {what}", got=item)
    return tuple(items)
