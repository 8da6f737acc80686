"""Random sequences of chunks, verdicts and stops on a receding horizon: no command is unsafe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from arm_bench import HOME, MS, TICK_NS
from test_robot_joining import assert_within_limits, random_chunk

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmGoal, ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

FEW = (*range(60), 5730, 6132)
"""The last two are stopped while the arm speeds up, where it brakes for longest."""
MANY = range(int(os.environ.get("EMBODIED_IQA_FUZZ_SEQUENCES", "2000")))
"""About a minute, within the limit of a test beside busy processes too; more: see CONTRIBUTING.md."""
GOALS, FRAME_TICKS, TTL_NS = 6, 8, 120 * MS
OVERRUN_NS, BRAKE_NS = 70 * MS, 100 * MS
"""`LeaseOptions.overrun_s`, and the longest braking on a verdict that is not PASS, or a stop."""
CONTROLLERS = [
    make_controller(options=ControllerOptions(horizon=HorizonOptions(Horizon.RECEDING, execute, rate_hz)))
    for execute, rate_hz in ((5, 15.0), (1, 5.0), (25, 50.0))
]


@dataclass
class Life:
    """An ideal arm under a gate that now and then holds or says nothing, and a policy of any latency."""

    rng: np.random.Generator
    now_ns: int = 1000 * MS
    q: np.ndarray = field(default_factory=HOME.copy)
    commands: list[np.ndarray] = field(default_factory=lambda: [HOME])
    outcomes: list[GoalOutcome] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)
    _until_ns: int = 0
    _ticks: int = 0

    def __post_init__(self) -> None:
        self.controller = CONTROLLERS[int(self.rng.integers(len(CONTROLLERS)))]
        self.runner = ArmRunner(self.controller, report_rate_hz=25.0)
        self.runner.arm(self._measured())

    def play(self) -> None:
        for sequence in range(1, GOALS + 1):
            self._until_frame()
            chance, stamp_ns = self.rng.random(), self.now_ns
            if chance < 0.1:
                self._judge(Verdict.HOLD if chance < 0.07 else Verdict.REJECT)
            for _ in range(int(self.rng.choice([1, 5, 10, 20, 40], p=[0.2, 0.3, 0.3, 0.15, 0.05]))):
                self.tick(judges=self.rng.random() < 0.9)
            if self.rng.random() < 0.02:
                self._stop()
            chunk = random_chunk(self.rng)
            if self.rng.random() < 0.01:
                chunk[0, int(self.rng.integers(7))] = self.rng.choice([np.nan, np.inf, 10.0, -10.0])
            self.runner.take_goal(ArmGoal(chunk, View.WRIST, stamp_ns, sequence))
            for _ in range(int(self.rng.integers(0, 12))):
                self.tick(judges=True)
        self._judge(Verdict.HOLD)
        for _ in range(30):
            self.tick(judges=False)
        if np.any(self.commands[-1] != self.commands[-2]):
            self.unsafe.append("it does not come to rest")

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
        return ArmState(self.now_ns, self.q, np.zeros(6), GripperState(0.0))


@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.stress)], ids=len)
def test_no_command_of_random_sequences_is_unsafe(seeds: Sequence[int]) -> None:
    outcomes = dict.fromkeys(GoalOutcome, 0)
    for seed in seeds:
        sequence = Life(np.random.default_rng(seed))
        sequence.play()
        assert not sequence.unsafe, (seed, sequence.unsafe)
        try:
            assert_within_limits(np.array(sequence.commands))
        except AssertionError as error:
            error.add_note(f"sequence {seed}")
            raise
        for outcome in sequence.outcomes:
            outcomes[outcome] += 1
    assert outcomes[GoalOutcome.ACCEPTED] > 2 * len(seeds), outcomes
    assert outcomes[GoalOutcome.REFUSED] > len(seeds) // 2, outcomes
