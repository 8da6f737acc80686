"""What was done by a data set at a time, as increments: a second reference for decisions."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import ACTION
from embodied_iqa.data.lerobot.steps import Step
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.subjects.actions.adapter import LONGEST_CHUNK, to_increments
from embodied_iqa.models.subjects.actions.convention import ActionConvention, ActionKind
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.world.protocols import ChunkStatus

SUBJECT: Final = "recorded action"


class RecordedActions:
    """Actions at times that rise, read in step with them: as many steps as a chunk has are in memory.

    Args:
        dataset: The data set; its episodes follow each other without a pause.
        convention: What its actions mean.

    Attributes:
        dataset: As given.
        convention: As given.
        rate_hz: Steps a second.

    Raises:
        UsageError: There is no such convention.
        InputError: The data set has no actions, or they have too few numbers.
    """

    def __init__(self, dataset: LeRobotDataset, convention: str) -> None:
        self.dataset = dataset
        self.convention: ActionConvention = convention_of(convention)
        size, needed = dataset.info.sizes.get(ACTION, 0), self.convention.numbers
        if size < needed:
            raise InputError(
                f"the actions of {dataset.path} are not {convention}",
                expected=f"{needed} numbers: {described(self.convention)}",
                got=f"{size} in {ACTION}",
            )
        self.rate_hz = dataset.info.fps
        self._starts_ns, self._steps = dataset.starts_ns(), dataset.steps()
        self._ahead: deque[Step] = deque()

    def beside(self, chunk: ChunkRecord) -> ChunkRecord:
        """Return what was done from the frame of a decision on, for as many steps as the decision has.

        Args:
            chunk: The decision; its frame is no earlier than that of the call before.

        Raises:
            InputError: The decision has no steps, the episode ends or has no action before that many, or the
                actions do not fit the convention.
        """
        count = len(chunk.increments)
        if not 0 < count <= LONGEST_CHUNK:
            raise InputError(f"{chunk.subject} decided on no step", got=chunk.status)
        rows = self._rows(chunk.stamp_ns, count)
        increments = to_increments(
            rows, self.convention, chunk.T_base_tool, chunk.gripper, self._joints(chunk.q_rad)
        )
        return ChunkRecord(
            stamp_ns=chunk.stamp_ns,
            view=chunk.view,
            source=Source.RAW,
            sequence=chunk.sequence,
            step=chunk.step,
            status=ChunkStatus.ACT,
            increments=increments,
            reason="as recorded",
            target_px=None,
            seen=None,
            T_base_tool=chunk.T_base_tool,
            gripper=chunk.gripper,
            subject=SUBJECT,
            subject_version=self.convention.name,
            latency_ms=0.0,
        )

    def _joints(self, q_rad: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        return q_rad if self.convention.kind is ActionKind.JOINTS else None

    def _rows(self, stamp_ns: int, count: int) -> NDArray[np.float64]:
        while self._ahead and self._stamp_ns(self._ahead[0]) < stamp_ns:
            self._ahead.popleft()
        while len(self._ahead) < count and (step := next(self._steps, None)) is not None:
            if self._stamp_ns(step) >= stamp_ns:
                self._ahead.append(step)
        found = [step for step, _ in zip(self._ahead, range(count), strict=False)]
        if len(found) < count or found[-1].episode != found[0].episode:
            raise InputError(f"the episode ends before {count} actions")
        rows = [step.action for step in found if step.action is not None]
        if len(rows) < count:
            raise InputError("a step has no action")
        return np.array(rows, dtype=np.float64)

    def _stamp_ns(self, step: Step) -> int:
        return self._starts_ns[step.episode] + step.stamp_ns


def described(convention: ActionConvention) -> str:
    """Return what the numbers of an action are, in words."""
    if convention.kind is ActionKind.JOINTS:
        what = f"{convention.arms * convention.joints} joints of {convention.arm}, {convention.motion}"
    else:
        what = f"tool pose, {convention.motion}, axes of {convention.frame}, {convention.rotation}"
    return f"{what}, then the gripper"
