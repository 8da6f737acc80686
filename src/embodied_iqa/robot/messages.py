"""What goes into the arm's controller at each tick, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.gate.verdict import GateLease
from embodied_iqa.images.frame import View
from embodied_iqa.robot.protocols import ArmState

__all__ = [
    "ArmGoal",
    "ArmInputs",
    "ArmMode",
    "ArmOutput",
    "ArmStatus",
    "GoalOutcome",
    "GoalReport",
    "StopCause",
    "StopEvent",
]


class ArmMode(StrEnum):
    """What the arm is doing."""

    DISARMED = "disarmed"
    """Since the start; nothing moves before it is armed."""
    IDLE = "idle"
    """Armed, waiting for a goal."""
    EXECUTING = "executing"
    """On its way."""
    HOLDING = "holding"
    """Stands, or is about to, because it may not move; the reason says why."""
    STOPPED = "stopped"
    """Disarmed by a stop; nothing moves before it is armed again."""


class GoalOutcome(StrEnum):
    """What became of a goal."""

    ACCEPTED = "accepted"
    COMPLETED = "completed"
    REFUSED = "refused"
    ABANDONED = "abandoned"


class StopCause(StrEnum):
    """Why the arm was stopped."""

    REQUESTED = "requested"
    LIMIT = "limit"
    PROTECTIVE = "protective stop"
    EMERGENCY = "emergency stop"
    CONTACT = "contact"
    STATE_LOST = "state lost"
    FOLLOWING = "following error"


@dataclass(frozen=True, slots=True, eq=False)
class ArmGoal:
    """Increments to execute.

    Attributes:
        increments: ``(K, 7)`` float64, as in `subjects.protocols.ActionChunk`: they chain onto the pose at
            which the arm stands when the goal is accepted.
        view: The camera of the frame behind the goal.
        frame_stamp_ns: That frame's stamp.
        sequence: Rises from goal to goal.
    """

    increments: NDArray[np.float64]
    view: View
    frame_stamp_ns: int
    sequence: int


@dataclass(frozen=True, slots=True)
class ArmInputs:
    """What happened since the last tick.

    Attributes:
        measured: The newest measured state, or None.
        goal: A new goal, or None.
        leases: Leases that arrived, in order of arrival.
        stop: Why to stop; empty for no stop.
        arm: Whether somebody arms, or arms again.
        lost: Why the driver knows that the arm is lost; empty where it does not.
    """

    measured: ArmState | None = None
    goal: ArmGoal | None = None
    leases: tuple[GateLease, ...] = ()
    stop: str = ""
    arm: bool = False
    lost: str = ""


@dataclass(frozen=True, slots=True)
class StopEvent:
    """The arm was stopped.

    Attributes:
        cause: What kind of cause.
        reason: In words.
        stamp_ns: When.
        stop_driver: The arm's own stop has to be called at once; else the controller brakes along the path.
    """

    cause: StopCause
    reason: str
    stamp_ns: int
    stop_driver: bool


@dataclass(frozen=True, slots=True)
class GoalReport:
    """News about a goal."""

    sequence: int
    outcome: GoalOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """What the controller does.

    Attributes:
        mode: What the arm is doing.
        reason: Why, in words; empty where all is well.
        sequence: The goal at hand, or the last one completed; -1 where there was none.
        step: Increments of that goal that were executed.
        steps: Increments of that goal.
        holds: How often that goal was held.
        tool_speed_mps: Commanded speed of the tool.
    """

    mode: ArmMode
    reason: str = ""
    sequence: int = -1
    step: int = 0
    steps: int = 0
    holds: int = 0
    tool_speed_mps: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ArmOutput:
    """What to do in this tick.

    Attributes:
        q_target_rad: ``(6,)`` joint target to stream, or None where nothing may be streamed: the driver's
            stop then ends a running stream.
        gripper_target: Where the gripper has to go, in [0, 1]; None before the first command. To be sent
            when it changes.
        status: For people and for the trial.
        stop: A stop that happened in this tick, or None.
        reports: What became of goals in this tick.
    """

    q_target_rad: NDArray[np.float64] | None
    gripper_target: float | None
    status: ArmStatus
    stop: StopEvent | None = None
    reports: tuple[GoalReport, ...] = ()
