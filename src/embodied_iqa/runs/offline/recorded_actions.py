"""What was done at a time, as increments: a second reference for decisions."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.frames.action_rows import ActionRow, ActionRows, DatasetActions, open_actions
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.subjects.actions.adapter import LONGEST_CHUNK, to_increments
from embodied_iqa.models.subjects.actions.convention import ActionConvention, ActionKind
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.world.protocols import ChunkStatus

Array = NDArray[np.float64]

SUBJECT: Final = "recorded action"
POSES: Final = "tool-absolute"
"""What poses of a recording are."""
_LATEST_NS: Final = SECOND_NS // 2
"""An action that follows an image later was not done on it."""


class RecordedActions:
    """Actions at times that rise, read in step with them: as many steps as a chunk has are in memory.

    Args:
        source: What was done.
        convention: What its numbers mean.

    Attributes:
        source: As given.
        convention: As given.

    Raises:
        UsageError: There is no such convention.
        InputError: There are no actions, they have too few numbers, or are poses and the convention is not.
    """

    def __init__(self, source: ActionRows, convention: str) -> None:
        self.source = source
        self.convention: ActionConvention = convention_of(convention)
        needed = self.convention.numbers
        if source.width < needed or (source.is_pose and convention != POSES):
            raise InputError(
                f"the actions are not {convention}",
                expected=f"{needed} numbers: {described(self.convention)}",
                got=f"{source.width} in {source.where}" + (f", which are {POSES}" if source.is_pose else ""),
            )
        self._steps = source.rows()
        self._ahead: deque[ActionRow] = deque()

    def again(self) -> RecordedActions:
        """Return the same actions from their begin."""
        return RecordedActions(self.source, self.convention.name)

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
            raise InputError(f"{chunk.subject} decided on no step", got=str(chunk.status))
        increments = self.increments(chunk.stamp_ns, count, chunk.T_base_tool, chunk.gripper, chunk.q_rad)
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

    def increments(
        self, stamp_ns: int, count: int, T_base_tool: Array, gripper: float, q_rad: Array | None = None
    ) -> Array:
        """Return what was done from a time on, ``(count, 7)``.

        Args:
            stamp_ns: No earlier than that of the call before.
            count: Number of steps.
            T_base_tool: ``(4, 4)``, the tool at that time (m).
            gripper: At that time, 0 open to 1 closed.
            q_rad: Joints at that time, for actions of joints; None to compute them.

        Raises:
            InputError: As for `beside`.
        """
        rows = self._rows(stamp_ns, count)
        joints = q_rad if self.convention.kind is ActionKind.JOINTS else None
        return to_increments(rows, self.convention, T_base_tool, gripper, joints)

    def _rows(self, stamp_ns: int, count: int) -> Array:
        while self._ahead and self._ahead[0].stamp_ns < stamp_ns:
            self._ahead.popleft()
        while len(self._ahead) < count and (step := next(self._steps, None)) is not None:
            if step.stamp_ns >= stamp_ns:
                self._ahead.append(step)
        found = [step for step, _ in zip(self._ahead, range(count), strict=False)]
        if found and found[0].stamp_ns - stamp_ns > _LATEST_NS:
            raise InputError(f"no action within {_LATEST_NS / SECOND_NS:g} s of the image")
        if len(found) < count or found[-1].episode != found[0].episode:
            raise InputError(f"the episode ends before {count} actions")
        needed = self.convention.numbers
        rows = [step.numbers[:needed] for step in found if step.numbers is not None]
        if len(rows) < count or any(len(row) < needed for row in rows):
            raise InputError("a step has no action")
        return np.array(rows, dtype=np.float64)


def actions_of(word: str, path: Path) -> RecordedActions:
    """Return the actions of a data set or recording.

    Args:
        word: ``CONVENTION`` of a data set, ``CONVENTION=TOPIC`` or ``CONVENTION=TOPIC,GRIPPER_TOPIC`` of a
            recording.
        path: The source.

    Raises:
        UsageError: The word is of another form, or there is no such convention.
        InputError: There are no such actions.
    """
    convention, _, place = word.partition("=")
    convention_of(convention)
    if not is_lerobot(path):
        return RecordedActions(open_actions(path, place), convention)
    if place:
        raise UsageError("a data set has its actions in one place", expected="--action CONVENTION", got=word)
    return RecordedActions(DatasetActions(LeRobotDataset(path)), convention)


def described(convention: ActionConvention) -> str:
    """Return what the numbers of an action are, in words."""
    if convention.kind is ActionKind.JOINTS:
        what = f"{convention.arms * convention.joints} joints of {convention.arm}, {convention.motion}"
    else:
        what = f"tool pose, {convention.motion}, axes of {convention.frame}, {convention.rotation}"
    return f"{what}, then the gripper"
