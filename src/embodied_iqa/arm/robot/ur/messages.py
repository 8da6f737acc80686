"""Messages between the driver of a UR arm and its worker process, one message per packet.

The worker holds the client library `ur_rtde`. Joint targets and states are packed as structs, requests and
replies as JSON.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict, dataclass
from enum import Enum, IntFlag, StrEnum
from typing import Any

ANSWER, REQUEST = b"A", b"C"
STATE, REPLY, NOTE = b"T", b"R", b"N"
FAREWELL = b"F"
"""First byte of each message: two kinds to the worker, four from it and those of `Refusal`.

The worker ends after a refusal, and after FAREWELL for any other reason.
"""

LONGEST_MESSAGE = 65536

_ANSWER = struct.Struct("<d6d")
_STATE = struct.Struct("<qqdd6d6d6d6dIIidBdI")
_SAFETY_WORDS = (
    "normal mode", "reduced mode", "protective stopped", "recovery mode", "safeguard stopped",
    "system emergency stopped", "robot emergency stopped", "emergency stopped", "violation", "fault",
    "stopped due to safety",
)  # fmt: skip
"""Bits of RTDE's safety_status_bits, as the RTDE guide of Universal Robots names them."""
_PROTECTIVE = (1 << 2) | (1 << 4) | (1 << 8) | (1 << 9)
_EMERGENCY = (1 << 5) | (1 << 6) | (1 << 7)
_MODE_WORDS = {
    -1: "no controller", 0: "disconnected", 1: "confirm safety", 2: "booting", 3: "power off",
    4: "power on", 5: "idle, brakes on", 6: "backdrive", 8: "updating firmware",
}  # fmt: skip
"""RTDE's robot_mode, but for running."""
RUNNING_MODE = 7
Six = tuple[float, float, float, float, float, float]


def why_no_power(robot_mode: int) -> str:
    """Return why a robot in an RTDE robot_mode cannot move; empty where it is running."""
    if robot_mode == RUNNING_MODE:
        return ""
    words = _MODE_WORDS.get(robot_mode, f"robot mode {robot_mode}")
    return f"the robot is not running ({words}): power on, release the brakes"


def words_of_safety(bits: int) -> str:
    """Return RTDE's safety_status_bits in the robot's own words."""
    return ", ".join(word for bit, word in enumerate(_SAFETY_WORDS) if bits >> bit & 1)


def safety_stop(bits: int) -> str:
    """Return the safety stop of RTDE's safety_status_bits in words; empty without one."""
    if bits & _EMERGENCY:
        return f"the robot made an emergency stop ({words_of_safety(bits)})"
    return f"the robot made a protective stop ({words_of_safety(bits)})" if bits & _PROTECTIVE else ""


class Refusal(Enum):
    """The check that an arm has not passed, as the first byte of the worker's last message."""

    ANOTHER_ARM = b"W"
    """Its controller is of another generation or model, whatever is done at its pendant."""
    NO_POSE = b"P"
    """The controller does not report where the arm is."""
    GEOMETRY = b"X"
    """The arm is not where the kinematics of the expected one have it."""
    SET_VALUES = b"V"
    """Another tool centre point or payload is set at the controller."""

    @property
    def may_pass(self) -> bool:
        """Whether it can become right while the same controller stays."""
        return self is not Refusal.ANOTHER_ARM


class Command(StrEnum):
    """Requests that the worker carries out."""

    REARM = "rearm"
    STOP = "stop"
    MOVE_JOINTS = "move_joints"
    MOVE_LINE = "move_line"
    SPEED_SLIDER = "speed_slider"
    UNLOCK = "unlock"


class UrFlags(IntFlag):
    """State of the worker.

    ARMED: joint targets are accepted. HALTED: the robot's program ended while the arm was armed; the first
    state that shows its end has neither, because its cause may come with the next. WATCHDOG: it ended because
    the driver was silent.
    """

    ARMED = 1
    HALTED = 4
    WATCHDOG = 8


