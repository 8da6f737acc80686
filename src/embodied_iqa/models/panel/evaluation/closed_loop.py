"""Policies that look while they act, on unseen scenes: each task is acted out, and physics judges the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.scoring.proportions import wilson
from embodied_iqa.models.subjects.backends.panel.stepping import EXECUTE_STEPS, STEP_RATE_HZ
from embodied_iqa.world.protocols import ChunkStatus, Vla
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import follow, observe
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb

_TRIAL_PX: Final = (640, 480)
_MOST_DECISIONS: Final = 60
_SETTLE_NS: Final = 500_000_000


@dataclass(frozen=True, slots=True)
class ActedOut:
    """One task that a policy acted out.

    Attributes:
        scene: Number of the scene.
        verb: Of the task.
        decisions: How often it looked.
        missing: What the task lacks at the end, or why the arm stopped; empty if it is done.
    """

    scene: int
    verb: Verb
    decisions: int
    missing: str


def act_out(vla: Vla, seed: int, number: int) -> ActedOut:
    """Let a policy act out the main task of scene ``number`` of a seed, deciding every 0.4 s."""
    scene, task = sample_scene(seed, number)
    world = World(scene)
    start, stopped, decision = world.snapshot(), None, 0
    with SceneRenderer(scene, *_TRIAL_PX) as renderer:
        for decision in range(_MOST_DECISIONS):
            chunk = vla.act(observe(vla, world, renderer, str(task), decision, delivered=as_delivered))
            if chunk.status is not ChunkStatus.ACT:
                break
            stopped = follow(world, chunk.increments[:EXECUTE_STEPS], 1.0 / STEP_RATE_HZ)
            if stopped is not None:
                break
    world.advance(_SETTLE_NS)
    missing = stopped or world.contact_violation or task_missing(scene, task, start, world.snapshot())
    return ActedOut(number, task.verb, decision + 1, missing)


def success_of(acted: Sequence[ActedOut]) -> dict[str, float | str]:
    """Return the share of tasks that were done, its interval at 95 % (Wilson), and the share by verb."""
    done = [not one.missing for one in acted]
    by_verb: defaultdict[Verb, list[bool]] = defaultdict(list)
    for one, is_done in zip(acted, done, strict=True):
        by_verb[one.verb].append(is_done)
    share = wilson(sum(done), len(done))
    return {
        "success": round(share.value, 4),
        "success_low": round(share.low, 4),
        "success_high": round(share.high, 4),
        "tasks": float(len(done)),
        **{f"success_{verb}": round(sum(rows) / len(rows), 4) for verb, rows in by_verb.items()},
    }
