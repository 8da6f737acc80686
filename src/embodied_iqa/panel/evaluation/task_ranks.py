"""The panel on tasks of rising difficulty: five a scene, from plain words to two steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.panel.answers import Style, true_answer
from embodied_iqa.panel.criterion import plan_error, would_do
from embodied_iqa.panel.evaluation.clean_scenes import Stage, draw_stage, loaded_vla, loaded_vlm
from embodied_iqa.panel.samples.camera_views import visible_things
from embodied_iqa.panel.task_cameras import camera_of_tasks
from embodied_iqa.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.subjects.backends.panel.members import VLA_NAMES, card_of
from embodied_iqa.tasks.instruction import Instruction
from embodied_iqa.tasks.task import Task

__all__ = ["RankedTask", "ask_ranked"]


@dataclass(frozen=True, slots=True)
class RankedTask:
    """What one member makes of one task.

    Attributes:
        member: Its name.
        scene: Number of the scene.
        rank: 1 (plain words) to 5 (two steps).
        done: VLA: whether the plan would do the first step, by the geometric criterion; False for a VLM.
        answer: VLM: what it said; empty for a VLA.
        truth: VLM: what would have been right about the first step.
    """

    member: str
    scene: int
    rank: int
    done: bool
    answer: str
    truth: str


def ask_ranked(seed: int, index: int, names: tuple[str, ...], models: Path) -> list[RankedTask]:
    """Ask every member the five tasks of a scene, in the words of people who look at its picture.

    A member whose camera shows too little for five tasks is not asked about this scene.
    """
    scene, main = draw_task_scene(seed + index)
    stage = draw_stage(index, scene, main)
    found: list[RankedTask] = []
    for name in names:
        view = camera_of_tasks(card_of(name, models).views)
        tasks = _tasks(stage, main, view)
        ask = _act if name in VLA_NAMES else _answer
        found += ask(stage, name, tasks, models)
    return found


def _tasks(stage: Stage, main: Instruction, view: View) -> list[Task]:
    try:
        return list(make_tasks(stage.scene, view=view, main=main))
    except UsageError:
        return []


def _act(stage: Stage, name: str, tasks: Sequence[Task], models: Path) -> list[RankedTask]:
    member = loaded_vla(name, models)
    pictures = [stage.frames[view].rgb for view in member.info.views]
    plans = member.plans(pictures, [task.text for task in tasks]) if tasks else []
    rows = []
    for task, plan in zip(tasks, plans, strict=True):
        step = task.plan[0]
        expert = dataclasses.replace(stage, task=step).expert
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        rows.append(RankedTask(name, stage.index, task.rank, would_do(step.verb, step.kind, error), "", ""))
    return rows


def _answer(stage: Stage, name: str, tasks: Sequence[Task], models: Path) -> list[RankedTask]:
    member = loaded_vlm(name, models)
    frame = stage.frames[member.info.views[0]]
    style = Style(str(card_of(name, models).training["style"]))
    things = visible_things(stage.scene, frame)
    return [
        RankedTask(
            name,
            stage.index,
            task.rank,
            False,
            member.answer(frame, task.text),
            true_answer(task.plan[0], things, style),
        )
        for task in tasks
    ]
