"""Members on undistorted images of unseen scenes: physics judges plans, true answers judge answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.panel.true_answers import Style, true_answer, visible_things
from embodied_iqa.models.subjects.backends.panel.shipped_members import card_of
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.world.manipulation.waypoints import chunk_through, waypoints_from_array, waypoints_to_array
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS, T_flange_tool
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.expert import expert_waypoints
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

_TRIAL_PX: Final = (640, 480)
"""Size of images in a trial."""
HOME_POSE: Final = Kinematics(np.asarray(T_flange_tool)).forward(np.array(HOME_Q_RAD))


@dataclass(frozen=True, slots=True)
class ActedTask:
    """One attempt of a VLA.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        verb: Of the task.
        crowd: Number of objects on the table: the scene's difficulty.
        background: Of the scene.
        success: By physics.
        geometric: By the geometric criterion.
        acted: Whether it moved at all.
        position_mm: Mean distance of its waypoints from the expert's; -1 if it did not move.
        turn_deg: Largest difference of yaw; -1 if it did not move.
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
    """One answer of a VLM, and its answer about the image of another scene.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        verb: Of the task.
        answer: Its answer.
        truth: The true answer.
        swapped: Its answer to the same task on the next scene's image.
        swapped_truth: The true answer there.
    """

    member: str
    scene: int
    verb: Verb
    answer: str
    truth: str
    swapped: str
    swapped_truth: str


@dataclass(frozen=True, slots=True, eq=False)
class DrawnScene:
    """A scene before its task.

    Attributes:
        index: Its number.
        scene: Its objects.
        task: The task.
        frames: A frame of each view.
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


def drawn_scene(seed: int, index: int) -> DrawnScene:
    """Return scene number ``index`` of a seed with its main task, drawn at the size of a trial's images."""
    return draw_scene(index, *sample_scene(seed, index))


def draw_scene(index: int, scene: Scene, task: Instruction) -> DrawnScene:
    """Draw a scene before its task as the cameras deliver it, at the size of a trial's images."""
    snapshot = World(scene).snapshot()
    with SceneRenderer(scene, *_TRIAL_PX) as renderer:
        frames = {view: as_delivered(renderer.frame(view, snapshot), scene.seed) for view in CELL_VIEWS}
    return DrawnScene(index, scene, task, frames)


def act_clean(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[ActedTask]:
    """Run the scene's main task with each VLA, from the same start."""
    drawn = drawn_scene(seed, index)
    task, expert, world = drawn.task, drawn.expert, World(drawn.scene)
    results = []
    for name in names:
        member = loaded_vla(name, models)
        plan = member.plan([drawn.frames[view].rgb for view in member.info.views], str(task))
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        results.append(
            ActedTask(
                name,
                index,
                task.verb,
                len(drawn.scene.objects),
                str(drawn.scene.background),
                success=plan.acts and succeeds(world, drawn.scene, task, plan.waypoints),
                geometric=would_succeed(task.verb, task.kind, error),
                acted=plan.acts,
                position_mm=-1.0 if error is None else error.position_mm,
                turn_deg=-1.0 if error is None else float(np.rad2deg(error.yaw_rad)),
            )
        )
    return results


def succeeds(world: World, scene: Scene, task: Instruction, waypoints: NDArray[np.float64]) -> bool:
    """Execute ``(K, 6)`` waypoints from the start; return whether the task is done, by physics."""
    world.reset()
    start = world.snapshot()
    result = rollout(world, chunk_through(waypoints_from_array(waypoints), world.T_base_tool))
    return result.stopped is None and task_success(scene, task, start, result.end)


def answer_clean(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[AnsweredTask]:
    """Query each VLM about the scene's main task, on its image and on the next scene's."""
    drawn, following = drawn_scene(seed, index), drawn_scene(seed, index + 1)
    results = []
    for name in names:
        member, style = loaded_vlm(name, models), style_of(name, models)
        texts = []
        for shown in (drawn, following):
            frame = shown.frames[member.info.views[0]]
            things = visible_things(shown.scene, frame)
            texts += [member.answer(frame, str(drawn.task)), true_answer(drawn.task, things, style)]
        results.append(AnsweredTask(name, index, drawn.task.verb, *texts))
    return results


@cache
def loaded_vla(name: str, models: Path) -> LearnedVla:
    """Return a learned VLA; each process loads it once."""
    return LearnedVla(models, name)


@cache
def loaded_vlm(name: str, models: Path) -> LearnedVlm:
    """Return a learned VLM; each process loads it once."""
    return LearnedVlm(models, name)


def style_of(name: str, models: Path) -> Style:
    """Return the style of a VLM's answers."""
    return Style(str(card_of(name, models).training["style"]))
