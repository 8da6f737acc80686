"""What the arm's controller remembers from tick to tick."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.robot.leases import LeaseBook
from embodied_iqa.robot.messages import ArmGoal, ArmMode
from embodied_iqa.robot.planning import Stage
from embodied_iqa.robot.protocols import ArmState
from embodied_iqa.robot.speed_scaling import Progress

__all__ = ["ControllerOptions", "ControllerState", "Run"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Times and tolerances of the controller.

    Attributes:
        dt_s: Period of the ticks: 0.008 for a CB3, 0.002 for an e-Series.
        max_frame_age_ns: Oldest frame on which a goal may rest.
        max_hold_ns: A goal that was held for longer is abandoned.
        lease_overrun_ns: The arm stands still at the latest this long after its lease ran out; where braking
            takes longer it starts before.
        state_timeout_ns: The arm is stopped where no new measured state came for longer.
        gripper_timeout_ns: The gripper is waited for no longer than this.
        gripper_least_ns: A gripper that reports that it holds something is believed only after this.
        gripper_tolerance: A gripper this close to its target has arrived.
    """

    dt_s: float = 0.008
    max_frame_age_ns: int = 1_500_000_000
    max_hold_ns: int = 5_000_000_000
    lease_overrun_ns: int = 70_000_000
    state_timeout_ns: int = 100_000_000
    gripper_timeout_ns: int = 2_000_000_000
    gripper_least_ns: int = 150_000_000
    gripper_tolerance: float = 0.03

    def __post_init__(self) -> None:
        if not 0.0 < self.dt_s <= 0.05:
            raise UsageError("wrong dt_s", expected="a period up to 0.05 s", got=self.dt_s)
        for name in ("max_frame_age_ns", "max_hold_ns", "state_timeout_ns", "gripper_timeout_ns"):
            if getattr(self, name) <= 0:
                raise UsageError(f"wrong {name}", expected="a positive time", got=getattr(self, name))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A goal under way.

    Attributes:
        goal: The goal.
        stages: Its plan.
        index: The stage at hand.
        progress: Where its motion is.
        gripping_since_ns: When the gripper of this stage was commanded; None before.
        held_since_ns: Since when the goal is held; None where it is not.
        holds: How often it was held.
        abandoned: Only brakes to standstill and is then forgotten.
    """

    goal: ArmGoal
    stages: tuple[Stage, ...]
    index: int = 0
    progress: Progress = field(default_factory=Progress)
    gripping_since_ns: int | None = None
    held_since_ns: int | None = None
    holds: int = 0
    abandoned: bool = False

    @property
    def stage(self) -> Stage:
        """The stage at hand."""
        return self.stages[self.index]

    @property
    def step(self) -> int:
        """Increments that were executed."""
        motion = self.stage.motion
        if motion is None:
            return self.stage.first_step
        return self.stage.first_step + int(np.searchsorted(motion.waypoint_u_s, self.progress.u_s + 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class ControllerState:
    """Everything that the controller remembers; start with ``ControllerState()``.

    Attributes:
        mode: What the arm is doing.
        reason: Why.
        book: The gate's leases.
        measured: The newest measured state.
        seen_ns: When it came.
        q_command_rad: ``(6,)``, the last command; None while disarmed.
        qd_command_radps: ``(6,)``, its velocity.
        tool_m: ``(3,)``, the tool at the last command; None while disarmed.
        gripper_target: The last gripper command, or None.
        run: The goal under way, or None.
        sequence: The goal at hand or last done; -1 at the start.
        step: Increments of it that were executed.
        steps: Increments of it.
        holds: How often it was held.
        tool_speed_mps: Commanded speed of the tool.
        floor_ns: Goals on frames that are older than this are refused.
        floor_reason: Why.
    """

    mode: ArmMode = ArmMode.DISARMED
    reason: str = "not armed yet"
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
    floor_ns: int = 0
    floor_reason: str = ""

    @property
    def is_armed(self) -> bool:
        """Whether the arm may be given goals."""
        return self.mode not in {ArmMode.DISARMED, ArmMode.STOPPED}
