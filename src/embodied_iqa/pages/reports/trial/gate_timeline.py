"""The gate's verdicts over time: spans of equal verdicts, and the periods in which it held or rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.data.recording.trial_record import RunRecord, VerdictRecord
from embodied_iqa.imaging.images.frame import View, ordered_views
from embodied_iqa.pages.reports.trial.frame_spans import FrameSpan, frame_spans

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
_SEPARATOR: Final = "; "
_CURVE_PX: Final = 28
_HEADROOM: Final = 1.1


@dataclass(frozen=True, slots=True)
class VerdictSpan(FrameSpan):
    """Consecutive frames with the same verdict.

    Attributes:
        verdict: Of all frames.
        reasons: Distinct reasons in order of appearance; see `merge_reasons`.
    """

    verdict: Verdict
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredictionCurve:
    """What the judge predicted over time, on an image of 100 x 28.

    Attributes:
        points: Of the curve, as an SVG polyline takes them.
        threshold_at: Height of the threshold, from the top.
        words: Lowest and highest prediction, and the threshold.
    """

    points: str
    threshold_at: float
    words: str


@dataclass(frozen=True, slots=True)
class GateTimeline:
    """The verdicts of one camera.

    Attributes:
        view: The camera.
        spans: By time.
        frames: Number of judged frames.
        curve: Predictions of a fitted judge; None where nothing was predicted.
    """

    view: View
    spans: tuple[VerdictSpan, ...]
    frames: int
    curve: PredictionCurve | None = None

    @property
    def blocked(self) -> tuple[VerdictSpan, ...]:
        """Spans that were held or rejected."""
        return tuple(span for span in self.spans if span.verdict is not Verdict.PASS)


@dataclass(frozen=True, slots=True)
class BlockedPeriod:
    """Equal spans, held or rejected for the same reasons, of one or several cameras."""

    span: VerdictSpan
    views: tuple[View, ...]


def gate_timelines(run: RunRecord) -> tuple[GateTimeline, ...]:
    """Return the timeline of each view that was judged, in the order of `ordered_views`."""
    found = []
    for view in ordered_views(verdict.view for verdict in run.verdicts):
        verdicts = sorted((v for v in run.verdicts if v.view == view), key=lambda v: v.stamp_ns)
        found.append(GateTimeline(view, _spans(verdicts, run), len(verdicts), _curve(verdicts, run)))
    return tuple(found)


def _curve(verdicts: Sequence[VerdictRecord], run: RunRecord) -> PredictionCurve | None:
    """Return the predictions over the run; frames without one, such as rejected ones, leave no point."""
    known = [
        (v.stamp_ns, v.predicted, v.threshold)
        for v in verdicts
        if v.predicted is not None and v.threshold is not None
    ]
    if not known:
        return None
    values, threshold = [value for _, value, _ in known], known[-1][2]
    low, high = min(0.0, *values, threshold), max(*values, threshold)
    scale = _CURVE_PX / ((high - low) * _HEADROOM or 1.0)
    total_ns = max(1, run.end_ns - run.start_ns)
    places = (
        (100 * (stamp_ns - run.start_ns) / total_ns, _CURVE_PX - scale * (value - low))
        for stamp_ns, value, _ in known
    )
    return PredictionCurve(
        points=" ".join(f"{x:.2f},{y:.2f}" for x, y in places),
        threshold_at=round(_CURVE_PX - scale * (threshold - low), 2),
        words=f"predicted {min(values):.3f} to {max(values):.3f}, threshold {threshold:.3f}",
    )


def blocked_periods(timelines: Sequence[GateTimeline]) -> tuple[BlockedPeriod, ...]:
    """Return by time when and why frames were held or rejected."""
    found: dict[tuple[float, float, Verdict, tuple[str, ...]], list[tuple[VerdictSpan, View]]] = {}
    for timeline in timelines:
        for span in timeline.blocked:
            key = (span.start_s, span.end_s, span.verdict, span.reasons)
            found.setdefault(key, []).append((span, timeline.view))
    return tuple(
        BlockedPeriod(found[key][0][0], tuple(view for _, view in found[key]))
        for key in sorted(found, key=lambda key: key[:3])
    )


def merge_reasons(reasons: Iterable[str]) -> tuple[str, ...]:
    """Merge reasons that differ in numbers only.

    "detail 0.12 below 0.31" and "detail 0.15 below 0.31" become "detail 0.12 to 0.15 below 0.31". A reason
    with several parts, separated by semicolons, counts as several.

    Args:
        reasons: By frame; empty ones are left out.

    Returns:
        Distinct reasons in order of appearance.
    """
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    parts = (part.strip() for reason in reasons for part in reason.split(_SEPARATOR))
    for part in filter(None, parts):
        found.setdefault(tuple(_NUMBER.split(part)), []).append(tuple(_NUMBER.findall(part)))
    return tuple(_with_ranges(words, numbers) for words, numbers in found.items())


def _with_ranges(words: tuple[str, ...], numbers: list[tuple[str, ...]]) -> str:
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    return words[0] + "".join(number + word for number, word in zip(ranges, words[1:], strict=True))


def _range(column: tuple[str, ...]) -> str:
    """Return the smallest and largest of numbers, with their original digits."""
    low, high = min(column, key=float), max(column, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"


def _spans(verdicts: Sequence[VerdictRecord], run: RunRecord) -> tuple[VerdictSpan, ...]:
    found = frame_spans([v.stamp_ns for v in verdicts], [v.verdict for v in verdicts], run)
    return tuple(
        VerdictSpan(
            verdict=verdicts[part.start].verdict,
            reasons=merge_reasons(v.reason for v in verdicts[part]),
            **asdict(span),
        )
        for part, span in found
    )
