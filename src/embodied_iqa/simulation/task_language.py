"""Tasks of a scene in the words of people, from easy to hard."""

from __future__ import annotations

import hashlib

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.simulation.scene import Scene, tasks_of
from embodied_iqa.subjects.instruction import Instruction
from embodied_iqa.subjects.task import Task

__all__ = ["make_tasks"]


def make_tasks(
    scene: Scene, seed: int = 0, *, view: View = View.WRIST, main: Instruction | None = None
) -> tuple[Task, ...]:
    """Make up to five tasks of rising difficulty, ranks 1 to 5; the same arguments give the same tasks.

    Args:
        scene: What stands on the table.
        seed: Of the wording and of the choice among what the scene affords; any integer from 0.
        view: "Left", "right", "in front of" and "behind" are meant for who looks at its picture.
        main: The plain task of rank 1; None to draw one of the scene's main object.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, scene.seed, list(View).index(view), 0x7A5C]))
    afforded = [task for task in tasks_of(scene) if task.object == scene.objects[0].thing]
    if main is None and afforded:
        main = afforded[int(rng.integers(len(afforded)))]
    if main is None:
        return ()
    return (
        Task(_id(scene, view, 1, str(main)), 1, str(main), f"{main.verb}:plain", main.verb, main, (main,), 1),
    )


def _id(scene: Scene, view: View, rank: int, text: str) -> str:
    things = [(str(item.thing), round(item.x_m, 4), round(item.y_m, 4)) for item in scene.objects]
    content = repr((scene.seed, things, str(view), rank, text))
    return "t" + hashlib.sha256(content.encode()).hexdigest()[:15]
