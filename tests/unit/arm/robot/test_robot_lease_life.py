"""Whatever the times of a lease are: without a valid one nothing starts, and what moves stands in time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import hypothesis.strategies as st
import numpy as np
import pytest
from arm_bench import MS, TICK_NS, Bench, straight
from hypothesis import given, settings

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.goal_execution import late_words
from embodied_iqa.arm.robot.messages import ArmMode, GoalOutcome
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

CONTROLLER = make_controller()
BRAKE_NS = 100 * MS
"""Longest braking along the path, `TimingOptions.brake_s`."""
FORECAST_NS = 3 * TICK_NS
"""A step that still speeds up lengthens the braking that was foreseen before it."""
STILL_RAD = 1e-9


@st.composite
def times(draw: st.DrawFn) -> LeaseOptions:
    """Any times that go together; often at the edges of their ranges."""
    ttl_ms = draw(st.integers(1, 1000) | st.integers(20, 150))
    longest_ms = draw(st.integers(ttl_ms, 1000))
    remember_ms = draw(st.integers(longest_ms, 10_000))
    return LeaseOptions(
        ttl_s=ttl_ms / 1000,
        longest_s=longest_ms / 1000,
        remember_s=remember_ms / 1000,
        overrun_s=draw(st.integers(0, 100)) / 1000,
        wait_s=draw(st.integers(0, remember_ms)) / 1000,
        window_s=draw(st.integers(0, ttl_ms - 1)) / 1000,
    )


@st.composite
def hostile_lease(draw: st.DrawFn) -> tuple[int, int, Verdict]:
    """Age of the frame and time to the end at arrival, both in ms, and a verdict: of a broken gate."""
    age_ms = draw(st.integers(-20, 200))
    left_ms = draw(st.sampled_from([-50, 0, 1, 5, 40, 120, 900, 10**7]))
    return age_ms, left_ms, draw(st.sampled_from([Verdict.PASS] * 4 + [Verdict.HOLD, Verdict.REJECT]))


def bench_with(options: LeaseOptions) -> Bench:
    """An armed arm that obeys leases with these times and starts a long motion."""
    age_ns = max(options.wait_ns, min(1500 * MS, options.remember_ns))
    controller = replace(CONTROLLER, options=ControllerOptions(max_frame_age_ns=age_ns, lease=options))
    bench = Bench(controller, gate=False).armed()
    stamp_ns = bench.now_ns + TICK_NS
    goal = replace(bench.goal(straight(dx=0.14, count=4)), frame_stamp_ns=stamp_ns)
    bench.tick(goal=goal, leases=(lease_of(options, stamp_ns, stamp_ns),))
    assert bench.state.sequence == 1, "the goal is accepted"
    return bench


def lease_of(options: LeaseOptions, stamp_ns: int, now_ns: int) -> GateLease:
    return GateLease(View.WRIST, stamp_ns, Verdict.PASS, Verdict.PASS, options.end_ns(stamp_ns, now_ns))


def has_moved(bench: Bench) -> bool:
    return float(np.abs(bench.commands[-1] - bench.commands[-2]).max()) > STILL_RAD


@settings(max_examples=60)
@given(times(), st.lists(st.none() | hostile_lease(), min_size=40, max_size=120))
def test_nothing_is_executed_without_a_valid_lease(
    options: LeaseOptions, arriving: list[tuple[int, int, Verdict] | None]
) -> None:
    """The oracle keeps ends of its own: the sooner of what the gate says and what the arm allows."""
    bench = bench_with(options)
    ends_ns = [bench.now_ns + options.ttl_ns]
    valid_ns = bench.now_ns
    silence = [None] * ((options.longest_ns + BRAKE_NS) // TICK_NS + 3)
    for arrives in [*arriving, *silence]:
        now_ns, leases = bench.now_ns + TICK_NS, ()
        if arrives is not None:
            age_ms, left_ms, verdict = arrives
            lease = GateLease(View.WRIST, now_ns - age_ms * MS, verdict, verdict, now_ns + left_ms * MS)
            leases = (lease,)
            if verdict is Verdict.PASS and age_ms >= 0:
                ends_ns.append(min(lease.expires_ns, now_ns + options.longest_ns))
        bench.tick(leases=leases)
        if now_ns <= max(ends_ns):
            valid_ns = now_ns
            continue
        assert bench.state.book.permission((View.WRIST,), now_ns).verdict is not Verdict.PASS
        assert bench.outputs[-1].status.mode is not ArmMode.EXECUTING
        assert not has_moved(bench) or now_ns - valid_ns <= BRAKE_NS + 2 * TICK_NS


@settings(max_examples=60)
@given(times(), st.integers(2, 15), st.integers(0, 1000), st.integers(0, 100))
def test_an_arm_whose_gate_falls_silent_stands_in_time(
    options: LeaseOptions, period_ticks: int, latency_permille: int, frames_ticks: int
) -> None:
    """Leases as the gate grants them; after the last, the arm stands within the overrun, and three ticks."""
    bench = bench_with(options)
    latency_ns = options.ttl_ns * latency_permille // 1000
    end_ns, under_way = bench.now_ns + options.ttl_ns, []
    for count in range(frames_ticks + 40 + (latency_ns + options.ttl_ns) // TICK_NS):
        now_ns = bench.now_ns + TICK_NS
        if count < frames_ticks and count % period_ticks == 0:
            under_way.append(now_ns)
        arrived = [stamp_ns for stamp_ns in under_way if stamp_ns + latency_ns <= now_ns]
        under_way = under_way[len(arrived) :]
        leases = tuple(lease_of(options, stamp_ns, now_ns) for stamp_ns in arrived)
        end_ns = max([end_ns, *(lease.expires_ns for lease in leases)])
        bench.tick(leases=leases)
        if now_ns > end_ns + options.overrun_ns + FORECAST_NS:
            assert not has_moved(bench), f"{(now_ns - end_ns) / MS:.0f} ms after the end of the last lease"
    assert not bench.state.run or bench.outputs[-1].status.mode is ArmMode.HOLDING


@dataclass
class Busy(Bench):
    """A computer that handles every `every`-th state only; the arm is where that one's command had it."""

    every: int = 1

    @property
    def tick_ns(self) -> int:
        return self.every * TICK_NS


