"""Joint states of another driver: order by names, age, and the period of the controller."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from embodied_iqa.arm.robot.foreign.joint_states import JointReader, Periods
from embodied_iqa.arm.robot.foreign.options import Ros2ControlOptions
from embodied_iqa.base.errors import InputError, UsageError

MS = 1_000_000
NOW_NS = 50_000 * MS
OPTIONS = Ros2ControlOptions(joint_prefix="left_")
POSITIONS = dict(zip(OPTIONS.joints, (0.1, -1.2, 1.3, -1.4, -1.5, 0.6), strict=True))


def reader() -> JointReader:
    return JointReader(OPTIONS.joints, 0.1)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_joints_are_found_by_their_names(order: tuple[int, ...]) -> None:
    names = [OPTIONS.joints[i] for i in (*order, 5, 4, 3)]
    names.insert(2, "finger_joint")
    positions = [POSITIONS.get(name, 9.0) for name in names]
    state = reader().take(names, (positions, [0.1 * p for p in positions]), NOW_NS - MS, NOW_NS)
    assert state is not None
    assert state.q_rad.tolist() == list(POSITIONS.values())
    assert np.allclose(state.qd_radps, 0.1 * state.q_rad)
    assert state.stamp_ns == NOW_NS, "leases end by this machine's clock"


@pytest.mark.parametrize(
    "names", [[name.removeprefix("left_") for name in POSITIONS], [*POSITIONS, "left_elbow_joint"], []]
)
def test_joints_of_another_arm_are_refused_with_both_lists(names: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        reader().take(names, ([0.0] * len(names), [0.0] * len(names)), NOW_NS, NOW_NS)
    assert ", ".join(OPTIONS.joints) in str(caught.value)
    assert ", ".join(names) in str(caught.value)


@pytest.mark.parametrize(
    ("positions", "velocities"),
    [([0.0] * 5, [0.0] * 6), ([0.0] * 6, []), ([np.nan] * 6, [0.0] * 6), ([0.0] * 6, [np.inf] * 6)],
)
def test_missing_values_are_refused(positions: list[float], velocities: list[float]) -> None:
    with pytest.raises(InputError, match="expected six finite"):
        reader().take(OPTIONS.joints, (positions, velocities), NOW_NS, NOW_NS)


@pytest.mark.parametrize(
    ("age_ms", "taken"), [(0, True), (100, True), (101, False), (-100, True), (-101, False)]
)
def test_an_old_state_and_one_from_the_future_are_refused(age_ms: int, taken: bool) -> None:
    values = ([0.0] * 6, [0.0] * 6)
    if taken:
        assert reader().take(OPTIONS.joints, values, NOW_NS - age_ms * MS, NOW_NS) is not None
        return
    with pytest.raises(InputError, match=f"at most 100 ms; got '{age_ms} ms'"):
        reader().take(OPTIONS.joints, values, NOW_NS - age_ms * MS, NOW_NS)


def test_a_repeated_state_says_nothing_and_does_not_end_the_silence() -> None:
    joints, values = reader(), ([0.0] * 6, [0.0] * 6)
    assert joints.why_silent(NOW_NS) == "no joint states yet"
    joints.take(OPTIONS.joints, values, NOW_NS, NOW_NS)
    assert joints.take(OPTIONS.joints, values, NOW_NS, NOW_NS + 90 * MS) is None
    assert joints.why_silent(NOW_NS + 100 * MS) == ""
    assert joints.why_silent(NOW_NS + 101 * MS) == "no joint state for 101 ms"
    assert joints.why_silent(NOW_NS - 100 * MS) == ""
    assert joints.why_silent(NOW_NS - 101 * MS) == "the clock was set back by 101 ms"


@pytest.mark.parametrize("rate_hz", [50.0, 100.0, 125.0, 500.0, 997.0])
@pytest.mark.parametrize("seed", range(3))
def test_states_are_answered_at_most_at_the_rate(rate_hz: float, seed: int) -> None:
    jitter = np.random.default_rng(seed).uniform(-0.3, 0.3, 2000) / rate_hz
    times = np.sort(np.arange(2000) / rate_hz + jitter)
    periods = Periods(100.0)
    taken = [second for second in times if periods.is_due(round(1e9 * second))]
    assert len(taken) <= 100.0 * (times[-1] - times[0]) + 2
    assert np.diff(taken).min() >= 0.0089
    if rate_hz >= 500.0:
        assert len(taken) >= 75.0 * (times[-1] - times[0])


def test_a_clock_that_is_set_back_does_not_silence_the_arm() -> None:
    periods = Periods(100.0)
    assert periods.is_due(NOW_NS)
    assert not periods.is_due(NOW_NS + MS)
    assert periods.is_due(NOW_NS - 1000 * MS)
    assert not periods.is_due(NOW_NS - 999 * MS)


def test_a_lead_shorter_than_a_period_is_refused() -> None:
    with pytest.raises(UsageError, match=r"lead_s is too short.*at least .*0\.05 s"):
        Ros2ControlOptions(rate_hz=20.0)
    assert Ros2ControlOptions(rate_hz=20.0, lead_s=0.05).delay_s == 0.05
