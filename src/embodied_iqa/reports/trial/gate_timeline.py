"""The gate's verdicts over time: spans of equal verdicts, and the periods in which it held or rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Final

from embodied_iqa.gate.verdict import Verdict
from embodied_iqa.images.frame import View
from embodied_iqa.trial.record import RunRecord, VerdictRecord
from embodied_iqa.units import SECOND_NS

_DEFAULT_PERIOD_NS: Final = 66_000_000
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
_SEPARATOR: Final = "; "


@dataclass(frozen=True, slots=True)
class VerdictSpan:
    """Consecutive frames with the same verdict.

    Attributes:
        verdict: Of all frames.
        start_s: Stamp of the first frame since the start of the run.
        end_s: Stamp of the next frame with another verdict, or one period after the last frame.
        start_share: Start in percent of the run's time.
        width_share: Width in percent of the run's time.
        frames: Number of frames.
        reasons: Distinct reasons in order of appearance; see `merge_reasons`.
    """

    verdict: Verdict
    start_s: float
    end_s: float
    start_share: float
    width_share: float
    frames: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateTimeline:
    """The verdicts of one camera: its spans by time, and the number of judged frames."""

    view: View
    spans: tuple[VerdictSpan, ...]
    frames: int

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
    """Return the timeline of each view that was judged, in the order of `View`."""
    found = []
    for view in View:
        verdicts = sorted((v for v in run.verdicts if v.view is view), key=lambda v: v.stamp_ns)
        if verdicts:
            found.append(GateTimeline(view, _spans(verdicts, run), len(verdicts)))
    return tuple(found)


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
    groups = [list(group) for _, group in groupby(verdicts, key=lambda v: v.verdict)]
    starts_ns = [group[0].stamp_ns for group in groups]
    ends_ns = [*starts_ns[1:], verdicts[-1].stamp_ns + _period_ns(verdicts)]
    total_ns = max(1, max(run.end_ns, ends_ns[-1]) - run.start_ns)
    return tuple(
        VerdictSpan(
            verdict=group[0].verdict,
            start_s=(start - run.start_ns) / SECOND_NS,
            end_s=(end - run.start_ns) / SECOND_NS,
            start_share=round(100 * (start - run.start_ns) / total_ns, 3),
            width_share=round(100 * (end - start) / total_ns, 3),
            frames=len(group),
            reasons=merge_reasons(v.reason for v in group),
        )
        for group, start, end in zip(groups, starts_ns, ends_ns, strict=True)
    )


def _period_ns(verdicts: Sequence[VerdictRecord]) -> int:
    gaps = [b.stamp_ns - a.stamp_ns for a, b in pairwise(verdicts) if b.stamp_ns > a.stamp_ns]
    return int(median(gaps)) if gaps else _DEFAULT_PERIOD_NS
