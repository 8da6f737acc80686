"""Session plan: the tasks and distortions of a session, checked before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.models.subjects.actions.real_arm import check_real_arm
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.models.subjects.optional_vlm import shown_view
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import check_backend
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION, shared_gate_file
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.graph.camera_parameters import (
    cameras_of,
    check_policy_cameras,
    check_vlm_camera,
)
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.trial.run_folder import slug, task_slug
from embodied_iqa.runs.trial.start_patience import longest_start_s
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.sentence import check_sentence

DEFAULT_TASK: Final = "press the blue button"
TOUR_TASKS: Final = ("pick the red cube", "push the green cylinder", DEFAULT_TASK)
"""Three verbs; the burst belongs to the last one."""
DEFAULT_DISTORTIONS: Final = ("02:2", "18:5", "19:5")
"""Mild lens blur, severe glare, severe darkness."""
DEFAULT_BURST: Final = DistortionSpec("07", 5, schedule="burst:start=0,length=1.5")
"""False colours, of the default task, without the gate and with it: they mislead the default policy there."""
_GUARDED: Final = "gate-on"
_USUAL_RUN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task and the folder of its recording and scores.

    Attributes:
        task: The instruction.
        folder: Holds `trial.mcap` and `scores.json`.
        distortions: One run each, after the reference run.
    """

    task: str
    folder: Path
    distortions: tuple[DistortionSpec, ...] = ()

    @property
    def runs(self) -> int:
        """Number of runs, the reference run included."""
        return 1 + len(self.distortions)

    @property
    def recording(self) -> Path:
        """Path of the recording."""
        return self.folder / "trial.mcap"


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """A session: tasks, each with a reference run and distorted runs.

    Attributes:
        tasks: The instructions.
        scene_seed: Seed of the scenes.
        distortions: One run each, for each task.
        graph: Parameters of every node.
        attach: Use a running graph instead of starting one.
        chosen: Parameters, ``node.parameter``, that a running graph must have as `graph` has them.
        run_deadline_s: Longest time of a run of 30 s, real time, without the person's answers.
        burst: A further distortion of the last task, which `guarded` repeats; None for none.
        name: Part of the names of folders, for a plan that follows another in the same run folder.
        namespace: Of the graph, such as ``/cell1``; empty for none.
    """

    tasks: tuple[str, ...]
    scene_seed: int
    distortions: tuple[DistortionSpec, ...]
    graph: GraphParameters
    attach: bool = False
    chosen: tuple[str, ...] = ()
    run_deadline_s: float = 180.0
    burst: DistortionSpec | None = None
    name: str = ""
    namespace: str = ""

    @property
    def parts(self) -> tuple[SessionPlan, ...]:
        """The plans to carry out one after another, each with a graph of its own: this and `guarded`."""
        return (self,) if self.guarded is None else (self, self.guarded)

    @property
    def guarded(self) -> SessionPlan | None:
        """The last task under the burst with a gate that the arm obeys; None without a burst."""
        if self.burst is None:
            return None
        gate, vla = self.graph.gate_node, self.graph.vla_node
        judge = replace(gate.judge, mode=GateMode.ON)
        gate, vla = replace(gate, judge=judge), replace(vla, repaired=judge.repairs)
        return replace(
            self,
            tasks=self.tasks[-1:],
            distortions=(self.burst,),
            graph=replace(self.graph, gate_node=gate, vla_node=vla),
            burst=None,
            name=_GUARDED,
        )

    @property
    def started_graph(self) -> GraphParameters:
        """The graph with the first task's scene in its world from the start: cameras load another slowly."""
        if not self.graph.arm_node.robot.is_simulated:
            return self.graph
        world = replace(self.graph.sim_node, scene_seed=self.scene_seed, instruction=self.tasks[0])
        return replace(self.graph, sim_node=world)

    @property
    def longest_run_s(self) -> float:
        """Longest time of one run and the way back after it, real time, without the person's answers."""
        trial = self.graph.trial_node
        back_s = trial.return_limit_s if trial.attended else 0.0
        return self.run_deadline_s + max(0.0, trial.run_limit_s - _USUAL_RUN_S) + back_s

    def deadline_s(self, folder: TaskFolder) -> float:
        """Longest time of a task with the start of its nodes, real time.

        An attended run waits for two answers of a person.
        """
        trial = self.graph.trial_node
        person_s = 2 * trial.person_limit_s if trial.attended else 0.0
        return longest_start_s(trial.start_deadline_s) + (self.longest_run_s + person_s) * folder.runs

    def folders(self, run_folder: Path) -> tuple[TaskFolder, ...]:
        """Return the folder of each task: the run folder itself for the only one, else one folder each."""
        if len(self.tasks) == 1 and self.burst is None and not self.name:
            return (TaskFolder(self.tasks[0], run_folder, self.distortions),)
        more_name = f"-{slug(self.name)}" if self.name else ""
        names = [f"{task_slug(task)}{more_name}" for task in self.tasks]
        bursts = () if self.burst is None else (self.burst,)
        more = [()] * (len(names) - 1) + [bursts]
        return tuple(
            TaskFolder(task, run_folder / name, (*self.distortions, *own))
            for task, name, own in zip(self.tasks, names, more, strict=True)
        )


