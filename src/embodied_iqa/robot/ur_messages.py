"""What the driver of a UR arm and its worker process say to each other, one message a packet.

The worker holds the client library `ur_rtde`. Joint targets and states travel as fixed structs, requests and
replies as JSON. Nothing is pickled.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import IntFlag
from typing import Any

__all__ = [
    "FAREWELL",
    "IDLE",
    "LONGEST_MESSAGE",
    "REPLY",
    "REQUEST",
    "STATE",
    "STREAM",
    "WELCOME",
    "Reply",
    "Request",
    "UrFlags",
    "UrState",
    "pack_idle",
    "pack_stream",
    "unpack_idle",
    "unpack_stream",
]

STREAM, IDLE, REQUEST = b"S", b"N", b"C"
STATE, REPLY, WELCOME, FAREWELL = b"T", b"R", b"H", b"F"
"""The first byte of every message; the first three go to the worker, the others come from it."""

LONGEST_MESSAGE = 65536

_STREAM = struct.Struct("<d6d")
_IDLE = struct.Struct("<d")
_STATE = struct.Struct("<qqdd6d6d6d6dIIidB")
_PROTECTIVE, _EMERGENCY = 1 << 2, (1 << 5) | (1 << 6) | (1 << 7)
_PLAYING = 2
Six = tuple[float, float, float, float, float, float]


class UrFlags(IntFlag):
    """What the worker itself does.

    ARMED: joint targets are taken. MOVING: a move is under way. HALTED: the robot's program ended although
    the arm was armed.
    """

    ARMED = 1
    MOVING = 2
    HALTED = 4


@dataclass(frozen=True, slots=True)
class UrState:
    """A measured state of the arm.

    Attributes:
        arrived_ns: On this machine's monotonic clock.
        system_ns: When it arrived, system time.
        controller_s: Time stamp of the robot's controller.
        world_s: Simulated time where the robot is emulated inside a simulated world; else not finite.
        q_rad: Joint angles.
        qd_radps: Joint velocities.
        tool_pose: Pose of the tool in the base frame (m, rotation vector in rad).
        q_target_rad: Joint targets of the robot's controller.
        runtime: RTDE's runtime_state.
        safety_bits: RTDE's safety_status_bits.
        robot_mode: RTDE's robot_mode; 7 is running.
        speed_fraction: The speed slider.
        flags: What the worker does.
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

    @property
    def protective_stop(self) -> bool:
        """The robot's controller made a protective stop."""
        return bool(self.safety_bits & _PROTECTIVE)

    @property
    def emergency_stop(self) -> bool:
        """An emergency stop is in force."""
        return bool(self.safety_bits & _EMERGENCY)

    @property
    def program_runs(self) -> bool:
        """A program runs on the controller."""
        return self.runtime == _PLAYING

    def pack(self) -> bytes:
        """Return the message."""
        head = (self.arrived_ns, self.system_ns, self.controller_s, self.world_s)
        tail = (self.runtime, self.safety_bits, self.robot_mode, self.speed_fraction, self.flags)
        sixes = (*self.q_rad, *self.qd_radps, *self.tool_pose, *self.q_target_rad)
        return STATE + _STATE.pack(*head, *sixes, *tail)

    @classmethod
    def unpack(cls, message: bytes) -> UrState:
        """Read the message."""
        arrived_ns, system_ns, controller_s, world_s, *numbers = _STATE.unpack_from(message, 1)
        runtime, safety_bits, robot_mode, speed_fraction, flags = numbers[24:]
        return cls(
            arrived_ns, system_ns, controller_s, world_s,
            q_rad=_six(numbers, 0), qd_radps=_six(numbers, 6),
            tool_pose=_six(numbers, 12), q_target_rad=_six(numbers, 18),
            runtime=runtime, safety_bits=safety_bits, robot_mode=robot_mode,
            speed_fraction=speed_fraction, flags=UrFlags(flags),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """Something that the worker is to do.

    Attributes:
        number: Of the request; its reply bears the same.
        name: What.
        values: With which numbers.
        words: With which words.
    """

    number: int
    name: str
    values: tuple[float, ...] = ()
    words: dict[str, Any] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Return the message."""
        return REQUEST + json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, message: bytes) -> Request:
        """Read the message."""
        said = json.loads(message[1:])
        return cls(said["number"], said["name"], tuple(said["values"]), said["words"])


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request.

    Attributes:
        number: Of the request.
        error: Why it was not done; empty where it was.
    """

    number: int
    error: str = ""

    def pack(self) -> bytes:
        """Return the message."""
        return REPLY + json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, message: bytes) -> Reply:
        """Read the message."""
        said = json.loads(message[1:])
        return cls(said["number"], said["error"])


def pack_stream(answers_s: float, q_rad: tuple[float, ...]) -> bytes:
    """Return a joint target ``(6,)`` as a message; ``answers_s`` is the controller time that it answers."""
    return STREAM + _STREAM.pack(answers_s, *q_rad)


def unpack_stream(message: bytes) -> tuple[float, tuple[float, ...]]:
    """Read a joint target."""
    answers_s, *q_rad = _STREAM.unpack_from(message, 1)
    return answers_s, tuple(q_rad)


def pack_idle(answers_s: float = math.nan) -> bytes:
    """Return the message that there is nothing to do, but that the driver is alive."""
    return IDLE + _IDLE.pack(answers_s)


def unpack_idle(message: bytes) -> float:
    """Read it: the controller time that it answers."""
    (answers_s,) = _IDLE.unpack_from(message, 1)
    return float(answers_s)


def _six(numbers: Sequence[float], start: int) -> Six:
    a, b, c, d, e, f = numbers[start : start + 6]
    return a, b, c, d, e, f
