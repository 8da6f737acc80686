"""A learned decision-maker: pictures and words in, one chunk for the whole task out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.subjects.panel.network import PanelNetwork
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.subjects.waypoints import chunk_through, waypoints_from_array

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
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._network = PanelNetwork(folder, name)
        card = self._network.card
        self._info = SubjectInfo(card.name, card.version, card.summary, card.views)

    @property
    def info(self) -> SubjectInfo:
        """Who acts."""
        return self._info

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Choose what to do next.

        Raises:
            UsageError: A view is missing.
        """
        missing = [view for view in self._info.views if view not in observation.frames]
        if missing:
            raise UsageError(
                "a view is missing", expected=", ".join(missing), available=list(observation.frames)
            )
        if observation.step > 0:
            return _still(ChunkStatus.DONE, "one chunk a task: does not judge its own work")
        frames = [observation.frames[view] for view in self._info.views]
        plan = self.plan([frame.rgb for frame in frames], observation.instruction)
        if not plan.acts:
            return _still(ChunkStatus.NO_TARGET, f"sees no such object (probability {plan.seen:.2f})")
        increments = chunk_through(waypoints_from_array(plan.waypoints), observation.T_base_tool)
        size = frames[0].intrinsics
        aim_px = (plan.aim[0] * size.width_px - 0.5, plan.aim[1] * size.height_px - 0.5)
        reason = f"plans {len(plan.waypoints)} waypoints, sees the object with probability {plan.seen:.2f}"
        return ActionChunk(ChunkStatus.ACT, increments, reason, aim_px)

    def plan(self, pictures: Sequence[NDArray[np.uint8]], task: str) -> LearnedPlan:
        """Plan from bare ``(H, W, 3)`` pictures, one a view."""
        plan, more, seen, aim = self._network.run(task, pictures)
        count = int(np.cumprod(more > _LIKELY).sum())
        waypoints = plan[:count].astype(np.float64)
        if not np.isfinite(waypoints).all():
            waypoints = waypoints[:0]
        return LearnedPlan(waypoints, float(seen), (float(aim[0]), float(aim[1])))


def _still(status: ChunkStatus, reason: str) -> ActionChunk:
    return ActionChunk(status, np.empty((0, 7)), reason)
