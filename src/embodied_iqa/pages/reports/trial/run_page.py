"""One run in the report of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, ordered_views
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.constants_files import calibration_command
from embodied_iqa.pages.reports.kit.line_plot import Axis, LinePlot, line_plot
from embodied_iqa.pages.reports.trial.frame_spans import LevelSpan, level_spans
from embodied_iqa.pages.reports.trial.gate_timeline import (
    BlockedPeriod,
    GateTimeline,
    blocked_periods,
    gate_timelines,
)
from embodied_iqa.pages.reports.trial.recorded_frames import RecordedFrame
from embodied_iqa.pages.reports.trial.run_images import Moment, ViewRow, moment_of, view_rows
from embodied_iqa.pages.reports.trial.run_subjects import (
    Answer,
    Fact,
    answers_of,
    decision_facts,
    one_hardly_turns,
)
from embodied_iqa.runs.graph.session_results import SubjectScore
from embodied_iqa.runs.trial.scores import RunScores, comparable_decisions

_X_MM: Final = Axis("x, away from the robot is negative [mm]", 100.0)
_Y_MM: Final = Axis("y [mm]", 100.0)
_TIME_S: Final = Axis("time [s]", 1.0)
_HEIGHT_MM: Final = Axis("height [mm]", 50.0)


@dataclass(frozen=True, slots=True, eq=False)
class RunPage:
    """One run.

    Attributes:
        anchor: For links.
        record: What happened.
        reference: The reference run; None without one.
        scores: Of the run.
        timelines: Verdicts over time by camera.
        levels: Levels of the distortion over time; empty where they do not change.
        blocked: When and why frames were held or rejected.
        moment: The moment that the images show.
        views: A row for each camera.
        answers: Of the VLM: reference, then distorted.
        facts: About the VLA's decisions at the moment shown.
        hardly_turns: One of the two scored actions turns too little for a direction, the other does not.
        map_plot: Tool path from above, or None.
        height_plot: Tool height over time, or None.
        remarks: What is missing.
        has_vlm: A VLM was to answer.
        vlm_command: Measures the constants without which the answers have no score; empty without answers.
        vla_command: The same of the decisions.
        without: Scores that the rescoring left out.
    """

    anchor: str
    record: RunRecord
    reference: RunRecord | None
    scores: RunScores
    timelines: tuple[GateTimeline, ...]
    levels: tuple[LevelSpan, ...]
    blocked: tuple[BlockedPeriod, ...]
    moment: Moment
    views: tuple[ViewRow, ...]
    answers: tuple[Answer, ...]
    facts: tuple[Fact, ...]
    hardly_turns: bool
    map_plot: LinePlot | None
    height_plot: LinePlot | None
    remarks: tuple[str, ...]
    has_vlm: bool
    vlm_command: str
    vla_command: str
    without: tuple[SubjectScore, ...]


def run_page(
    run: RunRecord,
    scores: RunScores,
    reference: RunRecord | None,
    frames: Mapping[View, RecordedFrame],
    *,
    anchor: str,
    max_bytes: int,
    has_vlm: bool = True,
    without: tuple[SubjectScore, ...] = (),
) -> RunPage:
    """Assemble everything about one run.

    Args:
        run: The record.
        scores: Of the run.
        reference: The reference run, to compare with; None without one.
        frames: At the moment given by `run_images.moment_of`.
        anchor: For links.
        max_bytes: Of each image.
        has_vlm: A VLM was to answer.
        without: Scores that the rescoring left out.
    """
    moment, timelines, plots = moment_of(run), gate_timelines(run), _tool_plots(run, reference)
    return RunPage(
        anchor=anchor,
        record=run,
        reference=reference,
        scores=scores,
        timelines=timelines,
        levels=level_spans(run),
        blocked=blocked_periods(timelines),
        moment=moment,
        views=view_rows(run, moment, frames, max_bytes),
        answers=answers_of(run),
        facts=decision_facts(moment),
        hardly_turns=one_hardly_turns(run),
        map_plot=plots[0],
        height_plot=plots[1],
        remarks=_remarks(run, moment, frames),
        has_vlm=has_vlm,
        vlm_command=_vlm_command(run),
        vla_command=_vla_command(run),
        without=without,
    )


def _vlm_command(run: RunRecord) -> str:
    raw, distorted = run.answer(Source.RAW), run.answer(Source.DISTORTED)
    return "" if raw is None or distorted is None else calibration_command(raw.subject, Role.VLM)


def _vla_command(run: RunRecord) -> str:
    pairs = comparable_decisions(run)
    return calibration_command(pairs[0][0].subject, Role.VLA) if pairs else ""


def _remarks(run: RunRecord, moment: Moment, frames: Mapping[View, RecordedFrame]) -> tuple[str, ...]:
    remarks = []
    if run.outcome is None and run.was_executed:
        remarks.append("The recording has no end of this run: this may be only a part of it.")
    if not frames:
        remarks.append(f"No image of {moment.name} was recorded.")
    used = {verdict.view for verdict in run.verdicts} | {chunk.view for chunk in run.chunks}
    absent = [str(view) for view in ordered_views(used.difference(frames))]
    if absent and frames:
        remarks.append(f"No image of this moment was recorded by: {', '.join(absent)}.")
    if not run.verdicts:
        remarks.append("The gate judged no frame in this run.")
    return tuple(remarks)


def _tool_plots(run: RunRecord, reference: RunRecord | None) -> tuple[LinePlot | None, LinePlot | None]:
    """Plot the path of the tool from above, and its height over time, beside the reference run."""

    def line(
        record: RunRecord | None, columns: list[int], factors: list[float]
    ) -> NDArray[np.float64] | None:
        return None if record is None else np.asarray(record.tool_path[:, columns] * factors)

    first, second = (run, None) if run.distortion is None else (reference, run)
    xy_mm = ([1, 2], [1e3, 1e3])
    height_mm = ([0, 3], [1.0, 1e3])
    return (
        line_plot(line(first, *xy_mm), line(second, *xy_mm), _X_MM, _Y_MM, equal=True),
        line_plot(line(first, *height_mm), line(second, *height_mm), _TIME_S, _HEIGHT_MM),
    )
