"""Spans of consecutive frames with something in common, placed on the time of a run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import RunRecord

_DEFAULT_PERIOD_NS: Final = 66_000_000


@dataclass(frozen=True, slots=True)
class FrameSpan:
    """Consecutive frames.

    Attributes:
        start_s: Stamp of the first frame since the start of the run.
        end_s: Stamp of the first frame of the next span, or one period after the last frame.
        start_share: Start in percent of the run's time.
        width_share: Width in percent of the run's time.
        frames: Number of frames.
    """

    start_s: float
    end_s: float
    start_share: float
    width_share: float
    frames: int


@dataclass(frozen=True, slots=True)
class LevelSpan(FrameSpan):
    """Consecutive frames with the same level of the distortion, 0 to 5."""

    level: int


def level_spans(run: RunRecord) -> tuple[LevelSpan, ...]:
    """Return the levels of the judged frames over time; empty without a schedule."""
    if run.distortion is None or not run.distortion.schedule:
        return ()
    stamps_ns = sorted({verdict.stamp_ns for verdict in run.verdicts})
    levels = [run.level_at(stamp_ns) for stamp_ns in stamps_ns]
    return tuple(
        LevelSpan(level=levels[part.start], **asdict(span))
        for part, span in frame_spans(stamps_ns, levels, run)
    )


def frame_spans(
    stamps_ns: Sequence[int], keys: Sequence[Hashable], run: RunRecord
) -> Iterator[tuple[slice, FrameSpan]]:
    """Yield the spans of frames with equal keys, with their places in the sequences.

    Args:
        stamps_ns: Of the frames, ascending.
        keys: One for each frame.
        run: Sets the time axis.
    """
    if not stamps_ns:
        return
    begins = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    edges_ns = [*(stamps_ns[at] for at in begins), stamps_ns[-1] + _period_ns(stamps_ns)]
    total_ns = max(1, max(run.end_ns, edges_ns[-1]) - run.start_ns)
    places = pairwise([*begins, len(keys)])
    for (first, after), (start_ns, end_ns) in zip(places, pairwise(edges_ns), strict=True):
        yield (
            slice(first, after),
            FrameSpan(
                start_s=(start_ns - run.start_ns) / SECOND_NS,
                end_s=(end_ns - run.start_ns) / SECOND_NS,
                start_share=round(100 * (start_ns - run.start_ns) / total_ns, 3),
                width_share=round(100 * (end_ns - start_ns) / total_ns, 3),
                frames=after - first,
            ),
        )


def _period_ns(stamps_ns: Sequence[int]) -> int:
    gaps = [b - a for a, b in pairwise(stamps_ns) if b > a]
    return int(median(gaps)) if gaps else _DEFAULT_PERIOD_NS
