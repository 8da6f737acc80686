"""Measured states, inputs and outputs of the arm's controller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateLease
from embodied_iqa.imaging.images.frame import View


class ArmMode(StrEnum):
    """Mode of the arm."""

    DISARMED = "disarmed"
    """Not armed since the start; nothing moves."""
    IDLE = "idle"
    """Armed, waiting for a goal."""
    EXECUTING = "executing"
    """Executing a goal."""
    HOLDING = "holding"
    """Braking or standing still because it may not move; the reason says why."""
    STOPPED = "stopped"
    """Disarmed by a stop; nothing moves until it is armed again."""


class GoalOutcome(StrEnum):
    """Outcome of a goal."""

    ACCEPTED = "accepted"
    COMPLETED = "completed"
    REFUSED = "refused"
    ABANDONED = "abandoned"


class StopCause(StrEnum):
    """Cause of a stop."""

    REQUESTED = "requested"
    LIMIT = "limit"
    PROTECTIVE = "protective stop"
    EMERGENCY = "emergency stop"
    CONTACT = "contact"
    FOLLOWING = "following error"
    STATE_LOST = "state lost"
    """No measured state arrives, although the connection is not known to be lost."""
    CONNECTION_LOST = "connection lost"
    WATCHDOG = "watchdog"
    """The robot's program stopped the arm because the driver was silent."""
    PROGRAM_ENDED = "program ended"
    """The robot's program ended otherwise, for example at the pendant."""
    POWER_LOST = "power lost"
    """The robot has no power, or its brakes are not released."""

    @property
    def is_breakdown(self) -> bool:
        """Whether the equipment failed: the run says nothing about its policy."""
        breakdowns = self.STATE_LOST, self.CONNECTION_LOST, self.WATCHDOG, self.PROGRAM_ENDED, self.POWER_LOST
        return self in breakdowns

    @property
    def lasts(self) -> bool:
        """Whether the robot reports it, armed or not, until somebody releases it at the robot."""
        return self in {self.PROTECTIVE, self.EMERGENCY, self.POWER_LOST}

    @property
    def release(self) -> str:
        """What somebody does at the robot before it can be armed again; empty for nothing, or not known."""
        return _RELEASES.get(self, "")

    @property
    def is_emergency(self) -> bool:
        """Whether the run counts as an emergency stop."""
        return self is not self.REQUESTED and not self.is_breakdown


_RELEASES: Final = {
    StopCause.PROTECTIVE: "unlock the protective stop at the pendant (a safeguard stop: reset it)",
    StopCause.EMERGENCY: "release the emergency stop, power on and release the brakes",
    StopCause.POWER_LOST: "power on and release the brakes",
}


@dataclass(frozen=True, slots=True)
class RobotFault:
    """Why the robot's controller does not follow joint targets.

    Attributes:
        cause: Kind of fault.
        reason: Description, with the words of the robot where it has some.
    """

    cause: StopCause
    reason: str


