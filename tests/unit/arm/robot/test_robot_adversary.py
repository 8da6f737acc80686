"""Four thousand hostile chunks, and in `make stress` a hundred thousand: no command ever leaves a limit."""

from __future__ import annotations

import os

import numpy as np
import pytest
from arm_bench import HOME, MS, TICK_NS, Bench

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.messages import ArmGoal, ArmInputs, ArmMode, ArmOutput, ArmState, GripperState
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.kinematics import choose, pose_to_transform
from embodied_iqa.imaging.images.frame import View

CHUNKS = int(os.environ.get("EMBODIED_IQA_FUZZ_CHUNKS", "4000"))
"""A million takes some minutes: see CONTRIBUTING.md."""
PLANNED_EVERY = 100
"""One chunk in so many is small enough to be planned; the others have to be refused."""

TICKS = 12
CONTROLLER = make_controller()
LIMITS = CONTROLLER.planner.limits
PLACES_M = (
    (-0.5, -0.11, 0.3),
    (-0.5, 0.1, 0.009),
    (-0.206, -0.2, 0.3),
    (-0.6, 0.445, 0.2),
    (-0.4, -0.25, 0.01),
)
"""Where the attacks start: in the middle, just above the table, just inside of the workspace."""


def _above(place_m: tuple[float, float, float]) -> np.ndarray:
    choice = choose(CONTROLLER.planner.kinematics, pose_to_transform([*place_m, np.pi, 0, 0]), HOME)
    assert choice.q_rad is not None
    return choice.q_rad


STARTS = tuple(_above(place_m) for place_m in PLACES_M)


def _armed(q: np.ndarray) -> ControllerState:
    measured = ArmState(5 * MS, q, np.zeros(6), GripperState(0.0))
    state, output = CONTROLLER.step(ControllerState(), ArmInputs(measured, arm=True), 5 * MS)
    assert output.status.mode is ArmMode.IDLE
    return state


def _hostile(rng: np.random.Generator) -> np.ndarray:
    """A chunk with something in it that no arm may do."""
    chunk = rng.normal(0, 0.02, (int(rng.integers(1, 12)), 7))
    chunk[:, 6] = rng.random(len(chunk))
    row = int(rng.integers(len(chunk)))
    kind, column, pick = int(rng.integers(5)), int(rng.integers(3)), int(rng.integers(3))
    if kind == 0:
        chunk[row, 2 * column + pick % 2] = (np.nan, np.inf, -np.inf)[pick]
    elif kind == 1:
        chunk[row, column] = (10.0, -1e300, 1e9)[pick]
    elif kind == 2:
        chunk[row, 3 + column] = (3.2, -6.0, 100.0)[pick]
    elif kind == 3:
        chunk[row, 6] = (-1.0, 2.0, 255.0)[pick]
    else:  # towards the table, the wall or the base, in steps that are small enough each
        chunk = np.zeros((12, 7))
        chunk[:, column] = (-0.14, 0.14, 0.1)[pick]
    return chunk


def _sly(rng: np.random.Generator) -> np.ndarray:
    """A chunk whose every increment is allowed; where it leads is another matter."""
    count = int(rng.integers(1, 10))
    direction = rng.normal(0, 1, 3)
    steps = 0.3 * direction / np.linalg.norm(direction) + rng.normal(0, 0.3, (count, 3))
    chunk = np.zeros((count, 7))
    chunk[:, :3] = steps * rng.choice([0.005, 0.02, 0.06])
    chunk[:, 3:6] = rng.normal(0, rng.choice([0.01, 0.1, 0.25]), (count, 3))
    chunk[:, 6] = rng.choice([0.0, 0.0, 1.0], count)
    return chunk


def _leases(rng: np.random.Generator, now_ns: int) -> tuple[GateLease, ...]:
    if rng.random() < 0.5:
        return ()
    verdict = Verdict(int(rng.choice(3, p=[0.8, 0.15, 0.05])))
    stamp_ns = now_ns - int(rng.integers(-10, 200)) * MS
    expires_ns = now_ns + int(rng.choice([-50, 5, 40, 120, 900, 10**7])) * MS
    return (GateLease(View.WRIST, stamp_ns, verdict, verdict, expires_ns),)


