"""State of the arm's controller."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.ensembling import Predicted
from embodied_iqa.arm.robot.leases import LeaseBook
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, ArmState, StopCause
from embodied_iqa.arm.robot.planning import Plan, Segment
from embodied_iqa.arm.robot.speed_scaling import Progress

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """Execution of a goal.

    Attributes:
        goal: The goal.
        segments: Its plan.
        index: Index of the current segment.
        progress: Progress of its motion.
        gripping_since_ns: Time of the gripper command of this segment; None before.
        held_since_ns: Start of the present hold; None if the goal is not held.
        holds: Number of holds.
        abandoned: Whether the arm only brakes to standstill and then drops the goal.
        receding: Whether the next goal may continue it in motion.
        past: What this chunk and earlier ones of this motion predicted, where chunks are averaged; a chunk
            that was not accepted, such as one whose frame the gate held, is not among them.
    """

    goal: ArmGoal
    segments: tuple[Segment, ...]
    index: int = 0
    progress: Progress = field(default_factory=Progress)
    gripping_since_ns: int | None = None
    held_since_ns: int | None = None
    holds: int = 0
    abandoned: bool = False
    receding: bool = False
    past: tuple[Predicted, ...] = ()

    @property
    def segment(self) -> Segment:
        """The current segment."""
        return self.segments[self.index]

    @property
    def step(self) -> int:
        """Number of increments executed."""
        motion = self.segment.motion
        if motion is None:
            return self.segment.first_step
        return self.segment.first_step + int(np.searchsorted(motion.waypoint_u_s, self.progress.u_s + 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """A goal that is neither accepted nor refused yet.

    Attributes:
        goal: The goal.
        plan: Its plan so far.
    """

    goal: ArmGoal
    plan: Plan


@dataclass(frozen=True, eq=False)
class ControllerState:
    """State of the controller between ticks; start with ``ControllerState()``.

    Attributes:
        mode: Mode of the arm.
        reason: Reason of the mode.
        gate_holds: In mode HOLDING: because of the gate.
        cause: What stopped the arm; None unless it is stopped.
        book: The gate's leases.
        measured: The newest measured state.
        seen_ns: Its arrival.
        pace: Periods that passed from one handled state to the next, lately; 1 where none is missed. The path
            advances by one period with each.
        q_command_rad: ``(6,)``, the last command; None before the first arming.
        qd_command_radps: ``(6,)``, its velocity.
        still_q_rad: ``(6,)``, where the arm stands still away from its command; None if it follows.
        still_since_ns: Since when, by the stamps of the measured states.
        tool_m: ``(3,)``, position of the tool at the last command; None before the first arming.
        gripper_target: The last gripper command, or None.
        planning: The goal being planned, or None.
        run: The goal being executed, or None.
        sequence: Current or last goal; -1 at the start.
        step: Number of its increments executed.
        steps: Number of its increments.
        holds: Number of its holds.
        tool_speed_mps: Commanded speed of the tool.
        oldest_frame_ns: Goals on frames older than this are refused.
        oldest_frame_event: What happened at that time.
    """

    mode: ArmMode = ArmMode.DISARMED
    reason: str = "not armed yet"
    gate_holds: bool = False
    cause: StopCause | None = None
    book: LeaseBook = field(default_factory=LeaseBook)
    measured: ArmState | None = None
    seen_ns: int = 0
    pace: float = 1.0
    q_command_rad: Array | None = None
    qd_command_radps: Array = field(default_factory=lambda: np.zeros(6))
    still_q_rad: Array | None = None
    still_since_ns: int = 0
    tool_m: Array | None = None
    gripper_target: float | None = None
    planning: Planning | None = None
    run: Run | None = None
    sequence: int = -1
    step: int = 0
    steps: int = 0
    holds: int = 0
    tool_speed_mps: float = 0.0
    oldest_frame_ns: int = 0
    oldest_frame_event: str = ""

    @property
    def is_armed(self) -> bool:
        """Whether goals are accepted."""
        return self.mode not in {ArmMode.DISARMED, ArmMode.STOPPED}
