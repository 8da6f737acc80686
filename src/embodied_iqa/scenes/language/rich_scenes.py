"""Scenes that are rich enough for five tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.scenes.language.five_tasks import make_tasks
from embodied_iqa.scenes.random_tasks import draw_instruction
from embodied_iqa.scenes.scene import Scene, make_scene
from embodied_iqa.tasks.instruction import Instruction, Verb

__all__ = ["draw_task_scene"]

_UNSEEN: Final = {View.WRIST: {Verb.PULL}}
"""Drawers stand farther away than the wrist camera's picture reaches."""


def draw_task_scene(
    seed: int, verb: Verb | None = None, *, views: Sequence[View] = (View.TOP, View.SIDE)
) -> tuple[Scene, Instruction]:
    """Draw a scene for which `make_tasks` finds five tasks for the pictures of some cameras.

    Args:
        seed: Any integer from 0; the same arguments give the same scene on every machine.
        verb: Of the easiest task; None: the verbs take turns with the seed.
        views: The cameras; those that show the whole table unless others are named. The wrist camera shows a
            part of it only, so that fewer scenes will do.

    Returns:
        The scene, which ``make_scene(scene.seed, instruction)`` makes again, and its main task.

    Raises:
        UsageError: The seed is negative, or one of the cameras never shows what the verb needs.
    """
    if seed < 0:
        raise UsageError("a scene's seed cannot be negative", expected="an integer from 0", got=seed)
    verbs = [item for item in Verb if not any(item in _UNSEEN.get(view, ()) for view in views)]
    verb = verbs[seed % len(verbs)] if verb is None else verb
    if verb not in verbs:
        raise UsageError("a camera never shows what the verb needs", got=str(verb), available=verbs)
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C5]))
    while True:
        instruction = draw_instruction(verb, int(rng.integers(2**31)))
        scene = make_scene(int(rng.integers(2**31)), instruction)
        if _is_rich(scene, instruction, views):
            return scene, instruction


def _is_rich(scene: Scene, instruction: Instruction, views: Sequence[View]) -> bool:
    try:
        for view in views:
            make_tasks(scene, view=view, main=instruction)
    except UsageError:
        return False
    return True
