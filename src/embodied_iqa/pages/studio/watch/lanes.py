"""A run on the time axis of the player: images, verdicts, curves, and the moments to jump to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.assembler import Source as ImageSource
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.trial.frame_spans import LevelSpan, level_spans
from embodied_iqa.pages.reports.trial.gate_timeline import GateTimeline, gate_timelines
from embodied_iqa.pages.studio.watch.live import LiveRecording
from embodied_iqa.pages.studio.watch.track import RunTrack

Array = NDArray[np.float64]
_CURVE_PX: Final = 40
_MOST_POINTS: Final = 600
_MM: Final = 1e3


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity over the time of a run, on an image of 100 x 40.

    Attributes:
        title: With the unit.
        points: Of an SVG polyline.
        highest: Value at the upper edge.
        values: Rows of seconds and value, for the number at the cursor.
    """

    title: str
    points: str
    highest: float
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the VLA on the time axis.

    Attributes:
        at_s: Stamp of its frame since the start.
        share: The same in percent of the run.
        words: What was decided.
    """

    at_s: float
    share: float
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One run beside another or alone.

    Attributes:
        address: Of the run, for its images.
        record: What happened.
        duration_s: From start to end.
        timelines: Verdicts by camera.
        levels: Of the distortion over time; empty where it is constant.
        curves: Tool speed and gripper.
        decisions: By time.
        frames_s: Stamps of the images of each camera since the start.
        live: The recording while it is being written; None for a whole one.
    """

    address: str
    record: RunRecord
    duration_s: float
    timelines: tuple[GateTimeline, ...]
    levels: tuple[LevelSpan, ...]
    curves: tuple[Curve, ...]
    decisions: tuple[Decision, ...]
    frames_s: Mapping[View, tuple[float, ...]]
    live: LiveRecording | None = None

    @property
    def state(self) -> str:
        """How the run ended, and the mode of its gate."""
        outcome = self.record.outcome or ("running" if self.live else "not ended")
        return f"{outcome.replace('_', ' ')}; gate {self.record.gate_mode}"

    @property
    def data(self) -> dict[str, Any]:
        """What the player needs, as JSON has it."""
        holds = sorted({span.start_s for line in self.timelines for span in line.blocked})
        return {
            "address": self.address,
            "state": self.state,
            "duration_s": self.duration_s,
            "frames": {str(view): stamps for view, stamps in self.frames_s.items()},
            "verdicts": {str(line.view): self._verdicts(line.view) for line in self.timelines},
            "holds": holds,
            "decisions": [[item.at_s, item.words] for item in self.decisions],
            "levels": [[span.start_s, span.end_s, span.level] for span in self.levels],
            "curves": [curve.values for curve in self.curves],
            "position": None if self.live is None else self.live.position,
        }

    def _verdicts(self, view: View) -> list[tuple[float, str, str]]:
        """Return seconds, verdict and reason of the images of a camera; equal ones in a row once."""
        found: list[tuple[float, str, str]] = []
        judged = sorted(
            (one for one in self.record.verdicts if one.view == view), key=lambda one: one.stamp_ns
        )
        for one in judged:
            at_s, verdict = (one.stamp_ns - self.record.start_ns) / SECOND_NS, one.verdict.name.lower()
            if not found or found[-1][1:] != (verdict, one.reason):
                found.append((round(at_s, 4), verdict, one.reason))
        return found


def lane_of(record: RunRecord, track: RunTrack, address: str, live: LiveRecording | None = None) -> Lane:
    """Place a run on its time axis; ``live`` is its recording while it is being written."""
    last_ns = max((p.stamp_ns for places in track.frames.values() for p in places), default=record.end_ns)
    # rounded as the stamps are: the last image is not after the end
    duration_s = max(0.001, round((max(record.end_ns, last_ns) - record.start_ns) / SECOND_NS, 4))
    speed = _curve("tool speed, mm/s", tool_speed_mmps(record.tool_path), duration_s)
    gripper = _curve("gripper, 0 open to 1 closed", track.gripper, duration_s, highest=1.0)
    frames = {
        view: tuple(round((place.stamp_ns - record.start_ns) / SECOND_NS, 4) for place in places)
        for view, places in track.frames.items()
    }
    return Lane(
        address=address,
        record=record,
        duration_s=duration_s,
        timelines=gate_timelines(record),
        levels=level_spans(record),
        curves=tuple(curve for curve in (speed, gripper) if curve is not None),
        decisions=tuple(_decisions(record, duration_s)),
        frames_s=frames,
        live=live,
    )


def tool_speed_mmps(tool_path: Array) -> Array:
    """Return rows of seconds and speed [mm/s] from ``(N, 4)`` rows of seconds and x, y, z [m]."""
    if len(tool_path) < 2:
        return np.empty((0, 2))
    steps = np.diff(tool_path, axis=0)
    moving = steps[steps[:, 0] > 0]
    ends_s = tool_path[1:][steps[:, 0] > 0, 0]
    return np.column_stack([ends_s, _MM * np.linalg.norm(moving[:, 1:], axis=1) / moving[:, 0]])


def _decisions(record: RunRecord, duration_s: float) -> Sequence[Decision]:
    found = []
    for chunk in record.chunks:
        if chunk.source is ImageSource.DISTORTED or record.distortion is None:
            at_s = (chunk.stamp_ns - record.start_ns) / SECOND_NS
            status = "failed" if chunk.status is None else str(chunk.status).replace("_", " ")
            words = f"{status}, {len(chunk.increments)} steps: {chunk.reason}"
            found.append(Decision(round(at_s, 4), round(100 * at_s / duration_s, 3), words))
    unique = {item.at_s: item for item in found}
    return [unique[at_s] for at_s in sorted(unique)]


def _curve(title: str, rows: Array, duration_s: float, highest: float | None = None) -> Curve | None:
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        return None
    rows = rows[:: -(-len(rows) // _MOST_POINTS)]
    top = highest or max(1e-9, float(rows[:, 1].max()))
    x, y = 100 * rows[:, 0] / duration_s, _CURVE_PX * (1 - np.clip(rows[:, 1] / top, 0, 1))
    points = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
    values = tuple((round(float(t), 3), round(float(v), 3)) for t, v in rows)
    return Curve(title, points, top, values)
