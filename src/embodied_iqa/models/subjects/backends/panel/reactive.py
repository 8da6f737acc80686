"""Learned policy that looks while it acts (ONNX): images, task, tool and gripper in, the next steps out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.panel.format import region_of
from embodied_iqa.models.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.models.subjects.backends.panel.stepping import next_steps, tool_fields
from embodied_iqa.models.subjects.backends.panel.vla import LIKELY
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation


@dataclass(frozen=True, slots=True, eq=False)
class RestOfPlan:
    """Output of the network.

    Attributes:
        waypoints: ``(K, 6)`` float64, columns as in `WAYPOINT_FIELDS`, of the whole task.
        following: Index of the one that comes next; ``K`` where nothing is left to do.
        seen: Probability in [0, 1] that the images show the object of the task.
        aim: Aim in the first image, (u, v) in [0, 1].
    """

    waypoints: NDArray[np.float64]
    following: int
    seen: float
    aim: tuple[float, float]


class ReactiveVla:
    """Looks every 0.4 s and returns the next steps, or DONE; it never refuses.

    The same images, task, tool and gripper give the same steps: nothing is remembered.

    Args:
        folder: Folder of network and card.
        name: Name of the member.
        called: Name in answers and recordings; empty for the member's own.
    """

    def __init__(self, folder: Path, name: str, called: str = "") -> None:
        self._network = PanelNetwork(folder, name)
        self.info = self._network.info(called)

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk.

        Raises:
            UsageError: A view is missing.
            InputError: The network gives no finite numbers.
        """
        return self.act_batch([observation])[0]

    def act_batch(self, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
        """Return a chunk per observation; successive ones of the same images share one inference.

        Raises:
            UsageError: A view is missing.
            InputError: The network gives no finite numbers.
        """
        chunks: list[ActionChunk] = []
        for _, group in groupby(observations, self._shown):
            seen = list(group)
            images = [frame.rgb for frame in seen[0].frames_of(self.info.views)]
            tools = np.array([tool_fields(one.T_base_tool, one.gripper) for one in seen])
            plans = self.plans(images, [one.instruction for one in seen], tools)
            chunks += [self._chunk(*pair) for pair in zip(seen, plans, strict=True)]
        return chunks

    def _shown(self, observation: VlaObservation) -> tuple[int, ...]:
        return tuple(id(frame.rgb) for frame in observation.frames_of(self.info.views))

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return ``(cells, C)``, what the network sees before any task is read."""
        return self._network.features(frame)

    def plan(
        self,
        images: Sequence[NDArray[np.uint8]],
        task: str,
        tool: NDArray[np.float64],
        *,
        prepared: bool = False,
    ) -> RestOfPlan:
        """Plan from ``(H, W, 3)`` images, one per view, and ``(6,)`` tool; see `PanelNetwork.run`."""
        return self.plans(images, [task], tool[None], prepared=prepared)[0]

    def plans(
        self,
        images: Sequence[NDArray[np.uint8]],
        tasks: Sequence[str],
        tools: NDArray[np.float64],
        *,
        prepared: bool = False,
    ) -> list[RestOfPlan]:
        """Plan several tasks from the same images, with a tool each.

        Raises:
            InputError: The network gives no finite numbers.
        """
        plans, more, seen, aims, following = self._network.run(tasks, images, tools, prepared=prepared)
        if not (np.isfinite(plans).all() and np.isfinite(following).all()):
            raise InputError(f"{self.info.name} gives no finite numbers for these images")
        left, top, right, bottom = region_of(self.info.views[0], self._network.framing)
        aims = np.array([left, top]) + aims * np.array([right - left, bottom - top])
        counts = np.maximum(np.cumprod(more > LIKELY, axis=1).sum(axis=1), 1)
        return [
            RestOfPlan(
                plans[row, :count].astype(np.float64),
                int(np.argmax([*following[row, :count], following[row, -1]])),
                float(seen[row]),
                (float(aims[row, 0]), float(aims[row, 1])),
            )
            for row, count in enumerate(counts)
        ]

    def _chunk(self, observation: VlaObservation, plan: RestOfPlan) -> ActionChunk:
        count = len(plan.waypoints)
        if plan.following == count:
            return ActionChunk.still(ChunkStatus.DONE, f"past all {count} waypoints", plan.seen)
        tool, gripper = observation.T_base_tool, observation.gripper
        steps = next_steps(plan.waypoints, plan.following, tool, gripper)
        width_px, height_px = observation.frames[self.info.views[0]].size_px
        aim_px = (plan.aim[0] * width_px - 0.5, plan.aim[1] * height_px - 0.5)
        reason = f"to waypoint {plan.following + 1} of {count}"
        return ActionChunk(ChunkStatus.ACT, steps, reason, aim_px, plan.seen)
