"""State and options of the arm's controller."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.robot.leases import LeaseBook
from embodied_iqa.robot.messages import ArmGoal, ArmMode, ArmState, StopCause
from embodied_iqa.robot.planning import Segment
from embodied_iqa.robot.speed_scaling import Progress
from embodied_iqa.units import MILLISECOND_NS, SECOND_NS

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Times and tolerances of the controller.

    Attributes:
        dt_s: Period of the ticks: 0.008 for a CB3, 0.002 for an e-Series.
        max_frame_age_ns: Largest age of the frame behind a goal.
        max_hold_ns: A goal held for longer is abandoned.
        lease_overrun_ns: Latest standstill after the end of the lease; if braking takes longer, it starts
            earlier.
        state_timeout_ns: The arm is stopped if no new measured state arrives for longer.
        gripper_timeout_ns: Longest wait for the gripper.
        gripper_least_ns: A report that the gripper holds an object is ignored before this time.
        gripper_tolerance: A gripper this close to its target has arrived.
    """

    dt_s: float = 0.008
    max_frame_age_ns: int = 3 * SECOND_NS // 2
    max_hold_ns: int = 5 * SECOND_NS
    lease_overrun_ns: int = 70 * MILLISECOND_NS
    state_timeout_ns: int = 100 * MILLISECOND_NS
    gripper_timeout_ns: int = 2 * SECOND_NS
    gripper_least_ns: int = 150 * MILLISECOND_NS
    gripper_tolerance: float = 0.03

    def __post_init__(self) -> None:
        if not 0.0 < self.dt_s <= 0.05:
            raise UsageError("wrong dt_s", expected="a period up to 0.05 s", got=self.dt_s)
        for name in ("max_frame_age_ns", "max_hold_ns", "state_timeout_ns", "gripper_timeout_ns"):
            if getattr(self, name) <= 0:
                raise UsageError(f"wrong {name}", expected="a positive time", got=getattr(self, name))


@dataclass(frozen=True, slots=True, eq=False)
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
    """

    goal: ArmGoal
    segments: tuple[Segment, ...]
    index: int = 0
    progress: Progress = field(default_factory=Progress)
    gripping_since_ns: int | None = None
    held_since_ns: int | None = None
    holds: int = 0
    abandoned: bool = False

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
        q_command_rad: ``(6,)``, the last command; None before the first arming.
        qd_command_radps: ``(6,)``, its velocity.
        tool_m: ``(3,)``, position of the tool at the last command; None before the first arming.
        gripper_target: The last gripper command, or None.
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
    q_command_rad: Array | None = None
    qd_command_radps: Array = field(default_factory=lambda: np.zeros(6))
    tool_m: Array | None = None
    gripper_target: float | None = None
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
