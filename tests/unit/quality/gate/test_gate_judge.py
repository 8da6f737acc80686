"""Debouncing, leases and modes: invariants over every sequence of frames."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, ImageQuality, step
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.quality.gate.repair import RepairOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge, judge_image

PASS, HOLD, REJECT = Verdict
MS = 1_000_000
PERIOD_NS = 33 * MS
CALIBRATION = GateCalibration(
    View.TOP, 640, 480, dict.fromkeys(Statistic, Bounds(10.0, 20.0, 30.0, 40.0)), 100, "made up"
)
VALUE = {PASS: 25.0, HOLD: 12.0, REJECT: 3.0}


def statistics_of(verdict: Verdict) -> ImageStatistics:
    usual = dict.fromkeys((statistic.value for statistic in Statistic), 25.0)
    return ImageStatistics(640, 480, **{**usual, "sharpness": VALUE[verdict]})


def judged_alone(statistics: ImageStatistics) -> Judgement:
    return StatisticsJudge([CALIBRATION]).judge_measured(View.TOP, statistics)


GOOD = judged_alone(statistics_of(PASS))


def run(
    verdicts: Sequence[Verdict],
    config: GateOptions | None = None,
    stamps_ns: Sequence[int] | None = None,
) -> list[tuple[ImageQuality, GateLease]]:
    state, results = GateState(), []
    stamps_ns = stamps_ns or [1000 * MS + k * PERIOD_NS for k in range(len(verdicts))]
    for verdict, stamp_ns in zip(verdicts, stamps_ns, strict=True):
        frame = GateFrame(View.TOP, stamp_ns, stamp_ns + 5 * MS, judged_alone(statistics_of(verdict)))
        state, quality, lease = step(state, frame, config or GateOptions())
        results.append((quality, lease))
    return results


def judged(verdicts: Sequence[Verdict], config: GateOptions | None = None) -> list[Verdict]:
    return [quality.verdict for quality, _ in run(verdicts, config)]


configs = st.builds(
    lambda trip, more, recover: GateOptions(
        trip_frames=trip, window_frames=trip + more, recover_frames=recover
    ),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 7),
)
sequences = st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=40)


@given(sequences, configs)
def test_every_rule_of_debouncing_holds(verdicts: list[Verdict], config: GateOptions) -> None:
    results = judged(verdicts, config)
    for k, result in enumerate(results):
        window = verdicts[max(0, k + 1 - config.window_frames) : k + 1]
        bad = sum(verdict is not PASS for verdict in window)
        if verdicts[k] is REJECT:
            assert result is REJECT
        if verdicts[k] is HOLD and bad >= config.trip_frames:
            assert result is not PASS
        if k and results[k - 1] is PASS and result is not PASS:
            assert verdicts[k] is REJECT or (verdicts[k] is HOLD and bad >= min(config.trip_frames, k + 1))
        if k and results[k - 1] is not PASS and result is PASS:
            assert set(verdicts[max(0, k + 1 - config.recover_frames) : k + 1]) == {PASS}
            assert k + 1 >= config.recover_frames
        if verdicts[: k + 1].count(PASS) == k + 1:
            assert result is PASS
        if result is REJECT:
            assert REJECT in window


@given(sequences, configs, st.integers(1, 39))
def test_a_gap_makes_the_gate_forget(verdicts: list[Verdict], config: GateOptions, cut: int) -> None:
    cut = min(cut, len(verdicts))
    gap_ns = round(config.reset_gap_ns) + 1
    stamps_ns = [k * PERIOD_NS + (gap_ns if k >= cut else 0) for k in range(len(verdicts))]
    together = [quality.verdict for quality, _ in run(verdicts, config, stamps_ns)]
    assert together == judged(verdicts[:cut], config) + judged(verdicts[cut:], config)


@given(sequences, st.lists(st.integers(0, 300 * MS), min_size=40, max_size=40))
def test_verdicts_depend_on_the_frames_and_not_on_when_they_are_judged(
    verdicts: list[Verdict], delays_ns: list[int]
) -> None:
    config, live, again = GateOptions(), GateState(), GateState()
    for k, verdict in enumerate(verdicts):
        stamp_ns = k * PERIOD_NS
        late = GateFrame(View.TOP, stamp_ns, stamp_ns + delays_ns[k], judged_alone(statistics_of(verdict)))
        live, *live_results = step(live, late, config)
        again, *again_results = step(again, dataclasses.replace(late, now_ns=stamp_ns), config)
        assert (live, live_results) == (again, again_results)


def test_one_soft_frame_among_good_ones_does_not_trip() -> None:
    assert judged([PASS, PASS, HOLD, PASS, PASS, HOLD, PASS]) == [PASS] * 7


def test_three_soft_frames_of_five_trip_and_five_good_ones_recover() -> None:
    verdicts = [PASS, HOLD, HOLD, PASS, HOLD, PASS, PASS, PASS, PASS, PASS]
    assert judged(verdicts) == [PASS] * 4 + [HOLD] * 5 + [PASS]


def test_one_severe_frame_shuts_at_once_and_for_a_window() -> None:
    config = GateOptions(window_frames=3, trip_frames=2, recover_frames=5)
    verdicts = [PASS, REJECT, PASS, PASS, PASS, PASS, PASS]
    assert judged(verdicts, config) == [PASS, REJECT, REJECT, REJECT, HOLD, HOLD, PASS]


def test_a_first_bad_frame_has_nothing_to_speak_for_it() -> None:
    assert judged([HOLD]) == [HOLD]


@pytest.mark.parametrize(
    ("back_ns", "words"),
    [(0, "seen before"), (7 * MS, "7.0 ms behind"), (10**18, "a stamp is in nanoseconds")],
)
def test_a_stale_frame_is_held_and_changes_nothing(back_ns: int, words: str) -> None:
    config = GateOptions()
    frame = GateFrame(View.TOP, 900 * MS, 905 * MS, judged_alone(statistics_of(PASS)))
    state, _, _ = step(GateState(), frame, config)
    stale = dataclasses.replace(frame, stamp_ns=900 * MS - back_ns)
    after, quality, lease = step(state, stale, config)
    assert after == state
    assert (quality.verdict, lease.verdict) == (HOLD, HOLD)
    assert words in lease.reason


def test_the_reason_names_value_bound_and_fault() -> None:
    ((quality, lease),) = run([HOLD])
    assert quality.reason == lease.reason == "sharpness 12.0 below 20.0: blurred"
    ((_, lease),) = run([REJECT])
    assert lease.reason == "sharpness 3.0 below 10.0: blurred"


def test_the_worst_faults_come_first_and_the_rest_is_counted() -> None:
    values = {statistic.value: 35.0 for statistic in Statistic}
    statistics = ImageStatistics(640, 480, **{**values, "noise": 50.0})
    frame = GateFrame(View.TOP, MS, MS, judged_alone(statistics))
    _, quality, _ = step(GateState(), frame, GateOptions())
    assert quality.reason.startswith("noise 50.00 above 40.00: noisy; ")
    assert quality.reason.endswith(f"; {len(Statistic) - 3} more")


def test_a_shut_gate_counts_good_frames_and_keeps_its_cause() -> None:
    _, _, (_, lease) = run([REJECT, PASS, PASS])
    assert lease.reason == "2 of 5 good frames since: sharpness 3.0 below 10.0: blurred"


@given(sequences)
def test_a_reason_is_given_exactly_when_something_is_wrong(verdicts: list[Verdict]) -> None:
    for quality, lease in run(verdicts):
        assert bool(lease.reason) == (lease.judged is not PASS)
        assert bool(quality.reason) == (quality.verdict is not PASS or quality.frame_verdict is not PASS)


@given(sequences, st.sampled_from(GateMode))
def test_modes_change_what_the_arm_obeys(verdicts: list[Verdict], mode: GateMode) -> None:
    reference = judged(verdicts)
    for (quality, lease), expected in zip(run(verdicts, GateOptions(mode=mode)), reference, strict=True):
        assert lease.judged is quality.verdict
        if mode is GateMode.OFF:
            assert (lease.verdict, lease.judged) == (PASS, PASS)
        else:
            assert lease.judged is expected
            assert lease.verdict is (expected if mode is GateMode.ON else PASS)


def test_mode_off_needs_no_statistics_and_no_calibration() -> None:
    frame = GateFrame(View.TOP, 900 * MS, 905 * MS, None)
    _, quality, lease = step(GateState(), frame, GateOptions(mode=GateMode.OFF))
    assert (quality.statistics, lease.verdict, lease.expires_ns) == (None, PASS, 1020 * MS)


@pytest.mark.parametrize("now_ms", [1000, 1005, 5000])
def test_a_lease_ends_with_its_frame(now_ms: int) -> None:
    frame = GateFrame(View.TOP, 1000 * MS, now_ms * MS, judged_alone(statistics_of(PASS)))
    _, _, lease = step(GateState(), frame, GateOptions(lease=LeaseOptions(ttl_s=0.12)))
    assert (lease.frame_stamp_ns, lease.expires_ns) == (1000 * MS, 1120 * MS)


@pytest.mark.parametrize("mode", GateMode)
def test_a_stamp_from_the_future_does_not_lengthen_the_lease(mode: GateMode) -> None:
    frame = GateFrame(View.TOP, 9000 * MS, 1000 * MS, judged_alone(statistics_of(PASS)))
    _, _, lease = step(GateState(), frame, GateOptions(mode=mode))
    assert lease.expires_ns == 1120 * MS


@pytest.mark.parametrize(
    ("view", "statistics", "calibration", "words"),
    [
        (View.TOP, statistics_of(PASS), None, "not calibrated"),
        (View.SIDE, statistics_of(PASS), CALIBRATION, "of the top camera"),
        (View.TOP, dataclasses.replace(statistics_of(PASS), width_px=320), CALIBRATION, "320x480"),
        (View.TOP, dataclasses.replace(statistics_of(PASS), noise=math.nan), CALIBRATION, "nan"),
    ],
)
def test_what_cannot_be_judged_is_rejected(
    view: View, statistics: ImageStatistics, calibration: GateCalibration | None, words: str
) -> None:
    judgement = Judgement(*judge_image(view, statistics, calibration), statistics)
    _, _, lease = step(GateState(), GateFrame(view, MS, MS, judgement), GateOptions())
    assert lease.verdict is REJECT
    assert words in lease.reason


def test_a_frame_that_nobody_judged_is_rejected() -> None:
    _, quality, lease = step(GateState(), GateFrame(View.TOP, MS, MS, None), GateOptions())
    assert (quality.verdict, lease.verdict) == (REJECT, REJECT)


def test_a_judgement_that_binds_at_once_shuts_the_gate_with_one_frame() -> None:
    at_once = Judgement(HOLD, "expected loss 0.300 above 0.050", at_once=True)
    state, verdicts = GateState(), []
    for k, judgement in enumerate([GOOD, GOOD, at_once, *[GOOD] * 5]):
        state, quality, _ = step(state, GateFrame(View.TOP, k * PERIOD_NS, 0, judgement), GateOptions())
        verdicts.append(quality.verdict)
    assert verdicts == [PASS, PASS, *[HOLD] * 5, PASS]


def test_the_trip_cannot_exceed_the_window() -> None:
    with pytest.raises(UsageError, match="trip_frames"):
        GateOptions(trip_frames=6, window_frames=5)


@pytest.mark.parametrize(("more_ns", "verdict"), [(0, PASS), (1, HOLD)])
def test_a_gap_is_longer_than_its_limit(more_ns: int, verdict: Verdict) -> None:
    gap_ns = round(GateOptions().reset_gap_ms * MS) + more_ns
    results = run([PASS, PASS, HOLD], stamps_ns=[0, 1, 1 + gap_ns])
    assert results[-1][0].verdict is verdict
    assert GateState().good_in_a_row == 0


@given(sequences, st.integers(1, 39), st.sampled_from([1.0, 500.0]), st.sampled_from([0.12, 1.0]))
def test_a_gap_fails_closed(verdicts: list[Verdict], cut: int, reset_gap_ms: float, ttl_s: float) -> None:
    """What the gate forgets permits nothing: the arm has stood since before the frame after a gap."""
    config = GateOptions(reset_gap_ms=reset_gap_ms, lease=LeaseOptions(ttl_s=ttl_s))
    cut = min(cut, len(verdicts) - 1)
    gap_ns = round(config.reset_gap_ns) + 1
    stamps_ns = [k * PERIOD_NS + (gap_ns if k >= cut else 0) for k in range(len(verdicts))]
    results = run(verdicts, config, stamps_ns)
    ended_ns = max((lease.expires_ns for _, lease in results[:cut]), default=0) + config.lease.overrun_ns
    assert cut == 0 or ended_ns < stamps_ns[cut]
    quality, lease = results[cut]
    assert lease.verdict is verdicts[cut], "it stands for itself: a single bad one is enough"
    assert quality.frame_verdict is verdicts[cut]


@pytest.mark.parametrize("options", [GateOptions, RepairOptions])
def test_type_checkers_see_the_fields_of_options_with_their_defaults(options: type) -> None:
    module = sys.modules[options.__module__]
    tree = ast.parse(inspect.getsource(module))
    (seen,) = (
        node
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef) and one.name == options.__name__
        for node in ast.walk(one)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    names = [argument.arg for argument in seen.args.args[1:]]
    assert names == [field.name for field in dataclasses.fields(options)]
    defaults = [eval(ast.unparse(node), vars(module)) for node in seen.args.defaults]
    told = {name: value for name, value in zip(names, defaults, strict=True) if value is not ...}
    assert options(**told) == options()