@dataclass(frozen=True, slots=True)
class UrState:
    """A measured state of the arm.

    Attributes:
        arrived_ns: Arrival on this machine's monotonic clock.
        system_ns: Arrival in system time.
        controller_s: Time stamp of the robot's controller.
        world_s: Simulated time if the robot is emulated inside a simulated world; else not finite.
        q_rad: Joint angles.
        qd_radps: Joint velocities.
        tool_pose: Pose of the tool in the base frame (m, rotation vector in rad).
        q_target_rad: Joint targets of the robot's controller.
        runtime: RTDE's runtime_state.
        safety_bits: RTDE's safety_status_bits.
        robot_mode: RTDE's robot_mode; 7 is running.
        speed_fraction: The speed slider.
        flags: State of the worker.
        silence_s: Longest silence of the driver since the arm was armed, on the controller's clock.
        near_misses: How often the driver was silent for more than half of the time that the watchdog allows.
    """

    arrived_ns: int
    system_ns: int
    controller_s: float
    world_s: float
    q_rad: Six
    qd_radps: Six
    tool_pose: Six
    q_target_rad: Six
    runtime: int
    safety_bits: int
    robot_mode: int
    speed_fraction: float
    flags: UrFlags
    silence_s: float = 0.0
    near_misses: int = 0

    @property
    def protective_stop(self) -> bool:
        """Whether the robot's controller made a protective or safeguard stop, or found a fault."""
        return bool(self.safety_bits & _PROTECTIVE)

    @property
    def emergency_stop(self) -> bool:
        """Whether an emergency stop is active."""
        return bool(self.safety_bits & _EMERGENCY)

    def pack(self) -> bytes:
        """Return the message."""
        sixes = (*self.q_rad, *self.qd_radps, *self.tool_pose, *self.q_target_rad)
        return STATE + _STATE.pack(
            self.arrived_ns, self.system_ns, self.controller_s, self.world_s, *sixes,
            self.runtime, self.safety_bits, self.robot_mode, self.speed_fraction, self.flags,
            self.silence_s, self.near_misses,
        )  # fmt: skip

    @classmethod
    def unpack(cls, message: bytes) -> UrState:
        """Read the message."""
        numbers = _STATE.unpack_from(message, 1)
        sixes = [tuple(numbers[start : start + 6]) for start in (4, 10, 16, 22)]
        fields: tuple[Any, ...] = (*numbers[:4], *sixes, *numbers[28:32], UrFlags(numbers[32]), *numbers[33:])
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class Answer:
    """The driver's answer to a state, which also keeps the robot's watchdog quiet.

    Attributes:
        answered_s: Controller time of the state; not finite before the first state.
        q_rad: ``(6,)`` joint target, or None.
    """

    answered_s: float
    q_rad: tuple[float, ...] | None = None

    def pack(self) -> bytes:
        """Return the message."""
        return ANSWER + _ANSWER.pack(self.answered_s, *(self.q_rad or (math.nan,) * 6))

    @classmethod
    def unpack(cls, message: bytes) -> Answer:
        """Read the message."""
        answered_s, *q_rad = _ANSWER.unpack_from(message, 1)
        return cls(answered_s, None if math.isnan(q_rad[0]) else tuple(q_rad))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the worker.

    Attributes:
        number: Number of the request, repeated in its reply.
        command: What to do.
        values: Arguments of the command.
    """

    number: int
    command: Command
    values: tuple[float, ...] = ()

    def pack(self) -> bytes:
        """Return the message."""
        return REQUEST + json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, message: bytes) -> Request:
        """Read the message."""
        fields = json.loads(message[1:])
        return cls(fields["number"], Command(fields["command"]), tuple(fields["values"]))


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of a request.

    Attributes:
        number: Number of the request.
        error: Why it failed; empty for success.
    """

    number: int
    error: str = ""

    def pack(self) -> bytes:
        """Return the message."""
        return REPLY + json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, message: bytes) -> Reply:
        """Read the message."""
        return cls(**json.loads(message[1:]))
