"""Options of the arm's controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Times and tolerances of the controller.

    Attributes:
        dt_s: Period of the ticks [s]; that of a simulated arm, 0.008. Follows from the model of a real arm:
            0.008 of a CB3, 0.002 of an e-Series.
        max_frame_age_ns: Largest age of the frame behind a goal.
        max_hold_ns: A goal held for longer is abandoned.
        state_timeout_ns: The arm is stopped if no new measured state arrives for longer.
        gripper_timeout_ns: Longest wait for the gripper.
        gripper_least_ns: A report that the gripper holds an object is ignored before this time.
        gripper_tolerance: A gripper this close to its target has arrived.
        lease: Times of the leases that it obeys.
        horizon: How much of a chunk is executed before the next one is due. Follows from vla_node.
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"lease_overrun_ns": "lease.overrun_s"}

    dt_s: float = ranged(0.008, 0.008, 0.05)
    max_frame_age_ns: int = 3 * SECOND_NS // 2
    max_hold_ns: int = 5 * SECOND_NS
    state_timeout_ns: int = 100 * MILLISECOND_NS
    gripper_timeout_ns: int = 2 * SECOND_NS
    gripper_least_ns: int = 150 * MILLISECOND_NS
    gripper_tolerance: float = 0.03
    lease: LeaseOptions = field(default_factory=LeaseOptions)
    horizon: HorizonOptions = field(default_factory=HorizonOptions)

    def __post_init__(self) -> None:
        if not 0.0 < self.dt_s <= 0.05:
            raise UsageError("wrong dt_s", expected="a period up to 0.05 s", got=self.dt_s)
        for name in ("max_frame_age_ns", "max_hold_ns", "state_timeout_ns", "gripper_timeout_ns"):
            if getattr(self, name) <= 0:
                raise UsageError(f"wrong {name}", expected="a positive time", got=getattr(self, name))
        wait_ns, remember_ns = self.lease.wait_ns, self.lease.remember_ns
        if not wait_ns <= self.max_frame_age_ns <= remember_ns:
            raise UsageError(
                "wrong max_frame_age_ns: a goal neither waits for longer nor outlives its verdict",
                expected=f"{wait_ns} (lease.wait_s) to {remember_ns} (lease.remember_s)",
                got=self.max_frame_age_ns,
            )
