"""Learned policy (ONNX): images and instruction in, one chunk for the whole task out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.panel.format import region_of
from embodied_iqa.models.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.models.subjects.subject_options import Acts
from embodied_iqa.world.manipulation.waypoints import chunk_through, waypoints_from_array
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation

LIKELY: Final = 0.5
"""What is more probable than this is taken for true."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPlan:
    """Output of the network.

    Attributes:
        waypoints: ``(K, 6)`` float64, columns as in `WAYPOINT_FIELDS`.
        seen: Probability in [0, 1] that the images show the object of the task.
        aim: Aim in the first image, (u, v) in [0, 1].
    """

    waypoints: NDArray[np.float64]
    seen: float
    aim: tuple[float, float]

    @property
    def acts(self) -> bool:
        """Whether a policy moves that may refuse."""
        return self.seen >= LIKELY and len(self.waypoints) > 0


class LearnedVla:
    """Decides once: after its first chunk it returns DONE, whatever the outcome.

    It was trained on the first image of a task only, so it cannot judge the outcome. It returns NO_TARGET if
    the object of the task seems absent, unless it is to act always.

    Args:
        folder: Folder of network and card.
        name: Name of the member.
        called: Name in answers and recordings; empty for the member's own.
        acts: Whether it acts on an object that it does not see. It is another version of the subject then.
    """

    def __init__(self, folder: Path, name: str, called: str = "", acts: Acts = Acts.WHEN_SEEN) -> None:
        self._network = PanelNetwork(folder, name)
        self._always = acts is Acts.ALWAYS
        info = self._network.info(called)
        self.info = replace(info, version=acts.version_of(info.version))

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk.

        Raises:
            UsageError: A view is missing.
        """
        return self.act_batch([observation])[0]

    def act_batch(self, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
        """Return a chunk per observation; successive ones of the same images share one inference.

        Raises:
            UsageError: A view is missing.
        """
        chunks: list[ActionChunk] = []
        for (later, *_), group in groupby(observations, self._shown):
            seen = list(group)
            if later:
                done = ActionChunk.still(ChunkStatus.DONE, "one chunk per task: does not judge the outcome")
                chunks += [done] * len(seen)
                continue
            images = [seen[0].frames[view].rgb for view in self.info.views]
            plans = self.plans(images, [observation.instruction for observation in seen])
            chunks += [self._chunk(*pair) for pair in zip(seen, plans, strict=True)]
        return chunks

    def _shown(self, observation: VlaObservation) -> tuple[int, ...]:
        """Return whether it is a later step, and the identities of the images."""
        frames = observation.frames_of(self.info.views)
        return (observation.step > 0, *(id(frame.rgb) for frame in frames))

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return ``(cells, C)``, what the network sees before any task is read."""
        return self._network.features(frame)

    def plan(self, images: Sequence[NDArray[np.uint8]], task: str, *, prepared: bool = False) -> LearnedPlan:
        """Plan from ``(H, W, 3)`` images, one per view; see `PanelNetwork.run`."""
        return self.plans(images, [task], prepared=prepared)[0]

    def plans(
        self, images: Sequence[NDArray[np.uint8]], tasks: Sequence[str], *, prepared: bool = False
    ) -> list[LearnedPlan]:
        """Plan several tasks from the same images."""
        plans, more, seen, aim = self._network.run(tasks, images, prepared=prepared)
        left, top, right, bottom = region_of(self.info.views[0], self._network.framing)
        aim = np.array([left, top]) + aim * np.array([right - left, bottom - top])
        counts = np.maximum(np.cumprod(more > LIKELY, axis=1).sum(axis=1), int(self._always))
        return [
            LearnedPlan(_finite(plans[row, : counts[row]]), float(seen[row]), (float(u), float(v)))
            for row, (u, v) in enumerate(aim)
        ]

    def _chunk(self, observation: VlaObservation, plan: LearnedPlan) -> ActionChunk:
        if not plan.acts and not (self._always and len(plan.waypoints)):
            reason = f"sees no such object (probability {plan.seen:.2f})"
            return ActionChunk.still(ChunkStatus.NO_TARGET, reason, plan.seen)
        increments = chunk_through(waypoints_from_array(plan.waypoints), observation.T_base_tool)
        width_px, height_px = observation.frames[self.info.views[0]].size_px
        aim_px = (plan.aim[0] * width_px - 0.5, plan.aim[1] * height_px - 0.5)
        reason = f"plans {len(plan.waypoints)} waypoints, sees the object with probability {plan.seen:.2f}"
        return ActionChunk(ChunkStatus.ACT, increments, reason, aim_px, plan.seen)


def _finite(waypoints: NDArray[np.float32]) -> NDArray[np.float64]:
    return waypoints.astype(np.float64) if np.isfinite(waypoints).all() else np.empty((0, waypoints.shape[1]))