@pytest.mark.parametrize("every", [1, 2, 3])
def test_an_arm_whose_states_are_missed_brakes_sooner(every: int) -> None:
    """The path advances by one period with each handled state, so braking takes longer than it foresees."""
    ttl_ns, controller = 600 * MS, CONTROLLER
    bench = Busy(controller, gate=False, every=every).armed()
    for _ in range(40):  # how fast they come is known by then
        bench.tick()
    bench.send(straight(dx=0.14, count=4))
    assert bench.state.sequence == 1
    bench.tick(leases=(bench.lease(ttl_ns=ttl_ns),))
    end_ns = bench.now_ns - bench.tick_ns + ttl_ns
    fastest = 0.0
    while bench.now_ns <= end_ns + controller.options.lease.overrun_ns + every * FORECAST_NS:
        bench.tick()
        fastest = max(fastest, bench.outputs[-1].status.tool_speed_mps)
    bench.tick()
    assert fastest > 0.05, "it was under way"
    assert not has_moved(bench)
    assert bench.state.run is not None, "the end of its path is not why it stands"
    assert (bench.state.pace == 1.0) is (every == 1), "exactly, where none is missed"
    assert bench.state.pace == pytest.approx(every, rel=0.1)
    late = f"this computer handles one of {every} states" if every > 1 else ""
    assert late_words(bench.state).partition(":")[0] == late


def test_a_state_that_comes_late_is_made_up_for_by_the_next() -> None:
    bench = Bench(gate=False).armed()
    for late_ns in (3 * MS, -3 * MS) * 50:
        bench.now_ns += late_ns
        bench.tick()
    assert bench.state.pace == pytest.approx(1.0)


def test_a_frame_that_is_rejected_by_a_clock_an_hour_ahead_refuses_goals_while_its_verdict_counts() -> None:
    bench = Bench().armed()
    bench.send(straight(dx=0.05, count=2))
    bench.run(10)
    rejected_ns = bench.now_ns + TICK_NS
    bench.tick(leases=(bench.lease(Verdict.REJECT, stamp_ns=rejected_ns + 3_600_000 * MS),))
    while bench.now_ns < rejected_ns + bench.controller.options.lease.remember_ns - TICK_NS:
        bench.tick()
    assert "before the gate rejected" in bench.send(straight(dx=0.01), 2).reports[-1].reason
    bench.tick()
    assert bench.send(straight(dx=0.01), 3).reports[-1].outcome is GoalOutcome.ACCEPTED
