"""The panel on clean pictures of unseen scenes: physics judges plans, the truth judges answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame, View
from embodied_iqa.kinematics import Kinematics
from embodied_iqa.manipulation.waypoints import chunk_through, waypoints_from_array, waypoints_to_array
from embodied_iqa.panel.answers import Style, true_answer
from embodied_iqa.panel.criterion import plan_error, would_do
from embodied_iqa.panel.samples.camera_views import visible_things
from embodied_iqa.panel.samples.draw_samples import sample_scene
from embodied_iqa.scenes.dimensions import HOME_Q_RAD, T_flange_tool
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.simulation.expert import expert_waypoints
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.rollout import rollout
from embodied_iqa.simulation.success import task_success
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.backends.panel.members import card_of
from embodied_iqa.subjects.backends.panel.vla import LearnedPlan, LearnedVla
from embodied_iqa.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.tasks.instruction import Instruction
from embodied_iqa.tasks.vocabulary import Verb

__all__ = [
    "NATIVE_PX",
    "ActedTask",
    "AnsweredTask",
    "Stage",
    "act_clean",
    "answer_clean",
    "draw_stage",
    "loaded_vla",
    "loaded_vlm",
    "set_stage",
    "succeeds",
    "succeeds_at",
]

NATIVE_PX: Final = (640, 480)
"""Size of the pictures that members get in a trial."""


@dataclass(frozen=True, slots=True)
class ActedTask:
    """One VLA's one attempt.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        verb: Of the task.
        crowd: Number of objects on the table: the scene's difficulty.
        background: Of the scene.
        success: By physics.
        geometric: By the geometric criterion.
        acted: Whether it moved at all.
        position_mm: Mean distance of its waypoints from the expert's; -1 where it did not move.
        turn_deg: Largest difference of turns about the vertical; -1 where it did not move.
    """

    member: str
    scene: int
    verb: Verb
    crowd: int
    background: str
    success: bool
    geometric: bool
    acted: bool
    position_mm: float
    turn_deg: float


@dataclass(frozen=True, slots=True)
class AnsweredTask:
    """One VLM's one answer, and what it says to the picture of another scene.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        verb: Of the task.
        answer: What it said.
        truth: The right answer.
        swapped: What it said to the same task on the next scene's picture.
        swapped_truth: What would have been right there.
    """

    member: str
    scene: int
    verb: Verb
    answer: str
    truth: str
    swapped: str
    swapped_truth: str


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A scene before its task.

    Attributes:
        index: Its number.
        scene: What stands there.
        task: What to do.
        frames: What the views have.
    """

    index: int
    scene: Scene
    task: Instruction
    frames: Mapping[View, Frame]

    @property
    def expert(self) -> NDArray[np.float64]:
        """The expert's ``(K, 6)`` waypoints."""
        rows = expert_waypoints(self.scene, World(self.scene).snapshot(), self.task, HOME_POSE)
        return waypoints_to_array(rows)


HOME_POSE: Final = Kinematics(np.asarray(T_flange_tool)).forward(np.array(HOME_Q_RAD))


def set_stage(seed: int, index: int) -> Stage:
    """Return scene number ``index`` of a seed with its main task, drawn at the size of a trial's pictures."""
    return draw_stage(index, *sample_scene(seed, index))


def draw_stage(index: int, scene: Scene, task: Instruction) -> Stage:
    """Draw a scene at the size of a trial's pictures, as it stands before its task."""
    snapshot = World(scene).snapshot()
    with SceneRenderer(scene, *NATIVE_PX) as renderer:
        return Stage(index, scene, task, {view: renderer.frame(view, snapshot) for view in View})


def act_clean(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[ActedTask]:
    """Let every VLA do the scene's main task, each in a world of its own."""
    stage = set_stage(seed, index)
    expert = stage.expert
    world = World(stage.scene)
    results = []
    for name in names:
        member = loaded_vla(name, models)
        pictures = [stage.frames[view].rgb for view in member.info.views]
        plan = member.plan(pictures, str(stage.task))
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        results.append(
            ActedTask(
                name,
                index,
                stage.task.verb,
                len(stage.scene.objects),
                str(stage.scene.background),
                plan.acts and succeeds(world, stage, plan),
                would_do(stage.task.verb, stage.task.kind, error),
                plan.acts,
                -1.0 if error is None else error.position_mm,
                -1.0 if error is None else float(np.rad2deg(error.yaw_rad)),
            )
        )
    return results


def succeeds(world: World, stage: Stage, plan: LearnedPlan) -> bool:
    """Carry a plan out from the start and say whether the task is done, by physics."""
    return succeeds_at(world, stage.scene, stage.task, plan.waypoints)


def succeeds_at(world: World, scene: Scene, task: Instruction, waypoints: NDArray[np.float64]) -> bool:
    """Carry ``(K, 6)`` waypoints out from the start and say whether the task is done, by physics."""
    world.reset()
    start = world.snapshot()
    increments = chunk_through(waypoints_from_array(waypoints), world.T_base_tool)
    result = rollout(world, increments)
    return result.stopped is None and task_success(scene, task, start, result.end)


def answer_clean(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[AnsweredTask]:
    """Let every VLM answer the scene's main task, about its picture and about the next scene's."""
    stage, other = set_stage(seed, index), set_stage(seed, index + 1)
    task = str(stage.task)
    results = []
    for name in names:
        member = loaded_vlm(name, models)
        view = member.info.views[0]
        style = Style(str(card_of(name, models).training["style"]))
        results.append(
            AnsweredTask(
                name,
                index,
                stage.task.verb,
                member.answer(stage.frames[view], task),
                true_answer(stage.task, visible_things(stage.scene, stage.frames[view]), style),
                member.answer(other.frames[view], task),
                true_answer(stage.task, visible_things(other.scene, other.frames[view]), style),
            )
        )
    return results


_LOADED: dict[tuple[str, Path], LearnedVla | LearnedVlm] = {}
"""Members of this process: loading takes longer than asking."""


def loaded_vla(name: str, models: Path) -> LearnedVla:
    """Return a learned VLA, loaded once in this process."""
    found = _LOADED.get((name, models))
    if not isinstance(found, LearnedVla):
        found = _LOADED[name, models] = LearnedVla(models, name)
    return found


def loaded_vlm(name: str, models: Path) -> LearnedVlm:
    """Return a learned VLM, loaded once in this process."""
    found = _LOADED.get((name, models))
    if not isinstance(found, LearnedVlm):
        found = _LOADED[name, models] = LearnedVlm(models, name)
    return found
