"""A VLA at work in the simulated cell, without ROS: look, act, look again."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.simulation.rollout import RolloutOptions, rollout
from embodied_iqa.simulation.success import task_success
from embodied_iqa.simulation.world import World
from embodied_iqa.subjects.protocols import ChunkStatus, Vla, VlaObservation
from embodied_iqa.tasks.instruction import Instruction

__all__ = ["EpisodeResult", "observe", "run_episode"]


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """What came of it.

    Attributes:
        success: Whether the task is done, by physics.
        chunks: Number of chunks that were carried out.
        status: The VLA's last word; ACT where it never came to an end.
        reason: Its reason, or why the arm stopped.
    """

    success: bool
    chunks: int
    status: ChunkStatus
    reason: str


def observe(vla: Vla, world: World, renderer: SceneRenderer, task: str, step: int) -> VlaObservation:
    """Take the pictures that the VLA looks at, with the state of the arm."""
    snapshot = world.snapshot()
    frames = {view: renderer.frame(view, snapshot) for view in vla.info.views}
    return VlaObservation(frames, task, world.T_base_tool, world.gripper, step)


def run_episode(
    vla: Vla,
    world: World,
    renderer: SceneRenderer,
    instruction: Instruction,
    *,
    max_chunks: int = 3,
    options: RolloutOptions | None = None,
) -> EpisodeResult:
    """Ask and act until the VLA ends it, the arm stops, or ``max_chunks`` were carried out."""
    start = world.snapshot()
    chunks, status, reason = 0, ChunkStatus.ACT, ""
    for step in range(max_chunks + 1):
        chunk = vla.act(observe(vla, world, renderer, str(instruction), step))
        status, reason = chunk.status, chunk.reason
        if status is not ChunkStatus.ACT or step == max_chunks:
            break
        result = rollout(world, chunk.increments, options)
        chunks += 1
        if result.stopped is not None:
            reason = result.stopped
            break
    success = task_success(world.scene, instruction, start, world.snapshot())
    return EpisodeResult(success and world.contact_violation is None, chunks, status, reason)
