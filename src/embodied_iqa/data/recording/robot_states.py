"""What topics of a recording say of the robot at a time: pose of the tool, gripper, joints."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.foreign.options import JOINTS
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.geometry import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.trial_reading import METADATA, stamp_ns
from embodied_iqa.imaging.images.message_geometry import is_unknown_pose, matrix_from_pose

Array = NDArray[np.float64]

POSE_TYPE: Final = "geometry_msgs/msg/PoseStamped"
JOINT_TYPE: Final = "sensor_msgs/msg/JointState"
NUMBER_TYPES: Final = ("std_msgs/msg/Float64", "std_msgs/msg/Float32")
TYPES: Final = {"tool": (POSE_TYPE,), "gripper": (*NUMBER_TYPES, JOINT_TYPE), "joints": (JOINT_TYPE,)}
"""What a topic may say, and the types that it may have."""
_GRIPPER: Final = "gripper"
_OLDEST_NS: Final = SECOND_NS // 2
_LATE_NS: Final = SECOND_NS
"""States that are recorded by so much later than their stamp are found."""


@dataclass(frozen=True, slots=True)
class StateTopics:
    """Where a recording says what of the robot; empty for nowhere.

    Attributes:
        tool: Poses of the tool in the base frame, `POSE_TYPE`.
        gripper: 0 open to 1 closed: a number, whose times are those of arrival, or joint states.
        joints: Joint states with the six joints of a UR, whatever their prefix.
        arm: Its model: without ``tool``, the pose of the tool follows from the joints.
        tool_m: From the flange to the tool, along the flange's z.
        gripper_joint: Name of the gripper in joint states.
        libero: Of a data set, where LIBERO's state begins: position (m), axis times angle (rad), fingers (m).
    """

    tool: str = ""
    gripper: str = ""
    joints: str = ""
    arm: ArmModel = ArmModel.UNSET
    tool_m: float = 0.0
    gripper_joint: str = _GRIPPER
    libero: str = ""

    @property
    def has_pose(self) -> bool:
        """Whether the pose of the tool and the gripper can be known."""
        of_arm = self.tool or (self.joints and self.arm is not ArmModel.UNSET)
        return bool(self.libero or (self.gripper and of_arm))

    def forward(self, q_rad: Array | None) -> Array | None:
        """Return the pose of the tool by the joints, ``(4, 4)`` (m); None where one is unknown."""
        if q_rad is None or self.arm is ArmModel.UNSET:
            return None
        T_base_flange = flange_pose(self.arm.geometry, q_rad)
        T_base_tool: Array = T_base_flange @ tool_along_z(self.tool_m)
        return T_base_tool

    def only(self, kinds: Collection[str]) -> Self:
        """Return the topics of these kinds alone."""
        return replace(
            self,
            tool=self.tool if "tool" in kinds else "",
            gripper=self.gripper if "gripper" in kinds else "",
            joints=self.joints if "joints" in kinds else "",
        )

    def by_kind(self) -> dict[str, str]:
        """Return the topics that there are, by what they say."""
        named = {
            "tool": self.tool,
            "gripper": self.gripper,
            "joints": self.joints,
            "libero": self.libero,
        }
        return {kind: topic for kind, topic in named.items() if topic}


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """The robot at a time; None for what is not known then.

    Attributes:
        T_base_tool: ``(4, 4)`` (m).
        gripper: 0 open to 1 closed.
        q_rad: ``(6,)`` joint angles.
        native_state: As `VlaObservation` has it.
    """

    T_base_tool: Array | None
    gripper: float | None
    q_rad: Array | None
    native_state: Array | None = None


@dataclass(slots=True)
class _Newest:
    """Values of the last second and a half, by stamp."""

    stamps_ns: list[int] = field(default_factory=list)
    values: dict[int, Any] = field(default_factory=dict)

    def add(self, at_ns: int, value: Any) -> None:
        if at_ns not in self.values:
            insort(self.stamps_ns, at_ns)
        self.values[at_ns] = value

    def at(self, time_ns: int) -> Any:
        """Return the newest value that is not after a time nor too old; None without one."""
        old = bisect_right(self.stamps_ns, time_ns - _OLDEST_NS - 1)
        for stamp in self.stamps_ns[:old]:
            del self.values[stamp]
        del self.stamps_ns[:old]
        place = bisect_right(self.stamps_ns, time_ns)
        return self.values[self.stamps_ns[place - 1]] if place else None


class RobotStates:
    """States of the robot at times that rise, read in step with them: a second and a half is in memory.

    Args:
        path: The recording.
        topics: Of the states.

    Raises:
        InputError: The recording lacks a topic, or it has another type or no valid message.
    """

    def __init__(self, path: Path, topics: StateTopics) -> None:
        self._path, self.topics = path, topics
        kinds = topics.by_kind()
        with TrialReader(path) as reader:
            for kind, topic in kinds.items():
                check_type(reader, topic, TYPES[kind])
            _require_valid(reader, topics)
        self._found = {kind: _Newest() for kind in kinds}
        self._states = self._read()
        self._ahead = next(self._states, None)

    def at(self, time_ns: int) -> RobotState:
        """Return the state at a time, nothing of it older than half a second.

        Args:
            time_ns: No earlier than that of the call before.
        """
        while self._ahead is not None and min(self._ahead[:2]) <= time_ns + _LATE_NS:
            _, at_ns, kind, value = self._ahead
            if at_ns >= time_ns - _OLDEST_NS:
                self._found[kind].add(at_ns, value)
            self._ahead = next(self._states, None)
        found = {kind: newest.at(time_ns) for kind, newest in self._found.items()}
        q_rad = found.get("joints")
        pose = found.get("tool") if self.topics.tool else self.topics.forward(q_rad)
        return RobotState(pose, found.get("gripper"), q_rad)

    def _read(self) -> Iterator[tuple[int, int, str, Any]]:
        """Yield log time, stamp, kind and value of each valid state."""
        kinds = self.topics.by_kind()
        with TrialReader(self._path) as reader:
            for message in reader.messages(tuple(dict.fromkeys(kinds.values()))):
                for at_ns, kind, value in _states(reader, message, kinds, self.topics.gripper_joint):
                    yield message.log_time_ns, at_ns, kind, value


def topics_of_trial(path: Path) -> StateTopics:
    """Return where the recording of a trial says what of the robot, as far as it does."""
    with TrialReader(path) as reader:
        joint = reader.metadata().get(METADATA, {}).get("arm_node.gripper_joint", "")
    joints = "/arm/joint_states"
    return StateTopics("/arm/tool_pose", joints, joints, gripper_joint=joint or _GRIPPER)


def states_of_trial(path: Path) -> StateTopics:
    """Return those topics of a trial that hold a valid state."""
    topics = topics_of_trial(path)
    known = list[str]()
    for kind in topics.by_kind():
        with suppress(InputError):
            RobotStates(path, topics.only([kind]))
            known.append(kind)
    return topics.only(known)


def _require_valid(reader: TrialReader, topics: StateTopics) -> None:
    """Check that each topic holds a valid state.

    Raises:
        RecordingReadError: One holds none.
    """
    for kind, topic in topics.by_kind().items():
        found = (
            _states(reader, message, {kind: topic}, topics.gripper_joint)
            for message in reader.messages([topic])
        )
        if not any(found):
            expected = f"joints {', '.join(f'{one}_joint' for one in JOINTS)}" if kind == "joints" else None
            raise RecordingReadError(
                reader.path, f"topic {topic} holds no valid state of the {kind}", expected=expected
            )


def _states(
    reader: TrialReader, message: RecordedMessage, kinds: Mapping[str, str], gripper: str
) -> list[tuple[int, str, Any]]:
    """Return what a message says: stamp, kind and value; nothing where it is not valid."""
    decoded = reader.decode(message)
    found = []
    for kind, topic in kinds.items():
        if topic != message.topic:
            continue
        at_ns = message.log_time_ns if message.type_name in NUMBER_TYPES else stamp_ns(decoded)
        value = _value(kind, message.type_name, decoded, gripper)
        if value is not None:
            found.append((at_ns, kind, value))
    return found


def _value(kind: str, type_name: str, decoded: Any, gripper: str) -> Any:
    if kind == "tool":
        return tool_pose(decoded.pose)
    if kind == "joints":
        return _angles(list(decoded.name), decoded.position)
    number = decoded.data if type_name in NUMBER_TYPES else _named(decoded, gripper)
    return float(number) if number is not None and 0.0 <= number <= 1.0 else None


def tool_pose(pose: Any) -> Array | None:
    """Return a recorded pose, ``(4, 4)`` (m); None where it is unknown or not valid."""
    if is_unknown_pose(pose):
        return None
    try:
        return matrix_from_pose(pose)
    except InputError:
        return None


def _named(joints: Any, name: str) -> float | None:
    names = list(joints.name)
    if names.count(name) != 1 or len(joints.position) != len(names):
        return None
    return float(joints.position[names.index(name)])


def _angles(names: Sequence[str], positions: Sequence[float]) -> Array | None:
    """Return the six angles of a UR, from base to flange; None where one is missing or not finite."""
    places = [[k for k, name in enumerate(names) if name.endswith(f"{joint}_joint")] for joint in JOINTS]
    if len(positions) != len(names) or any(len(found) != 1 for found in places):
        return None
    q_rad = np.array([positions[found[0]] for found in places], dtype=np.float64)
    return q_rad if np.isfinite(q_rad).all() else None


def check_type(reader: TrialReader, topic: str, kinds: tuple[str, ...]) -> None:
    """Check the type of a topic.

    Raises:
        RecordingReadError: The recording lacks the topic, or it has another type.
    """
    info = reader.topics.get(topic)
    if info is None:
        raise RecordingReadError(reader.path, "no such topic", got=topic, available=sorted(reader.topics))
    if info.type_name not in kinds:
        raise RecordingReadError(
            reader.path, f"topic {topic} is of another type", expected=" or ".join(kinds), got=info.type_name
        )
