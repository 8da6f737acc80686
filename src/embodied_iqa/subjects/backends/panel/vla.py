"""A learned decision-maker: pictures and words in, one chunk for the whole task out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.manipulation.waypoints import chunk_through, waypoints_from_array
from embodied_iqa.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

__all__ = ["LearnedPlan", "LearnedVla"]

_LIKELY: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPlan:
    """What the network says.

    Attributes:
        waypoints: ``(K, 6)`` float64, columns as in `WAYPOINT_FIELDS`.
        seen: Probability in [0, 1] that the pictures show what the task names.
        aim: Where in its first picture it looks, (u, v) in [0, 1].
    """

    waypoints: NDArray[np.float64]
    seen: float
    aim: tuple[float, float]

    @property
    def acts(self) -> bool:
        """Whether the member would move."""
        return self.seen >= _LIKELY and len(self.waypoints) > 0


class LearnedVla:
    """Looks once and acts once: after its chunk it says DONE, whatever came of it.

    It was taught on the first picture of a task only, so it does not judge its own work. Where it takes the
    object of the task for absent it says so and does not move.

    Args:
        folder: Where network and card lie.
        name: The member.
        called: What its answers call it; its name where empty.
    """

    def __init__(self, folder: Path, name: str, called: str = "") -> None:
        self._network = PanelNetwork(folder, name)
        card = self._network.card
        self._info = SubjectInfo(
            name=called or card.name,
            version=card.version,
            description=card.summary,
            views=card.views,
            simulation_only=card.simulation_only,
        )

    @property
    def info(self) -> SubjectInfo:
        """Who acts."""
        return self._info

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Choose what to do next.

        Raises:
            UsageError: A view is missing.
        """
        return self.act_batch([observation])[0]

    def act_batch(self, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
        """Choose for each observation; successive ones of the same pictures look at them once.

        Raises:
            UsageError: A view is missing.
        """
        chunks: list[ActionChunk] = []
        for (later, *_), group in groupby(observations, self._shown):
            seen = list(group)
            if later:
                done = _still(ChunkStatus.DONE, "one chunk a task: does not judge its own work")
                chunks += [done] * len(seen)
                continue
            pictures = [seen[0].frames[view].rgb for view in self._info.views]
            plans = self.plans(pictures, [observation.instruction for observation in seen])
            chunks += [_chunk(*pair, self._info.views[0]) for pair in zip(seen, plans, strict=True)]
        return chunks

    def _shown(self, observation: VlaObservation) -> tuple[int, ...]:
        """Whether it is not the first step, and which pictures there are."""
        missing = [view for view in self._info.views if view not in observation.frames]
        if missing:
            raise UsageError(
                "a view is missing", expected=", ".join(missing), available=list(observation.frames)
            )
        return (observation.step > 0, *(id(observation.frames[view].rgb) for view in self._info.views))

    def plan(self, pictures: Sequence[NDArray[np.uint8]], task: str) -> LearnedPlan:
        """Plan from bare ``(H, W, 3)`` pictures, one a view."""
        return self.plans(pictures, [task])[0]

    def plans(self, pictures: Sequence[NDArray[np.uint8]], tasks: Sequence[str]) -> list[LearnedPlan]:
        """Plan for several tasks from the same pictures."""
        plans, more, seen, aim = self._network.run(tasks, pictures)
        counts = np.cumprod(more > _LIKELY, axis=1).sum(axis=1)
        return [
            LearnedPlan(_finite(plans[row, : counts[row]]), float(seen[row]), (float(u), float(v)))
            for row, (u, v) in enumerate(aim)
        ]


def _finite(waypoints: NDArray[np.float32]) -> NDArray[np.float64]:
    return waypoints.astype(np.float64) if np.isfinite(waypoints).all() else np.empty((0, waypoints.shape[1]))


def _chunk(observation: VlaObservation, plan: LearnedPlan, view: View) -> ActionChunk:
    if not plan.acts:
        return _still(ChunkStatus.NO_TARGET, f"sees no such object (probability {plan.seen:.2f})")
    increments = chunk_through(waypoints_from_array(plan.waypoints), observation.T_base_tool)
    size = observation.frames[view].intrinsics
    aim_px = (plan.aim[0] * size.width_px - 0.5, plan.aim[1] * size.height_px - 0.5)
    reason = f"plans {len(plan.waypoints)} waypoints, sees the object with probability {plan.seen:.2f}"
    return ActionChunk(ChunkStatus.ACT, increments, reason, aim_px)


def _still(status: ChunkStatus, reason: str) -> ActionChunk:
    return ActionChunk(status, np.empty((0, 7)), reason)