@dataclass(frozen=True, slots=True)
class GripperState:
    """A measured gripper.

    Attributes:
        position: Opening in [0, 1]: 0 open, 1 closed.
        moving: Whether the fingers are moving.
        object_held: Whether an object stopped the fingers before their target.
    """

    position: float
    moving: bool = False
    object_held: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArmState:
    """A measured arm.

    Attributes:
        stamp_ns: Time of measurement, ROS time; a state with an old stamp is ignored.
        q_rad: ``(6,)`` float64, joint angles.
        qd_radps: ``(6,)`` float64, joint velocities.
        gripper: State of the gripper.
        fault: Why the robot's controller stopped the arm; None if it did not.
        contact: Why the arm assumes contact; empty if it does not.
        speed_fraction: The speed slider at the robot, 0 to 1: the fraction of its pace at which the arm moves
            along its path. A controller's own slider does not slow joint targets that are streamed to it.
    """

    stamp_ns: int
    q_rad: NDArray[np.float64]
    qd_radps: NDArray[np.float64]
    gripper: GripperState
    fault: RobotFault | None = None
    contact: str = ""
    speed_fraction: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class ArmGoal:
    """Increments to execute.

    Attributes:
        increments: ``(K, 7)`` float64, as in `world.protocols.ActionChunk`, chained onto the pose of the
            arm at acceptance.
        view: Camera of the frame behind the goal.
        frame_stamp_ns: Stamp of that frame.
        sequence: Increases from goal to goal.
        q_frame_rad: ``(6,)``, the commanded joints at that stamp, for a receding horizon: its steps are tied
            to time and chained onto that pose; None where they are not known, and for whole goals.
        q_seen_rad: ``(6,)``, the joints that the policy saw, where it commands joints; else None.
        joints_rad: ``(K, 6)``, joints after each step, where it commands joints; else None. They are moved
            instead of the tool along the increments.
        whole: Executed to its end with a stop there, also where the horizon recedes; no goal continues it.
        other_frames: Cameras and stamps of the other frames that the goal was decided on.
    """

    increments: NDArray[np.float64]
    view: View
    frame_stamp_ns: int
    sequence: int
    q_frame_rad: NDArray[np.float64] | None = None
    q_seen_rad: NDArray[np.float64] | None = None
    joints_rad: NDArray[np.float64] | None = None
    whole: bool = False
    other_frames: tuple[tuple[View, int], ...] = ()

    @property
    def frames(self) -> tuple[tuple[View, int], ...]:
        """Cameras and stamps of all frames behind the goal: the gate has to pass each."""
        return ((self.view, self.frame_stamp_ns), *self.other_frames)


@dataclass(frozen=True, slots=True)
class ArmInputs:
    """Inputs since the last tick.

    Attributes:
        measured: The newest measured state, or None.
        goal: A new goal, or None.
        leases: New leases in order of arrival.
        stop: Reason of a requested stop; empty for none.
        arm: Whether arming is requested.
        lost: Why the driver considers the arm lost; empty otherwise.
    """

    measured: ArmState | None = None
    goal: ArmGoal | None = None
    leases: tuple[GateLease, ...] = ()
    stop: str = ""
    arm: bool = False
    lost: str = ""


@dataclass(frozen=True, slots=True)
class StopEvent:
    """A stop of the arm.

    Attributes:
        cause: Cause of the stop.
        reason: Description.
        stamp_ns: Time of the stop.
        stop_driver: Whether the driver must stop the arm at once; else the controller brakes along the path.
    """

    cause: StopCause
    reason: str
    stamp_ns: int
    stop_driver: bool


@dataclass(frozen=True, slots=True)
class GoalReport:
    """Report on a goal."""

    sequence: int
    outcome: GoalOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """Status of the controller.

    Attributes:
        mode: Mode of the arm.
        reason: Reason of the mode; empty in normal operation.
        cause: What stopped the arm; None unless it is stopped.
        sequence: Current or last goal; -1 for none.
        step: Number of its increments executed.
        steps: Number of its increments.
        holds: Number of its holds.
        held_by_gate: The arm does not move because the gate does not let it.
        tool_speed_mps: Commanded speed of the tool.
    """

    mode: ArmMode
    reason: str = ""
    cause: StopCause | None = None
    sequence: int = -1
    step: int = 0
    steps: int = 0
    holds: int = 0
    held_by_gate: bool = False
    tool_speed_mps: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ArmOutput:
    """Output of one tick.

    Attributes:
        q_target_rad: ``(6,)`` joint target to stream. None if nothing may be streamed; the driver's stop then
            ends a running stream.
        gripper_target: Gripper target in [0, 1], to be sent when it changes; None before the first command.
        status: Status of the controller.
        stop: A stop in this tick, or None.
        reports: Reports on goals in this tick.
    """

    q_target_rad: NDArray[np.float64] | None
    gripper_target: float | None
    status: ArmStatus
    stop: StopEvent | None = None
    reports: tuple[GoalReport, ...] = ()
