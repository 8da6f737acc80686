"""What joining chunks costs and how even it is: ticks beside SciPy's spline, motion beside whole chunks.

The policy answers 80 ms after its frame, the gate 16 ms after it. Each tick is timed with random chunks; how
even the motion is, with chunks that all say the same: the slowest speed of the tool between chunks, of its
steady one, and the largest jerk of a joint, of what its limits allow along a curve and while braking on it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from hold_results import write_page
from rich.console import Console
from rich.table import Table
from scipy.interpolate import CubicSpline

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot import joining_kernels
from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmGoal, ArmState, GoalOutcome, GripperState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View

HOME = np.array([-0.27638, -1.76327, 1.43628, -1.24381, -np.pi / 2, -0.27638])
ARMS_HZ = {"CB3": 125, "e-Series": 500}
POLICIES = {
    "10 at 15 Hz": (10, 5, 15.0),
    "1 at 5 Hz": (1, 1, 5.0),
    "50 at 50 Hz": (50, 25, 50.0),
}
LATENCY_S = 0.08
STEADY_MPS, EVEN_S = 0.08, 2.8
CAMERA_NS, JUDGED_NS = SECOND_NS // 15, SECOND_NS // 1000 * 16
HOMESICK_M = 0.05
FRAME_NS, LEASE_NS = SECOND_NS // 30, SECOND_NS // 5


@dataclass
class Ticks:
    """CPU seconds of ticks; on a busy machine those of a clock say what others did."""

    plain: list[float] = field(default_factory=list)
    joining: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Evenness:
    """How even a motion is whose chunks all say the same.

    Attributes:
        slowest: Least speed of the tool from the second chunk on, of its steady speed.
        fastest: Its greatest speed, likewise.
        jerk: Greatest jerk of a joint, of the greatest allowed one.
    """

    slowest: float
    fastest: float
    jerk: float

    @classmethod
    def of(cls, commands: np.ndarray, rate_hz: int) -> Evenness:
        """Measure joint commands ``(N, 6)``."""
        planner = make_controller().planner
        tool = planner.kinematics.forward(commands)[:, :3, 3]
        speeds = np.linalg.norm(np.diff(tool, axis=0), axis=1) * rate_hz / STEADY_MPS
        allowed = 2.0 * planner.limits.joint_acceleration_radps2 / planner.timing.jerk_s
        moving = speeds[int(1.0 * rate_hz) :]
        jerk = float(np.abs(np.diff(commands, 3, axis=0)).max()) * rate_hz**3 / allowed
        return cls(float(moving.min()), float(moving.max()), jerk)


def even_motion(rate_hz: int, mode: Horizon, steps: int, execute: int, step_rate_hz: float) -> Evenness:
    """Move an ideal arm by chunks that all say the same, as far as it reaches."""
    horizon = HorizonOptions(mode, execute, step_rate_hz)
    controller = make_controller(options=ControllerOptions(dt_s=1.0 / rate_hz, horizon=horizon))
    runner, tick_ns = ArmRunner(controller, report_rate_hz=25.0), SECOND_NS // rate_hz
    now_ns, q, sequence, commands = 0, HOME, 0, [HOME]
    chunk = np.zeros((steps, 7))
    chunk[:, 1] = -STEADY_MPS / step_rate_hz
    asked_ns, free = 0, True
    runner.arm(ArmState(now_ns, q, np.zeros(6), GripperState(0.0)))
    while now_ns < EVEN_S * SECOND_NS:
        now_ns += tick_ns
        judged_ns = now_ns - JUDGED_NS
        if judged_ns >= 0 and judged_ns % CAMERA_NS < tick_ns:
            stamp_ns = judged_ns // CAMERA_NS * CAMERA_NS
            runner.take_lease(GateLease(View.TOP, stamp_ns, Verdict.PASS, Verdict.PASS, stamp_ns + LEASE_NS))
        if free and now_ns >= asked_ns + JUDGED_NS + LATENCY_S * SECOND_NS:
            sequence += 1
            runner.take_goal(ArmGoal(chunk, View.TOP, asked_ns, sequence))
            due_ns = horizon.due_ns(asked_ns, steps) if horizon.is_receding else now_ns
            asked_ns, free = -(-max(due_ns, now_ns) // CAMERA_NS) * CAMERA_NS, horizon.is_receding
        tick = runner.tick(ArmState(now_ns, q, np.zeros(6), GripperState(0.0)))
        if not free and runner.state.run is None:
            asked_ns, free = -(-now_ns // CAMERA_NS) * CAMERA_NS, True
        q = q if tick is None or tick.q_target_rad is None else tick.q_target_rad
        commands.append(q)
    return Evenness.of(np.array(commands), rate_hz)


def measure(rate_hz: int, steps: int, execute: int, step_rate_hz: float, seconds: float) -> Ticks:
    """Move an ideal arm by random chunks, each decided 80 ms before it comes."""
    horizon = HorizonOptions(Horizon.RECEDING, execute, step_rate_hz)
    controller = make_controller(options=ControllerOptions(dt_s=1.0 / rate_hz, horizon=horizon))
    controller.warm_up()
    runner, random, ticks = ArmRunner(controller, report_rate_hz=25.0), np.random.default_rng(0), Ticks()
    tick_ns, now_ns, q = SECOND_NS // rate_hz, SECOND_NS, HOME
    runner.arm(ArmState(now_ns, q, np.zeros(6), GripperState(0.0)))
    frame_ns, sequence, home_m = now_ns, 0, controller.planner.kinematics.forward(HOME)[:3, 3]
    while now_ns < (1.0 + seconds) * SECOND_NS:
        now_ns += tick_ns
        if now_ns % FRAME_NS < tick_ns:
            runner.take_lease(GateLease(View.TOP, now_ns, Verdict.PASS, Verdict.PASS, now_ns + LEASE_NS))
        if now_ns - frame_ns >= LATENCY_S * SECOND_NS and sequence >= 0:
            sequence += 1
            runner.take_lease(GateLease(View.TOP, frame_ns, Verdict.PASS, Verdict.PASS, frame_ns + LEASE_NS))
            T_base_tool = controller.planner.kinematics.forward(q)
            offset_m = T_base_tool[:3, :3].T @ (T_base_tool[:3, 3] - home_m)  # increments are of the tool
            chunk = _chunk(random, steps, step_rate_hz, offset_m)
            runner.take_goal(ArmGoal(chunk, View.TOP, frame_ns, sequence))
            frame_ns = horizon.due_ns(frame_ns, steps)
        began_s = time.thread_time()
        tick = runner.tick(ArmState(now_ns, q, np.zeros(6), GripperState(0.0)))
        took_s = time.thread_time() - began_s
        if tick is None or tick.q_target_rad is None:
            raise SystemExit("the arm does not move")
        joins = any(goal.outcome is not GoalOutcome.COMPLETED or goal.reason for goal in tick.goals)
        (ticks.joining if joins else ticks.plain).append(took_s)
        q = tick.q_target_rad
    return ticks


def _chunk(random: np.random.Generator, steps: int, step_rate_hz: float, offset_m: np.ndarray) -> np.ndarray:
    """Return a chunk in a direction of its own, 4 cm/s on average; far from home it leads back."""
    direction = random.normal(0, 1, 3) - offset_m / HOMESICK_M
    chunk = np.zeros((steps, 7))
    chunk[:, :3] = 0.04 / step_rate_hz * direction + random.normal(0, 0.0003, (steps, 3))
    return chunk


def _spline_us(make: Callable[[], object], count: int = 500) -> float:
    make()
    began_s = time.thread_time()
    for _ in range(count):
        make()
    return 1e6 * (time.thread_time() - began_s) / count


def evenness() -> tuple[Table, list[list[Any]]]:
    """Return how even motions are, for people and for a file."""
    columns = "arm", "steps", "chunks", "slowest, of steady speed", "fastest", "jerk, of the allowed"
    table, rows = Table(*columns, title="speed of the tool between chunks that say the same"), []
    for arm, rate_hz in ARMS_HZ.items():
        for policy, options in POLICIES.items():
            for mode in (Horizon.RECEDING, Horizon.WHOLE):
                found = even_motion(rate_hz, mode, *options)
                numbers = found.slowest, found.fastest, found.jerk
                table.add_row(arm, policy, str(mode), *(f"{number:.0%}" for number in numbers))
                rows.append([arm, policy, str(mode), *numbers])
    return table, rows


def page_text(ticks: list[list[Any]], even: list[list[Any]]) -> str:
    """Return Markdown: how even receding motions are, and the CPU time of ticks that join chunks."""
    joining = {(row[0], row[1]): row for row in ticks if row[2] == "joining"}
    heads = ["arm", "policy's steps", "slowest, fastest tool speed between chunks, of its steady speed"]
    heads += ["largest jerk, of the allowed", "CPU [ms] of a tick that joins p50, p99", "p99 of a period"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for arm, policy, mode, slowest, fastest, jerk in even:
        if mode == Horizon.RECEDING:
            median_ms, p99_ms = joining[arm, policy][4], joining[arm, policy][6]
            share = p99_ms * ARMS_HZ[str(arm)] / 1e3
            lines.append(
                f"| {arm} | {policy} | {slowest:.0%}, {fastest:.0%} | {jerk:.0%}"
                f" | {median_ms:.2f}, {p99_ms:.2f} | {share:.0%} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of motion for each row")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--page", type=Path, help="page of docs/results that shows the table")
    arguments = parser.parse_args()
    columns = "arm", "steps", "tick", "count", "median", "95 %", "99 %", "longest", "of a period"
    table, rows = Table(*columns, title="CPU milliseconds of a tick"), []
    for arm, rate_hz in ARMS_HZ.items():
        for policy, options in POLICIES.items():
            ticks = measure(rate_hz, *options, arguments.seconds)
            for kind, taken_s in (("plain", ticks.plain), ("joining", ticks.joining)):
                taken_ms = 1e3 * np.array(taken_s)
                numbers = *np.percentile(taken_ms, [50, 95, 99]), taken_ms.max()
                share = numbers[2] * rate_hz / 1e3
                table.add_row(
                    arm, policy, kind, str(len(taken_s)), *(f"{ms:.2f}" for ms in numbers), f"{share:.0%}"
                )
                rows.append([arm, policy, kind, len(taken_s), *map(float, numbers)])
    Console().print(table)
    even, even_rows = evenness()
    Console().print(even)
    x, y = np.linspace(0.0, 1.0, 61), np.random.default_rng(0).normal(0, 1, (61, 6))
    ours_us = _spline_us(lambda: joining_kernels.spline(x, y, np.empty(0)))
    theirs_us = _spline_us(lambda: CubicSpline(x, y))
    print(f"a spline through 61 samples: {ours_us:.0f} us, scipy.interpolate.CubicSpline {theirs_us:.0f} us")
    if arguments.json:
        result = {"ticks": rows, "even": even_rows, "spline_us": ours_us, "scipy_us": theirs_us}
        write_text_whole(arguments.json, json.dumps(result, indent=2) + "\n")
    if arguments.page is not None:
        write_page(arguments.page, page_text(rows, even_rows), "bench_joining")


if __name__ == "__main__":
    main()