class _Recorder:
    """Collects commands, each beside the two before it."""

    def __init__(self) -> None:
        self.windows: list[np.ndarray] = []

    def attack(
        self, rng: np.random.Generator, state: ControllerState, chunk: np.ndarray, ticks: int
    ) -> ArmOutput:
        now_ns, q = 5 * MS + TICK_NS, state.q_command_rad
        goal = ArmGoal(chunk, View.WRIST, now_ns, 1)
        leases: tuple[GateLease, ...] = (
            GateLease(View.WRIST, now_ns, Verdict.PASS, Verdict.PASS, now_ns + 120 * MS),
        )
        commands = [q, q]
        for tick in range(ticks):
            leases = leases if tick == 0 else _leases(rng, now_ns)
            measured = ArmState(now_ns, q, np.zeros(6), GripperState(0.0))
            state, output = CONTROLLER.step(state, ArmInputs(measured, goal, leases), now_ns)
            q = q if output.q_target_rad is None else output.q_target_rad
            commands.append(q)
            now_ns, goal = now_ns + TICK_NS, None
            if output.status.mode is ArmMode.STOPPED and state.run is None:
                break
        if np.any(commands[-1] != commands[0]):
            self.windows.append(np.array(commands))
        return output


@pytest.mark.parametrize("chunks", [CHUNKS, pytest.param(25 * CHUNKS, marks=pytest.mark.stress)])
def test_no_command_leaves_the_limits(chunks: int):
    rng = np.random.default_rng(11)
    armed = [_armed(q) for q in STARTS]
    recorder, accepted = _Recorder(), 0
    for index in range(chunks):
        state = armed[index % len(armed)]
        if index % PLANNED_EVERY:
            output = recorder.attack(rng, state, _hostile(rng), 1)
            assert output.status.mode in {ArmMode.STOPPED, ArmMode.HOLDING}
        else:
            ticks = 150 if index % (10 * PLANNED_EVERY) == 0 else TICKS
            accepted += recorder.attack(rng, state, _sly(rng), ticks).status.sequence == 1
    assert accepted > chunks / PLANNED_EVERY / 10
    assert len(recorder.windows) > accepted / 2
    _assert_within_limits(recorder.windows)


def _assert_within_limits(windows: list[np.ndarray]) -> None:
    dt_s = TICK_NS / 1e9
    q = np.concatenate(windows)
    assert np.abs(q).max() <= 2 * np.pi
    assert max(np.abs(np.diff(w, axis=0)).max() for w in windows) / dt_s <= LIMITS.joint_speed_radps
    bends = max(np.abs(np.diff(w, n=2, axis=0)).max() for w in windows)
    assert bends / dt_s**2 <= LIMITS.joint_acceleration_radps2 * 1.001
    kinematics = CONTROLLER.planner.kinematics
    tools = [kinematics.forward(w)[:, :3, 3] for w in windows]
    p = np.concatenate(tools)
    assert p[:, 2].min() >= LIMITS.table_z_m + LIMITS.tool_height_m - 1e-6
    assert (p >= np.array(LIMITS.workspace_min_m) - 1e-6).all()
    assert (p <= np.array(LIMITS.workspace_max_m) + 1e-6).all()
    speeds = [np.linalg.norm(np.diff(t, axis=0), axis=1) / dt_s for t in tools]
    assert max(s.max() for s in speeds) <= LIMITS.tool_speed_mps * 1.001
    bends = [np.linalg.norm(np.diff(t, n=2, axis=0), axis=1).max() / dt_s**2 for t in tools]
    assert max(bends) <= LIMITS.tool_acceleration_mps2 * 1.001
    hit = CONTROLLER.planner.collisions.nearest
    assert min(hit(row).clearance_m for row in q[:: max(1, len(q) // 500)]) > -0.002


@pytest.mark.parametrize("seed", range(6))
def test_long_lives_with_random_gates_and_goals_stay_within_limits(seed: int):
    rng = np.random.default_rng(seed)
    bench = Bench().armed()
    sequence, done = 0, 0
    for _ in range(2000):
        if rng.random() < 0.02:
            sequence += 1
            chunk = _sly(rng) if rng.random() < 0.95 else _hostile(rng)
            output = bench.send(chunk, sequence)
        else:
            output = bench.tick(leases=_leases(rng, bench.now_ns), arm=rng.random() < 0.02)
        done += any(report.outcome == "completed" for report in output.reports)
    assert done > 0
    _assert_within_limits([np.array(bench.commands)])
