"""One run in the report of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import View
from embodied_iqa.reports.kit.formatting import distortion_name, seconds
from embodied_iqa.reports.kit.line_plot import Axis, LinePlot, line_plot
from embodied_iqa.reports.trial.gate_timeline import (
    BlockedPeriod,
    GateTimeline,
    blocked_periods,
    gate_timelines,
)
from embodied_iqa.reports.trial.recorded_frames import RecordedFrame
from embodied_iqa.reports.trial.run_pictures import Moment, ViewRow, moment_of, view_rows
from embodied_iqa.reports.trial.run_scores import (
    Badge,
    GateCount,
    ScoreText,
    badge_of,
    gate_count,
    score_texts,
)
from embodied_iqa.reports.trial.run_subjects import Answer, Decisions, answers_of, decisions_of
from embodied_iqa.trial.record import RunRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["RunPage", "run_page"]

_X_MM: Final = Axis("x, away from the robot is negative [mm]", 100.0)
_Y_MM: Final = Axis("y [mm]", 100.0)
_TIME_S: Final = Axis("time [s]", 1.0)
_HEIGHT_MM: Final = Axis("height [mm]", 50.0)


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run as text and drawings; the template computes nothing.

    Attributes:
        anchor: For links.
        title: Such as "Lens blur".
        level: 1 to 5; 0 for the reference run.
        detail: Distortion, level and seed.
        badge: How it ended.
        reason: Why it ended.
        scores: Cognition, decision, execution.
        gate: Frames by verdict.
        timelines: Verdicts over time by camera.
        blocked: When and why frames were held or rejected.
        duration: Of the run.
        frames_lost: Such as "0 of 240".
        moment: The moment that the pictures show.
        views: A row for each camera.
        answers: Reference, then distorted.
        decisions: Of the VLA.
        map_plot: Tool path from above, or None.
        height_plot: Tool height over time, or None.
        remarks: What is missing.
        distorted: False for the reference run.
    """

    anchor: str
    title: str
    level: int
    detail: str
    badge: Badge
    reason: str
    scores: tuple[ScoreText, ...]
    gate: GateCount
    timelines: tuple[GateTimeline, ...]
    blocked: tuple[BlockedPeriod, ...]
    duration: str
    frames_lost: str
    moment: str
    views: tuple[ViewRow, ...]
    answers: tuple[Answer, ...]
    decisions: Decisions
    map_plot: LinePlot | None
    height_plot: LinePlot | None
    remarks: tuple[str, ...]
    distorted: bool


def run_page(
    run: RunRecord,
    scores: RunScores,
    reference: RunRecord | None,
    frames: Mapping[View, RecordedFrame],
    *,
    anchor: str,
    max_bytes: int,
) -> RunPage:
    """Assemble everything about one run.

    Args:
        run: The record.
        scores: Of the run.
        reference: The reference run, drawn beside it; None without one.
        frames: Of the run's moment (see `run_pictures.moment_of`).
        anchor: For links.
        max_bytes: Of each picture.
    """
    moment, lost = moment_of(run), scores.frames
    map_plot, height_plot = _tool_paths(run, reference)
    timelines = gate_timelines(run)
    return RunPage(
        anchor=anchor,
        title="Reference run" if run.distortion is None else distortion_name(run.distortion),
        level=0 if run.distortion is None else run.distortion.level,
        detail=_detail(run),
        badge=badge_of(run),
        reason=run.reason,
        scores=score_texts(run, scores, reference),
        gate=gate_count(scores),
        timelines=timelines,
        blocked=blocked_periods(timelines),
        duration=seconds(run.end_ns - run.start_ns, 1),
        frames_lost="not counted" if run.outcome is None else f"{lost.lost} of {lost.published}",
        moment=f"{moment.name}, {seconds(moment.stamp_ns - run.start_ns)} after the start",
        views=view_rows(run, moment, frames, max_bytes),
        answers=answers_of(run),
        decisions=decisions_of(run, scores, moment),
        map_plot=map_plot,
        height_plot=height_plot,
        remarks=_remarks(run, moment, frames),
        distorted=run.distortion is not None,
    )


def _detail(run: RunRecord) -> str:
    spec = run.distortion
    if spec is None:
        return "Undistorted pictures"
    frozen = ", frozen: the same in every frame" if spec.frozen else ""
    return f"Distortion {spec.id}, level {spec.level} of 5, seed {spec.seed}{frozen}"


def _remarks(run: RunRecord, moment: Moment, frames: Mapping[View, RecordedFrame]) -> tuple[str, ...]:
    remarks = []
    if run.outcome is None:
        remarks.append("The recording has no end of this run: this may be only a part of it.")
    if not frames:
        remarks.append(f"No picture of {moment.name} was recorded.")
    used = {verdict.view for verdict in run.verdicts} | {chunk.view for chunk in run.chunks}
    absent = [str(view) for view in View if view in used and view not in frames]
    if absent and frames:
        remarks.append(f"No picture of this moment was recorded by: {', '.join(absent)}.")
    if not run.verdicts:
        remarks.append("The gate judged no frame in this run.")
    return tuple(remarks)


def _tool_paths(run: RunRecord, reference: RunRecord | None) -> tuple[LinePlot | None, LinePlot | None]:
    """Return the path of the tool from above, and its height over time, beside the reference run."""
    first = run if run.distortion is None else reference
    second = None if run.distortion is None else run
    x_y, time_height = ((1, 2), (1e3, 1e3)), ((0, 3), (1.0, 1e3))
    seen = line_plot(_columns(first, *x_y), _columns(second, *x_y), _X_MM, _Y_MM, equal=True)
    height = line_plot(_columns(first, *time_height), _columns(second, *time_height), _TIME_S, _HEIGHT_MM)
    return seen, height


def _columns(
    run: RunRecord | None, columns: tuple[int, int], factors: tuple[float, float]
) -> NDArray[np.float64] | None:
    if run is None or len(run.tool_path) == 0:
        return None
    return np.asarray(run.tool_path[:, columns] * np.array(factors), dtype=np.float64)
