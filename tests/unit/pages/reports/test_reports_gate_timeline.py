"""The gate's verdicts as spans of time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.data.recording.trial_record import RunRecord, VerdictRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.trial.frame_spans import level_spans
from embodied_iqa.pages.reports.trial.gate_timeline import blocked_periods, gate_timelines

PERIOD_NS, START_NS = 100_000_000, 5_000_000_000
VERDICTS = st.lists(st.sampled_from(Verdict), min_size=1, max_size=40)


def _run(verdicts: list[VerdictRecord], end_ns: int | None = None) -> RunRecord:
    last_ns = max((v.stamp_ns for v in verdicts), default=START_NS)
    return RunRecord(
        0, None, START_NS, last_ns if end_ns is None else end_ns, None, "", np.eye(4), 0, 0, GateMode.ON,
        (), (), tuple(verdicts), np.empty((0, 4)),
    )  # fmt: skip


def _of(verdicts: list[Verdict], view: View = View.TOP, reason: str = "dark") -> list[VerdictRecord]:
    return [
        VerdictRecord(START_NS + k * PERIOD_NS, view, verdict, "" if verdict is Verdict.PASS else reason, 1.0)
        for k, verdict in enumerate(verdicts)
    ]


@given(VERDICTS)
def test_spans_follow_each_other_and_hold_every_frame(verdicts: list[Verdict]) -> None:
    (timeline,) = gate_timelines(_run(_of(verdicts)))
    assert timeline.frames == sum(span.frames for span in timeline.spans) == len(verdicts)
    assert [v for span in timeline.spans for v in [span.verdict] * span.frames] == verdicts
    for before, after in zip(timeline.spans, timeline.spans[1:], strict=False):
        assert before.end_s == after.start_s
        assert before.verdict is not after.verdict
    assert timeline.spans[0].start_s == 0
    assert all(span.start_share >= 0 and span.width_share > 0 for span in timeline.spans)
    assert sum(span.width_share for span in timeline.spans) == pytest.approx(100, abs=0.1)


def test_a_frame_counts_until_the_next() -> None:
    (timeline,) = gate_timelines(
        _run(_of([Verdict.HOLD, Verdict.PASS, Verdict.PASS]), START_NS + 10 * PERIOD_NS)
    )
    assert [(s.start_s, s.end_s) for s in timeline.spans] == [(0.0, 0.1), (0.1, pytest.approx(0.3))]
    assert [s.width_share for s in timeline.spans] == [10.0, 20.0]


def test_levels_of_a_schedule_are_those_of_the_judged_frames() -> None:
    frames = _of([Verdict.PASS] * 6)
    burst = DistortionSpec("19", 5, schedule="burst:start=0.15,length=0.2")
    run = dataclasses.replace(_run(frames + _of([Verdict.PASS] * 6, View.SIDE)), distortion=burst)
    spans = level_spans(run)
    assert [(s.level, s.frames) for s in spans] == [(0, 2), (5, 2), (0, 2)]
    assert [s.start_s for s in spans] == [0.0, 0.2, 0.4]
    assert sum(s.width_share for s in spans) == pytest.approx(100, abs=0.1)
    assert level_spans(dataclasses.replace(run, distortion=DistortionSpec("19", 5))) == ()
    assert level_spans(dataclasses.replace(run, verdicts=())) == ()


def test_cameras_that_agree_share_a_line() -> None:
    both = [Verdict.HOLD, Verdict.PASS, Verdict.REJECT]
    run = _run(_of(both) + _of(both, View.SIDE) + _of([Verdict.PASS] * 3, View.WRIST))
    lines = blocked_periods(gate_timelines(run))
    assert [(line.span.verdict, line.views) for line in lines] == [
        (Verdict.HOLD, (View.TOP, View.SIDE)),
        (Verdict.REJECT, (View.TOP, View.SIDE)),
    ]
    assert lines[0].span.reasons == ("dark",)


def test_different_reasons_stay_apart() -> None:
    run = _run(_of([Verdict.HOLD]) + _of([Verdict.HOLD], View.SIDE, "blurred"))
    assert sorted(line.span.reasons for line in blocked_periods(gate_timelines(run))) == [
        ("blurred",),
        ("dark",),
    ]


def test_no_verdict_no_timeline() -> None:
    assert gate_timelines(_run([])) == ()


def test_order_of_arrival_does_not_matter() -> None:
    verdicts = _of([Verdict.PASS, Verdict.HOLD, Verdict.PASS])
    run = _run(verdicts)
    shuffled = dataclasses.replace(run, verdicts=(verdicts[2], verdicts[0], verdicts[1]))
    assert gate_timelines(run) == gate_timelines(shuffled)


def test_predictions_are_a_curve_beside_the_threshold() -> None:
    frames = _of([Verdict.PASS, Verdict.HOLD, Verdict.REJECT, Verdict.PASS])
    values = (0.1, 0.4, None, 0.2)  # nothing is predicted of a rejected frame
    predicted = [
        dataclasses.replace(frame, predicted=value, threshold=None if value is None else 0.3)
        for frame, value in zip(frames, values, strict=True)
    ]
    (timeline,) = gate_timelines(_run(predicted, START_NS + 10 * PERIOD_NS))
    assert timeline.curve is not None
    points = [tuple(map(float, pair.split(","))) for pair in timeline.curve.points.split()]
    assert [x for x, _ in points] == [0.0, 10.0, 30.0]
    assert 28 > points[0][1] > points[2][1] > timeline.curve.threshold_at > points[1][1] > 0
    assert timeline.curve.words == "predicted 0.100 to 0.400, threshold 0.300"
    (plain,) = gate_timelines(_run(frames))
    assert plain.curve is None


def test_equal_predictions_of_nothing_are_a_curve_too() -> None:
    frames = [dataclasses.replace(frame, predicted=0.0, threshold=0.0) for frame in _of([Verdict.PASS] * 2)]
    (timeline,) = gate_timelines(_run(frames))
    assert timeline.curve is not None
    assert "nan" not in timeline.curve.points
