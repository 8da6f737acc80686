"""Chunks that are tied to time and joined to the motion under way: no stop, no jump, within every limit."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from arm_bench import HOME

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.joining import TimedChunk, UnderWay, join_chunk
from embodied_iqa.arm.robot.limits import LimitKind, Violation
from embodied_iqa.arm.robot.speed_scaling import Progress, brake, proceed
from embodied_iqa.arm.robot.timing import TimedPath
from embodied_iqa.base.kinematics import CollisionModel, chain_increments

CHUNKS = 1_000
MANY_CHUNKS = int(os.environ.get("EMBODIED_IQA_FUZZ_JOINS", "100000"))
PER_SEQUENCE = 25
PLANNER = make_controller().planner
LIMITS, KINEMATICS = PLANNER.limits, PLANNER.kinematics
DT_S = 0.008


class Rider:
    """Executes chunks tick by tick; each is decided on a frame at a time of the past."""

    def __init__(self) -> None:
        self.commands = [HOME]
        self.motion: TimedPath | None = None
        self.progress = Progress()

    def pose_ago(self, age_s: float) -> np.ndarray:
        place = max(len(self.commands) - 1 - age_s / DT_S, 0.0)
        low = int(place)
        high = min(low + 1, len(self.commands) - 1)
        q = self.commands[low] + (place - low) * (self.commands[high] - self.commands[low])
        return KINEMATICS.forward(q)

    def join(
        self, increments: np.ndarray, age_s: float, period_s: float, *, coasts: bool
    ) -> TimedPath | Violation:
        now = UnderWay(self.commands[-1]) if self.motion is None else UnderWay.on(self.motion, self.progress)
        chunk = TimedChunk(increments, self.pose_ago(age_s), age_s, period_s, coasts)
        joined = join_chunk(PLANNER, chunk, now)
        if isinstance(joined, TimedPath):
            self.motion, self.progress = joined, now.progress
        return joined

    def ride(self, ticks: int, *, brakes: bool = False) -> None:
        for _ in range(ticks if self.motion is not None else 0):
            self.progress = (brake if brakes else proceed)(self.motion, self.progress, DT_S)
            assert self.progress.u_s <= self.motion.end_s + 1e-9
            self.commands.append(np.array(self.motion.q_of_u(self.progress.u_s)))


def even(step_m: float, count: int) -> np.ndarray:
    increments = np.zeros((count, 7))
    increments[:, 1] = step_m
    return increments


def random_chunk(rng: np.random.Generator) -> np.ndarray:
    """Steps about a direction, some of them wild; sizes up to what an arm cannot do in the time."""
    count = int(rng.integers(1, 14))
    steps = rng.normal(0, 1, 6) + rng.choice([0.05, 0.5]) * rng.normal(0, 1, (count, 6))
    chunk = np.zeros((count, 7))
    chunk[:, :6] = steps * rng.choice([0.0005, 0.003, 0.01]) * [1, 1, 1, 3, 3, 3]
    return chunk


def excesses(commands: np.ndarray) -> list[str]:
    """Return which limits commands ``(N, 6)``, one a tick, exceed; counted on their own."""
    speeds, bends, jerks = (np.abs(np.diff(commands, n, axis=0)).max() / DT_S**n for n in (1, 2, 3))
    jerk = LIMITS.joint_acceleration_radps2 / PLANNER.timing.jerk_s
    p = KINEMATICS.forward(commands)[:, :3, 3]
    tool = [np.linalg.norm(np.diff(p, n, axis=0), axis=1).max() / DT_S**n for n in (1, 2)]
    box = np.concatenate([p - LIMITS.workspace_max_m, LIMITS.workspace_min_m - p])
    rows = {
        "joint speed": (speeds, LIMITS.joint_speed_radps),
        "joint acceleration": (bends, LIMITS.joint_acceleration_radps2),
        "joint jerk": (jerks, 2.0 * jerk),  # along the curve, and of braking on it
        "tool speed": (tool[0], LIMITS.tool_speed_mps),
        "tool acceleration": (tool[1], LIMITS.tool_acceleration_mps2),
        "workspace": (box.max(), 1e-6),
        "table": (LIMITS.table_z_m + LIMITS.tool_height_m - p[:, 2].min(), 1e-6),
    }
    found = [
        f"{name}: {value:.6g}, at most {most:.6g}"
        for name, (value, most) in rows.items()
        if not value <= most
    ]
    hit = PLANNER.collisions.first_collision(commands[::20])
    return found if hit is None else [*found, str(hit[1])]


def assert_within_limits(commands: np.ndarray) -> None:
    assert excesses(commands) == []


@pytest.mark.parametrize("chunks", [CHUNKS, pytest.param(MANY_CHUNKS, marks=pytest.mark.stress)])
def test_random_sequences_of_chunks_stay_within_the_limits_joined_or_braked(chunks: int) -> None:
    rng = np.random.default_rng(5)
    joined = refused = 0
    for _ in range(chunks // PER_SEQUENCE):
        rider = Rider()
        for _ in range(PER_SEQUENCE):
            period_s = float(rng.choice([0.02, 1 / 15, 0.2]))
            age_s = float(rng.uniform(0.0, 2.5)) * period_s
            answer = rider.join(random_chunk(rng), age_s, period_s, coasts=rng.random() < 0.3)
            joined, refused = joined + isinstance(answer, TimedPath), refused + isinstance(answer, Violation)
            rider.ride(int(rng.integers(2, 20)), brakes=rng.random() < 0.1)
        rider.ride(60, brakes=True)
        assert np.abs(rider.commands[-1] - rider.commands[-2]).max() < 1e-9
        assert_within_limits(np.array(rider.commands))
    assert joined > 0.7 * (joined + refused)
    assert refused > 0


@pytest.mark.parametrize(
    ("rate_hz", "steps", "execute"), [(15.0, 10, 5), (15.0, 10, 8), (5.0, 1, 1), (50.0, 50, 25)]
)
def test_even_motion_never_slows_down_between_chunks(rate_hz: float, steps: int, execute: int) -> None:
    """Images at 15 Hz, 80 ms of inference, and 16 ms until the frame is judged."""
    speed_mps, frame_s, latency_s = 0.08, 1 / 15, 0.096
    rider, asked_s = Rider(), 0.0
    for tick in range(300):
        now_s = tick * DT_S
        if now_s >= asked_s + latency_s:
            answer = rider.join(
                even(-speed_mps / rate_hz, steps), now_s - asked_s, 1 / rate_hz, coasts=execute >= steps
            )
            assert isinstance(answer, TimedPath)
            due_s = max(asked_s + execute / rate_hz, now_s)
            asked_s = frame_s * np.ceil(due_s / frame_s - 1e-6)
        rider.ride(1)
        if rider.motion is None:
            rider.commands.append(HOME)
    p = KINEMATICS.forward(np.array(rider.commands))[:, :3, 3]
    speeds_mps = np.linalg.norm(np.diff(p[100:], axis=0), axis=1) / DT_S
    assert speeds_mps.min() >= 0.8 * speed_mps
    assert speeds_mps.max() <= 1.2 * speed_mps
    assert_within_limits(np.array(rider.commands))


def test_position_velocity_and_acceleration_go_on_where_a_chunk_of_another_direction_comes() -> None:
    rider = Rider()
    rider.join(even(0.006, 10), 0.0, 1 / 15, coasts=False)
    rider.ride(40)
    before, at = rider.motion, rider.progress
    turned = even(0.004, 10)
    turned[:, 0] = 0.004
    rider.join(turned, 0.1, 1 / 15, coasts=False)
    assert before is not None
    assert rider.motion is not None
    assert (rider.progress.speed, rider.progress.acceleration) == (at.speed, at.acceleration)
    for order, tolerance in ((0, 1e-12), (1, 1e-12), (2, 0.05)):
        then, now = before.q_of_u(at.u_s, order), rider.motion.q_of_u(0.0, order)
        np.testing.assert_allclose(now, then, atol=tolerance)


def test_step_k_is_reached_k_periods_after_the_frame_and_from_the_pose_in_the_frame() -> None:
    rider = Rider()
    rider.join(even(0.004, 10), 0.0, 0.1, coasts=False)
    rider.ride(50)
    start = rider.pose_ago(0.2)
    increments = even(0.004, 8)
    increments[:, 2] = -0.001
    rider.join(increments, 0.2, 0.1, coasts=False)
    rider.progress = Progress(rider.progress.u_s, 1.0, 0.0)  # at full pace, whatever it was
    assert rider.motion is not None
    np.testing.assert_allclose(rider.motion.waypoint_u_s, 0.1 * np.arange(1, 9) - 0.2)
    poses = chain_increments(start, increments)
    for step in (5, 6, 8):
        reached = KINEMATICS.forward(rider.motion.q_of_u(rider.motion.waypoint_u_s[step - 1]))
        np.testing.assert_allclose(reached[:3, 3], poses[step - 1, :3, 3], atol=1e-4)


def test_what_would_be_too_fast_is_stretched_in_time() -> None:
    rider = Rider()
    motion = rider.join(even(-0.03, 6), 0.0, 1 / 15, coasts=False)  # 0.45 m/s; the tool may do 0.25
    assert isinstance(motion, TimedPath)
    assert motion.end_s > 1.5 * 6 / 15


@pytest.mark.parametrize(
    ("increments", "age_s", "kind"),
    [
        (even(0.004, 5), 0.6, LimitKind.RUN_OVER),
        (even(0.14, 8), 0.0, LimitKind.WORKSPACE),
        (np.array([[0, 0, 0.14, 0, 0, 0, 0]] * 5), 0.0, LimitKind.TABLE),
    ],
)
def test_what_cannot_be_executed_is_refused(increments: np.ndarray, age_s: float, kind: LimitKind) -> None:
    refused = Rider().join(increments, age_s, 0.1, coasts=False)
    assert isinstance(refused, Violation)
    assert refused.kind is kind


def test_a_chunk_that_would_need_a_jump_is_not_joined() -> None:
    chunk = TimedChunk(even(0.004, 2), KINEMATICS.forward(HOME + np.array([0.2, 0, 0, 0, 0, 0])), 0.0, 0.05)
    rider = Rider()
    rider.join(even(0.01, 10), 0.0, 1 / 15, coasts=False)
    rider.ride(40)
    assert rider.motion is not None
    refused = join_chunk(PLANNER, chunk, UnderWay.on(rider.motion, rider.progress))
    assert isinstance(refused, Violation)
    assert not refused.kind.is_emergency


def test_a_chunk_whose_further_step_leaves_the_workspace_ends_at_its_last_step() -> None:
    start = KINEMATICS.forward(HOME)
    room_m = float(start[2, 3]) - LIMITS.tool_height_m - 0.001
    down = np.zeros((5, 7))
    down[:, 2] = room_m / 5
    motion = join_chunk(PLANNER, TimedChunk(down, start, 0.0, 0.5, coasts=True), UnderWay(HOME))
    assert isinstance(motion, TimedPath)
    end_m = KINEMATICS.forward(motion.q_of_u(motion.end_s))[2, 3]
    assert end_m == pytest.approx(LIMITS.tool_height_m + 0.001, abs=1e-6)


def test_between_two_checks_for_collisions_the_tool_moves_less_than_a_centimetre() -> None:
    checked: list[np.ndarray] = []

    class Watching(CollisionModel):
        def first_collision(self, q_rad: np.ndarray) -> None:
            checked.append(q_rad)

    planner = replace(PLANNER, collisions=Watching(KINEMATICS, PLANNER.collisions.world))
    chunk = TimedChunk(even(0.045, 5), KINEMATICS.forward(HOME), 0.0, 0.2)
    motion = join_chunk(planner, chunk, UnderWay(HOME))
    assert isinstance(motion, TimedPath)
    (q,) = checked
    steps_m = np.linalg.norm(np.diff(KINEMATICS.forward(q)[:, :3, 3], axis=0), axis=1)
    assert 0.005 < steps_m.max() < 0.01
    np.testing.assert_allclose(q[[0, -1]], motion.q_of_u([0.0, motion.end_s]), atol=1e-9)
