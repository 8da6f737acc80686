"""Scenes that are rich enough for five tasks."""

from __future__ import annotations

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.simulation.scene import Scene, make_scene
from embodied_iqa.simulation.scene_tasks import draw_instruction
from embodied_iqa.simulation.task_language import make_tasks
from embodied_iqa.subjects.instruction import Instruction, Verb

__all__ = ["draw_task_scene"]


def draw_task_scene(seed: int, verb: Verb | None = None) -> tuple[Scene, Instruction]:
    """Draw a scene for which `make_tasks` finds five tasks for the viewer of every camera.

    Args:
        seed: Any integer from 0; the same seed and verb give the same scene on every machine.
        verb: Of the easiest task; None: the verbs take turns with the seed.

    Returns:
        The scene, which ``make_scene(scene.seed, instruction)`` makes again, and its main task.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    verb = list(Verb)[seed % len(Verb)] if verb is None else verb
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C5]))
    while True:
        instruction = draw_instruction(verb, int(rng.integers(2**31)))
        scene = make_scene(int(rng.integers(2**31)), instruction)
        if _is_rich(scene, instruction):
            return scene, instruction


def _is_rich(scene: Scene, instruction: Instruction) -> bool:
    try:
        for view in View:
            make_tasks(scene, view=view, main=instruction)
    except UsageError:
        return False
    return True
