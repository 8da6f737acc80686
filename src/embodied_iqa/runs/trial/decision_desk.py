"""The questions of a run to a VLA, and which of its answers still count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.trial.deciding import DecisionRequest
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider, DeciderState

_BOTH: Final = (Source.DISTORTED, Source.RAW)
"""The arm waits for the first."""


class DecisionDesk:
    """Asks about the distorted and the raw frame of a stamp; no further question until both are answered.

    With a receding horizon the question about the raw frame, which only the scores need, does not delay the
    arm: it is asked where it can be answered before the next decision is due, and else skipped.

    Args:
        decider: When the VLA decides again.

    Attributes:
        state: State of the decider.
        dropped: Answers that came too late to count: their run was over, or the VLA was unloaded.
        skipped: Questions about raw frames that were not asked, so that the arm does not wait.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._open: set[DecisionRequest] = set()
        self.state = DeciderState()
        self.dropped = self.skipped = 0

    @property
    def is_busy(self) -> bool:
        """Whether a question waits for its answer; with a receding horizon, one of the arm."""
        if self._decider.is_receding:
            return any(request.source is Source.DISTORTED for request in self._open)
        return bool(self._open)

    @property
    def idle_ns(self) -> int:
        """For how long an idle arm has waited for a decision that lacks nothing but its images, ROS time."""
        return 0 if self.is_busy else self._decider.idle_ns(self.state)

    @property
    def is_receding(self) -> bool:
        """Whether the raw question waits for `time_for_reference`."""
        return self._decider.is_receding

    def set_task(self, task: str, from_ns: int) -> None:
        """Start a run, or with an empty task end it; answers to earlier questions no longer count."""
        self.state = self._decider.set_task(self.state, task, from_ns)
        self._open.clear()

    def forget(self) -> None:
        """Drop the answers that are still to come."""
        self._open.clear()

    def arm_seen(self, arm: ArmProgress) -> None:
        """Note a report of the arm; see `Decider.arm_seen`."""
        self.state = self._decider.arm_seen(self.state, arm)

    def came_to(self, record: ChunkRecord) -> None:
        """Note an answer that counts; see `Decider.came_to`."""
        if record.source is Source.DISTORTED:
            self.state = self._decider.came_to(
                self.state, record.view, record.stamp_ns, record.status, len(record.increments)
            )

    def rejected(self, view: View, stamp_ns: int) -> None:
        """Note that the gate rejects a frame; see `Decider.rejected`."""
        self.state = self._decider.rejected(self.state, view, stamp_ns)

    def passed(self, view: View, stamp_ns: int) -> None:
        """Note that the gate passes a frame; see `Decider.passed`."""
        self.state = self._decider.passed(self.state, view, stamp_ns)

    def time_for_reference(self, request: DecisionRequest, newest_ns: int) -> bool:
        """Return whether to ask a raw question now that the arm's is answered; where not, it is skipped.

        Args:
            request: The question.
            newest_ns: Stamp of the newest frame: the arm's answer took from the request's stamp until then.
        """
        if request not in self._open:
            return False
        fits = newest_ns + (newest_ns - request.stamp_ns) <= self.state.due_ns
        if not fits:
            self._open.discard(request)
            self.skipped += 1
        return fits

    def choose(self, stamps_ns: Sequence[int]) -> int | None:
        """Return the stamp to decide on, or None; ``stamps_ns``: of complete frames, oldest first."""
        return None if self.is_busy else self._decider.choose(self.state, stamps_ns)

    def ask(
        self,
        stamp_ns: int,
        T_base_tool: NDArray[np.float64],
        gripper: float,
        q_rad: NDArray[np.float64] | None = None,
    ) -> tuple[DecisionRequest, ...]:
        """Open the questions about a stamp; the first one is the arm's.

        Args:
            stamp_ns: Of the frames.
            T_base_tool: ``(4, 4)`` float64, the tool in the frames (m).
            gripper: 0 open to 1 closed.
            q_rad: ``(6,)`` float64, joint angles; None where they are not known.
        """
        self.state = state = self._decider.decided(self.state, stamp_ns)
        requests = tuple(
            DecisionRequest(
                stamp_ns=stamp_ns,
                source=source,
                sequence=state.sequence,
                step=state.step,
                task=state.task,
                T_base_tool=T_base_tool,
                gripper=gripper,
                q_rad=q_rad,
            )
            for source in _BOTH
        )
        self._open.update(requests)
        return requests

    def close(self, request: DecisionRequest, *, active: bool = True) -> bool:
        """Note that a question has ended; return whether its answer counts.

        Args:
            request: The question.
            active: Whether the node publishes answers now.
        """
        counts = active and request in self._open
        self._open.discard(request)
        self.dropped += not counts
        return counts

    def published(self, newest_ns: int) -> None:
        """Note that an answer was published, when ``newest_ns`` was the newest frame."""
        if not self._open:
            self.state = self._decider.answered(self.state, newest_ns)
