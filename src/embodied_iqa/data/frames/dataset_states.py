"""States of the robot in a LeRobot data set, where the user says which of its numbers mean what."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics.se3 import rotvec_to_rotation
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import STATE
from embodied_iqa.data.lerobot.steps import Step
from embodied_iqa.data.recording.robot_states import RobotState, StateTopics
from embodied_iqa.world.libero.suite_world import pose_and_gripper_of

_PLACE: Final = re.compile(re.escape(STATE) + r":(\d{1,4})")
_LENGTHS: Final = {"tool": 6, "gripper": 1, "joints": 6, "libero": 8}
"""Numbers of a pose (x, y, z in m, rotation vector in rad, in the base frame), gripper, joints (rad), all."""


class DatasetStates:
    """States at times that rise, read in step with them: those of the newest step.

    Args:
        dataset: The data set; its episodes follow each other without a pause.
        topics: ``observation.state:N`` for what begins with its number N.

    Attributes:
        topics: As given.

    Raises:
        UsageError: A place is of another form.
        InputError: The states have too few numbers.
    """

    def __init__(self, dataset: LeRobotDataset, topics: StateTopics) -> None:
        self.topics = topics
        size = dataset.info.sizes.get(STATE, 0)
        self._places: dict[str, slice] = {}
        for kind, topic in topics.by_kind().items():
            match = _PLACE.fullmatch(topic)
            if match is None:
                raise UsageError(f"wrong --state {kind}", expected=f"such as {kind}={STATE}:0", got=topic)
            begin = int(match[1])
            self._places[kind] = slice(begin, begin + _LENGTHS[kind])
            if self._places[kind].stop > size:
                expected = f"{_LENGTHS[kind]} numbers from number {begin}"
                raise InputError(
                    f"{dataset.path} has no {kind} there", expected=expected, got=f"{size} in {STATE}"
                )
        # what is damaged has no images either, and is reported with them
        steps = (step for step in dataset.listed_steps() if isinstance(step, Step))
        self._starts_ns, self._steps = dataset.starts_ns(), steps
        self._newest: Step | None = None
        self._ahead = next(self._steps, None)

    def at(self, time_ns: int) -> RobotState:
        """Return the state at a time; it is that of the newest step.

        Args:
            time_ns: No earlier than that of the call before.

        Raises:
            InputError: The data set is damaged.
        """
        while self._ahead is not None and self._stamp_ns(self._ahead) <= time_ns:
            self._newest, self._ahead = self._ahead, next(self._steps, None)
        state = None if self._newest is None else self._newest.state
        numbers = {} if state is None else {kind: np.array(state[at]) for kind, at in self._places.items()}
        if "libero" in numbers:
            return RobotState(*pose_and_gripper_of(numbers["libero"]), None, numbers["libero"])
        q_rad = numbers.get("joints")
        pose = _matrix(numbers["tool"]) if "tool" in numbers else self.topics.forward(q_rad)
        gripper = float(numbers["gripper"][0]) if "gripper" in numbers else None
        is_opening = gripper is not None and 0.0 <= gripper <= 1.0
        return RobotState(pose, gripper if is_opening else None, q_rad)

    def _stamp_ns(self, step: Step) -> int:
        return self._starts_ns[step.episode] + step.stamp_ns


def _matrix(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    T = np.eye(4)
    T[:3, 3], T[:3, :3] = numbers[:3], rotvec_to_rotation(numbers[3:])
    return T
