"""Members on tasks of increasing difficulty: five per scene, from plain words to two steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.evaluation.clean_scenes import (
    DrawnScene,
    draw_scene,
    loaded_vla,
    loaded_vlm,
    style_of,
)
from embodied_iqa.models.panel.panel_members import VLA_NAMES, task_camera
from embodied_iqa.models.panel.true_answers import true_answer, visible_things
from embodied_iqa.models.subjects.backends.panel.shipped_members import card_of
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.tasks.task import Task


@dataclass(frozen=True, slots=True)
class RankedTask:
    """Result of one member on one task.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        rank: 1 (plain words) to 5 (two steps).
        done: VLA: whether the plan would do the first step, by the geometric criterion; False for a VLM.
        answer: VLM: its answer; empty for a VLA.
        truth: VLM: the true answer about the first step; empty for a VLA.
    """

    member: str
    scene: int
    rank: int
    done: bool
    answer: str
    truth: str


def run_ranked(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[RankedTask]:
    """Run the five tasks of a scene with each member, in words that fit its camera's image.

    A member whose camera shows too little for five tasks has no results for this scene.
    """
    scene, main = draw_task_scene(seed + index)
    drawn = draw_scene(index, scene, main)
    found: list[RankedTask] = []
    for name in names:
        try:
            tasks = make_tasks(scene, view=task_camera(card_of(name, models).views), main=main)
        except UsageError:
            continue
        found += (_act if name in VLA_NAMES else _answer)(drawn, name, tasks, models)
    return found


def _act(drawn: DrawnScene, name: str, tasks: Sequence[Task], models: Path) -> list[RankedTask]:
    member = loaded_vla(name, models)
    images = [drawn.frames[view].rgb for view in member.info.views]
    plans = member.plans(images, [task.text for task in tasks])
    rows = []
    for task, plan in zip(tasks, plans, strict=True):
        step = task.plan[0]
        expert = dataclasses.replace(drawn, task=step).expert
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        done = would_succeed(step.verb, step.kind, error)
        rows.append(RankedTask(name, drawn.index, task.rank, done, "", ""))
    return rows


def _answer(drawn: DrawnScene, name: str, tasks: Sequence[Task], models: Path) -> list[RankedTask]:
    member, style = loaded_vlm(name, models), style_of(name, models)
    frame = drawn.frames[member.info.views[0]]
    things = visible_things(drawn.scene, frame)
    return [
        RankedTask(
            name,
            drawn.index,
            task.rank,
            done=False,
            answer=member.answer(frame, task.text),
            truth=true_answer(task.plan[0], things, style),
        )
        for task in tasks
    ]
