"""An ideal arm and gate around the controller, for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from embodied_iqa.arm.robot.controller import ArmController, make_controller
from embodied_iqa.arm.robot.messages import ArmGoal, ArmInputs, ArmMode, ArmOutput, ArmState, GripperState
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
MS = 1_000_000
TICK_NS = 8 * MS
FRAME_NS = 32 * MS
TTL_NS = 120 * MS


@dataclass
class Bench:
    """Ticks the controller; the arm is at the command of the previous tick."""

    controller: ArmController = field(default_factory=make_controller)
    now_ns: int = 10_000 * MS
    state: ControllerState = field(default_factory=ControllerState)
    q: np.ndarray = field(default_factory=HOME.copy)
    grip: GripperState = field(default_factory=lambda: GripperState(0.0))
    gate: bool = True
    measuring: bool = True
    faults: dict = field(default_factory=dict)
    outputs: list[ArmOutput] = field(default_factory=list)
    commands: list[np.ndarray] = field(default_factory=list)

    @property
    def tick_ns(self) -> int:
        return round(self.controller.options.dt_s * 1e9)

    def lease(
        self, verdict: Verdict = Verdict.PASS, *, stamp_ns: int | None = None, ttl_ns: int = TTL_NS
    ) -> GateLease:
        stamp = self.now_ns if stamp_ns is None else stamp_ns
        return GateLease(
            View.WRIST, stamp, verdict, verdict, self.now_ns + ttl_ns, "" if verdict == 0 else "blurred"
        )

    def goal(self, increments: np.ndarray, sequence: int = 1, age_ns: int = 0) -> ArmGoal:
        return ArmGoal(np.asarray(increments, dtype=np.float64), View.WRIST, self.now_ns - age_ns, sequence)

    def measured(self) -> ArmState | None:
        if not self.measuring:
            return None
        return replace(ArmState(self.now_ns, self.q.copy(), np.zeros(6), self.grip), **self.faults)

    def tick(
        self,
        *,
        leases: tuple[GateLease, ...] | None = None,
        goal: ArmGoal | None = None,
        stop: str = "",
        arm: bool = False,
    ) -> ArmOutput:
        self.now_ns += self.tick_ns
        if leases is None:
            due = self.gate and self.now_ns % FRAME_NS < self.tick_ns
            leases = (self.lease(),) if due else ()
        self.state, output = self.controller.step(
            self.state, ArmInputs(self.measured(), goal, leases, stop, arm), self.now_ns
        )
        if output.q_target_rad is not None:
            self.q = output.q_target_rad.copy()
        if output.gripper_target is not None:
            self.grip = GripperState(output.gripper_target)
        self.outputs.append(output)
        self.commands.append(self.q.copy())
        return output

    def armed(self) -> Bench:
        self.tick(arm=True)
        return self

    def send(self, increments: np.ndarray, sequence: int = 1) -> ArmOutput:
        """Send a goal on a frame that is leased in the same tick."""
        self.now_ns += self.tick_ns
        goal, lease = self.goal(increments, sequence), self.lease()
        self.now_ns -= self.tick_ns
        return self.tick(goal=goal, leases=(lease,))

    def run(self, ticks: int, until: ArmMode | None = None) -> int:
        for count in range(ticks):
            if self.tick().status.mode is until:
                return count + 1
        return ticks

    def tool(self) -> np.ndarray:
        return self.controller.planner.kinematics.forward(self.q)

    def speeds(self) -> np.ndarray:
        return np.diff(np.array(self.commands), axis=0) / self.controller.options.dt_s


def straight(
    dx: float = 0.0, dy: float = 0.0, dz: float = 0.0, count: int = 1, grip: float = 0.0
) -> np.ndarray:
    """Equal increments that add up to a displacement in the tool frame."""
    increments = np.zeros((count, 7))
    increments[:, :3] = np.array([dx, dy, dz]) / count
    increments[:, 6] = grip
    return increments
