"""The gate's verdicts over time: spans of equal verdicts for a strip, and the reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Final

from embodied_iqa.gate.verdict import Verdict
from embodied_iqa.images.frame import View
from embodied_iqa.reports.trial.reasons import merge_reasons
from embodied_iqa.trial.record import RunRecord, VerdictRecord

__all__ = ["Strip", "Trouble", "VerdictSpan", "gate_strips", "troubles"]

_SECOND_NS: Final = 1_000_000_000
_DEFAULT_PERIOD_NS: Final = 66_000_000


@dataclass(frozen=True, slots=True)
class VerdictSpan:
    """Frames in a row with the same verdict.

    Attributes:
        verdict: Theirs.
        start_s: Stamp of the first one since the start of the run.
        end_s: Stamp of the next frame with another verdict, or one period after the last.
        start_share: Start in percent of the run's time.
        width_share: Width in percent of the run's time.
        frames: How many.
        reasons: Different reasons, in the order in which they came; see `merge_reasons`.
    """

    verdict: Verdict
    start_s: float
    end_s: float
    start_share: float
    width_share: float
    frames: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """One camera's verdicts.

    Attributes:
        view: The camera.
        spans: By time.
        frames: How many frames were judged.
    """

    view: View
    spans: tuple[VerdictSpan, ...]
    frames: int

    @property
    def troubled(self) -> tuple[VerdictSpan, ...]:
        """The spans in which the arm was not to move."""
        return tuple(span for span in self.spans if span.verdict is not Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A time in which the arm was not to move, for one reason.

    Attributes:
        verdict: HOLD or REJECT.
        start_s: Since the start of the run.
        end_s: Since the start of the run.
        views: The cameras that were judged so at the same time.
        reasons: In words; empty where none was given.
    """

    verdict: Verdict
    start_s: float
    end_s: float
    views: tuple[View, ...]
    reasons: tuple[str, ...]


def troubles(strips: Sequence[Strip]) -> tuple[Trouble, ...]:
    """Return when and why the arm was not to move, by time; cameras that agree share a line."""
    views: dict[tuple[float, float, Verdict, tuple[str, ...]], list[View]] = {}
    for strip in strips:
        for span in strip.troubled:
            key = (span.start_s, span.end_s, span.verdict, span.reasons)
            views.setdefault(key, []).append(strip.view)
    return tuple(
        Trouble(verdict, start_s, end_s, tuple(views[start_s, end_s, verdict, reasons]), reasons)
        for start_s, end_s, verdict, reasons in sorted(views, key=lambda key: key[:3])
    )


def gate_strips(run: RunRecord) -> tuple[Strip, ...]:
    """Return one strip for each view that was judged, in the order of `View`."""
    found = []
    for view in View:
        verdicts = sorted((v for v in run.verdicts if v.view is view), key=lambda v: v.stamp_ns)
        if verdicts:
            found.append(Strip(view, _spans(verdicts, run), len(verdicts)))
    return tuple(found)


def _spans(verdicts: Sequence[VerdictRecord], run: RunRecord) -> tuple[VerdictSpan, ...]:
    groups = [list(group) for _, group in groupby(verdicts, key=lambda v: v.verdict)]
    starts_ns = [group[0].stamp_ns for group in groups]
    ends_ns = [*starts_ns[1:], verdicts[-1].stamp_ns + _period_ns(verdicts)]
    total_ns = max(1, max(run.end_ns, ends_ns[-1]) - run.start_ns)
    return tuple(
        VerdictSpan(
            verdict=group[0].verdict,
            start_s=(start - run.start_ns) / _SECOND_NS,
            end_s=(end - run.start_ns) / _SECOND_NS,
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
