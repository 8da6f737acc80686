"""How long rollouts in a world take on this machine, measured before they start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.runs.episodes.episode_run import Episode
from embodied_iqa.runs.trial.deciding import DecisionRequest, act


@dataclass(frozen=True, slots=True)
class RolloutTime:
    """Measured parts of a rollout.

    Attributes:
        open_s: To open a task, without the first one's loading where it was open before [s].
        steps_s: Of one replanning interval without images [s].
        image_s: To render the images of one decision [s].
        decision_s: Of one answer of the policy [s].
        decisions: Most decisions of a rollout.
    """

    open_s: float
    steps_s: float
    image_s: float
    decision_s: float
    decisions: int

    @property
    def longest_s(self) -> float:
        """Of a rollout that ends at its horizon, on undistorted images [s]."""
        return self.open_s + self.decisions * (self.steps_s + self.image_s + self.decision_s)

    @property
    def longest_distorted_s(self) -> float:
        """Likewise on distorted images, of which the policy sees each twice: with and without [s]."""
        return self.longest_s + self.decisions * self.decision_s

    def text(self, references: int, distorted: int, workers: int) -> str:
        """Return what rollouts take, in a sentence."""
        total_s = (references * self.longest_s + distorted * self.longest_distorted_s) / workers
        parts = f"{self.decision_s:.2g} s to decide, {self.image_s:.2g} to render, {self.steps_s:.2g} to move"
        each = f"{_time(self.open_s)} to open, {self.decisions} times {parts}"
        return (
            f"a rollout takes up to {_time(self.longest_s)}, on distorted images "
            f"{_time(self.longest_distorted_s)} ({each}); "
            f"{references + distorted} rollouts: up to {_time(total_s)}"
        )


def measure_rollout(episode: Episode, clock: Clock = MONOTONIC) -> RolloutTime:
    """Open the task of an episode and take one decision, without executing it.

    Raises:
        UserError: World or policy fails.
    """
    world, vla = episode.world, episode.vla
    began_s = clock.now_s()
    world.open(episode.task, episode.state)
    opened_s = clock.now_s()
    seen = world.observe(() if vla.info.privileged else vla.info.views)
    rendered_s = clock.now_s()
    objects = world.objects() if vla.info.privileged else None
    request = DecisionRequest(
        world.time_ns, Source.RAW, 0, 0, episode.task.instruction, seen.T_base_tool, seen.gripper,
        native_state=seen.native_state, objects=objects,
    )  # fmt: skip
    chunk = act(vla, request, seen.frames)
    decided_s = clock.now_s()
    steps = episode.replan_steps or max(1, len(chunk.increments))
    still = np.zeros((steps, 7))
    still[:, 6] = seen.gripper > 0.5
    world.step(still, seen.T_base_tool)
    return RolloutTime(
        opened_s - began_s,
        clock.now_s() - decided_s,
        rendered_s - opened_s,
        decided_s - rendered_s,
        -(-episode.task.horizon // steps),
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
