"""Random lives of an arm on a receding horizon, for tests and for `benchmarks/fuzz_joining.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from arm_bench import HOME, MS, TICK_NS
from test_robot_joining import excesses, random_chunk

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmGoal, ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.kinematics import TOOL_2F140_M, Kinematics, increments_between, tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import View

GOALS, FRAME_TICKS, TTL_NS = 6, 8, 120 * MS
OVERRUN_NS, BRAKE_NS = 70 * MS, 115 * MS
"""`LeaseOptions.overrun_s`, and the longest braking on a verdict that is not PASS, or a stop: 0.1 s from full
speed, and `ease * jerk_s` before it where the arm still speeds up."""
CONTROLLERS = [
    make_controller(options=ControllerOptions(horizon=HorizonOptions(Horizon.RECEDING, execute, rate_hz)))
    for execute, rate_hz in ((5, 15.0), (1, 5.0), (25, 50.0))
]
SINGLE = 1
OTHER_ARM = Kinematics(tool_along_z(TOOL_2F140_M), ArmModel.UR5E.geometry)


class Kind(StrEnum):
    """What the policy commands."""

    MIXED = "chunks at 15, 5 and 50 Hz"
    SINGLE = "single steps at 5 Hz"
    JOINTS = "chunks of joints at 15, 5 and 50 Hz"


@dataclass
class Life:
    """An ideal arm under a gate that now and then holds or says nothing, and a policy of any latency.

    With ``slides``, somebody pushes the speed slider to and fro.
    """

    rng: np.random.Generator
    kind: Kind = Kind.MIXED
    slides: bool = False
    now_ns: int = 1000 * MS
    q: np.ndarray = field(default_factory=HOME.copy)
    commands: list[np.ndarray] = field(default_factory=lambda: [HOME])
    outcomes: list[GoalOutcome] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)
    _until_ns: int = 0
    _ticks: int = 0

    def __post_init__(self) -> None:
        (self._slider_rng,) = self.rng.spawn(1)
        self._slider = 1.0
        one = int(self.rng.integers(len(CONTROLLERS)))
        self.controller = CONTROLLERS[SINGLE if self.kind is Kind.SINGLE else one]
        self.runner = ArmRunner(self.controller, report_rate_hz=25.0)
        self.runner.arm(self._measured())

    def play(self) -> None:
        for sequence in range(1, GOALS + 1):
            self._until_frame()
            chance, stamp_ns, q_seen = self.rng.random(), self.now_ns, self.q
            if chance < 0.1:
                self._judge(Verdict.HOLD if chance < 0.07 else Verdict.REJECT)
            for _ in range(int(self.rng.choice([1, 5, 10, 20, 40], p=[0.2, 0.3, 0.3, 0.15, 0.05]))):
                self.tick(judges=self.rng.random() < 0.9)
            if self.rng.random() < 0.02:
                self._stop()
            self.runner.take_goal(self._goal(stamp_ns, sequence, q_seen))
            for _ in range(int(self.rng.integers(0, 12))):
                self.tick(judges=True)
        self._judge(Verdict.HOLD)
        for _ in range(30):
            self.tick(judges=False)
        if np.any(self.commands[-1] != self.commands[-2]):
            self.unsafe.append("it does not come to rest")
        self.unsafe += excesses(np.array(self.commands))

    def tick(self, *, judges: bool) -> None:
        self.now_ns, self._ticks = self.now_ns + TICK_NS, self._ticks + 1
        if judges and self._ticks % FRAME_TICKS == 0:
            self._judge(Verdict.PASS)
        tick = self.runner.tick(self._measured())
        assert tick is not None
        self.outcomes += [goal.outcome for goal in tick.goals]
        if tick.stop is not None and tick.stop.stop_driver:
            self.unsafe.append(f"a command was refused by its last check: {tick.stop.reason}")
        if tick.stop is not None:
            self._until_ns = min(self._until_ns, self.now_ns + BRAKE_NS + 2 * TICK_NS)
        if tick.q_target_rad is not None:
            if np.any(tick.q_target_rad != self.q) and self.now_ns > self._until_ns:
                self.unsafe.append(f"{(self.now_ns - self._until_ns) // MS} ms without a lease")
            self.q = tick.q_target_rad
        self.commands.append(self.q)

    def _goal(self, stamp_ns: int, sequence: int, q_seen: np.ndarray) -> ArmGoal:
        if self.kind is Kind.JOINTS:
            return self._joint_goal(stamp_ns, sequence, q_seen)
        chunk = random_chunk(self.rng)
        if self.kind is Kind.SINGLE:  # a step lasts 0.2 s
            chunk = chunk[:1] * self.rng.choice([1.0, 3.0])
        if self.rng.random() < 0.01:
            chunk[0, int(self.rng.integers(7))] = self.rng.choice([np.nan, np.inf, 10.0, -10.0])
        return ArmGoal(chunk, View.WRIST, stamp_ns, sequence)

    def _joint_goal(self, stamp_ns: int, sequence: int, q_seen: np.ndarray) -> ArmGoal:
        """Return joints about a direction, some of them wild, now and then those of another arm."""
        rng, count = self.rng, int(self.rng.integers(1, 14))
        turns = rng.normal(0, 1, 6) + rng.choice([0.05, 0.5]) * rng.normal(0, 1, (count, 6))
        targets = q_seen + np.cumsum(turns * rng.choice([0.001, 0.005, 0.02]), axis=0)
        if rng.random() < 0.02:
            targets[int(rng.integers(count)), int(rng.integers(6))] += rng.choice([0.3, 3.0, 10.0])
        kinematics = OTHER_ARM if rng.random() < 0.02 else self.controller.planner.kinematics
        increments = np.zeros((count, 7))
        increments[:, :6] = increments_between(kinematics.forward(np.concatenate([q_seen[None], targets])))
        if rng.random() < 0.01:
            targets[0, int(rng.integers(6))] = rng.choice([np.nan, np.inf])
        return ArmGoal(increments, View.WRIST, stamp_ns, sequence, q_seen_rad=q_seen, joints_rad=targets)

    def _until_frame(self) -> None:
        self.tick(judges=True)
        while self._ticks % FRAME_TICKS:
            self.tick(judges=True)

    def _judge(self, verdict: Verdict) -> None:
        expires_ns = self.now_ns + TTL_NS
        self.runner.take_lease(GateLease(View.WRIST, self.now_ns, verdict, verdict, expires_ns, "blurred"))
        brakes_ns = self.now_ns + BRAKE_NS + 3 * TICK_NS  # a lease of now counts in the next tick
        if verdict is Verdict.PASS:
            self._until_ns = expires_ns + OVERRUN_NS + TICK_NS
        else:
            self._until_ns = min(self._until_ns, brakes_ns)

    def _stop(self) -> None:
        tick = self.runner.stop("stop", self._measured())
        assert tick is not None
        self._until_ns = min(self._until_ns, self.now_ns + BRAKE_NS + 2 * TICK_NS)

    def _measured(self) -> ArmState:
        if self.slides and self._slider_rng.random() < 0.05:
            self._slider = float(self._slider_rng.choice([0.0, 0.01, 0.1, 0.3, 0.7, 1.0]))
        return ArmState(self.now_ns, self.q, np.zeros(6), GripperState(0.0), speed_fraction=self._slider)
