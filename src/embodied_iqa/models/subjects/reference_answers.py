"""Answers and chunks of subjects on clean images of seeded scenes: references for scaling scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.batching import answer_all
from embodied_iqa.world.protocols import ChunkStatus, Vla, Vlm
from embodied_iqa.world.scenes.scene import Scene, make_scene, tasks_of
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import Delivery, observe
from embodied_iqa.world.simulation.world import World

IMAGE_SIZE_PX: Final = (640, 480)


def reference_scenes(n_scenes: int, seed: int) -> tuple[Scene, ...]:
    """Draw scenes from a seed; a larger number of scenes starts with the same ones."""
    if n_scenes < 1 or seed < 0:
        raise UsageError("bad number of scenes or seed", expected="scenes from 1, seed from 0")
    return tuple(
        make_scene(int(np.random.default_rng([seed, index]).integers(2**31))) for index in range(n_scenes)
    )


def reference_chunks(
    vla: Vla, scene: Scene, delivered: Delivery | None = None
) -> Iterator[NDArray[np.float64]]:
    """Yield the VLA's first chunk from home for every task of a scene for which it acts.

    Args:
        vla: The policy.
        scene: What is on the table.
        delivered: The cameras; None for ideal ones.
    """
    world = World(scene)
    with SceneRenderer(scene, *IMAGE_SIZE_PX) as renderer:
        for task in tasks_of(scene):
            chunk = vla.act(observe(vla, world, renderer, str(task), 0, delivered=delivered))
            if chunk.status is ChunkStatus.ACT:
                yield chunk.increments


def reference_answers(vlm: Vlm, scene: Scene, delivered: Delivery | None = None) -> Iterator[str]:
    """Yield the VLM's answer on its first view for every task of a scene; arguments as above."""
    if not vlm.info.views:
        raise InputError(f"{vlm.info.name} lists no view")
    snapshot = World(scene).snapshot()
    with SceneRenderer(scene, *IMAGE_SIZE_PX) as renderer:
        frame = renderer.frame(vlm.info.views[0], snapshot)
    if delivered is not None:
        frame = delivered(frame, scene.seed)
    yield from answer_all(vlm, [(frame, str(task)) for task in tasks_of(scene)])