def check_task(text: str, graph: GraphParameters, policies: Sequence[SubjectReference] = ()) -> str:
    """Return a task as the subjects get it: in canonical words in the simulated cell, else as it was typed.

    Args:
        text: The task.
        graph: Parameters of the nodes.
        policies: VLAs that are given the task, instead of that of vla_node.

    Raises:
        UsageError: The cell does not know a word, it is not a sentence or names a file, or a subject cannot
            parse it.
    """
    if _names_file(text):
        raise UsageError("a task is a sentence, not a file", expected="--task TEXT for each task", got=text)
    if graph.arm_node.robot.is_simulated:
        return str(parse_instruction(text))
    check_sentence(text)
    for subject in (*graph.subjects[:-1], *(policies or graph.subjects[-1:])):
        check_parses(subject, text)
    return text


def _names_file(text: str) -> bool:
    """Return whether a task is the name of a file that exists, such as of a task file."""
    with suppress(OSError, ValueError):  # too long for a name
        return bool(Path(text).suffix) and Path(text).is_file()
    return False


def check_tasks(texts: Sequence[str], graph: GraphParameters) -> tuple[str, ...]:
    """Return the tasks as the subjects get them, see `check_task`.

    Raises:
        UsageError: See `check_task`, or two tasks are the same.
    """
    tasks = tuple(check_task(text, graph) for text in texts)
    twice = sorted({task for task in tasks if tasks.count(task) > 1})
    if twice:
        raise UsageError("duplicate task", got=twice[0])
    return tasks


def check_graph(graph: GraphParameters) -> GraphParameters:
    """Return the parameters if the files that they name exist and their subjects can be used.

    Raises:
        UserError: Otherwise.
    """
    gate = graph.gate_node
    if gate.judge.mode is not GateMode.OFF:
        shared_judge(gate.judge.kind, gate.calibration, gate.policy)
    camera = graph.camera_node
    if camera.source.kind is CameraKind.STORED and not Path(camera.path).exists():
        raise InputError("the images of --camera-path do not exist", got=camera.path)
    check_subjects(graph)
    if graph.arm_node.robot.is_real:
        refuse_shipped_calibration(gate.judge.mode, gate.calibration)
        refuse_other_cameras(graph)
    return graph


def refuse_other_cameras(graph: GraphParameters) -> None:
    """Refuse to start a real arm whose gate would hold it: a camera of the cell is not calibrated.

    The size of an image is known beforehand where the parameters set it.

    Raises:
        UsageError: The arm obeys such a gate.
    """
    gate, camera = graph.gate_node, graph.camera_node
    if gate.judge.mode is not GateMode.ON:
        return
    known = shared_gate_file(gate.calibration).cameras
    sets_size = camera.source is CameraSource.REALSENSE
    size = (camera.width_px, camera.height_px)
    for view in camera.views:
        sizes = [(one.width_px, one.height_px) for one in known if one.view == view]
        if not sizes or (sets_size and size not in sizes):
            raise UsageError(
                "a camera of the cell is not in the gate's calibration, which would hold the arm",
                expected=f"a file of `gate calibrate` with {', '.join(camera.views)}",
                got=f"{view} {size[0]}x{size[1]}" if sets_size else str(view),
                available=[f"{one.view} {one.width_px}x{one.height_px}" for one in known],
            )


def refuse_shipped_calibration(mode: object, calibration: object) -> None:
    """Refuse to let a real arm move on verdicts by the calibration of simulated cameras.

    Args:
        mode: Of the gate, a `GateMode` or its word.
        calibration: Of the gate.

    Raises:
        UsageError: The arm obeys such a gate.
    """
    if mode == GateMode.ON and calibration == SHIPPED_CALIBRATION:
        raise UsageError(
            "the gate's shipped calibration is for simulated cameras and does not let a real arm move",
            expected="gate_node.calibration: a file of `gate calibrate` for your cameras",
            got=calibration,
        )


def check_subjects(graph: GraphParameters) -> GraphParameters:
    """Return the parameters if back ends run the subjects, which have their cameras, and the VLA may act.

    Raises:
        UserError: Otherwise, or if the policy server of a real arm cannot be reached.
    """
    vlm, vla, views = graph.vlm_node, graph.vla_node, graph.camera_node.views
    for subject in graph.subjects:
        check_backend(subject)
    check_vlm_camera(vlm.subject, shown_view(vlm.subject, views), views)
    check_policy_cameras(vla.subject, cameras_of(vla.subject), views)
    if graph.arm_node.robot.is_real:
        arm = graph.arm_node
        check_real_arm(vla.subject, vla.options, arm.model, arm.tool_length_m)
    return graph
