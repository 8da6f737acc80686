"""One run as the report shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import View
from embodied_iqa.kinematics import chain_increments, rotation_to_rotvec
from embodied_iqa.reports.kit.formatting import ABSENT, number, seconds
from embodied_iqa.reports.kit.plots import Axis, Plot, line_plot
from embodied_iqa.reports.trial.gate_strip import gate_strips, troubles
from embodied_iqa.reports.trial.headline import distortion_name
from embodied_iqa.reports.trial.page_model import Answer, Decided, Fact, RunPage, Side
from embodied_iqa.reports.trial.page_pictures import Moment, moment_of, view_rows
from embodied_iqa.reports.trial.page_scores import badge_of, gate_count, scores_of
from embodied_iqa.reports.trial.projection import chunk_points_m
from embodied_iqa.reports.trial.recorded_shots import Shot
from embodied_iqa.reports.trial.word_diff import MarkedWords, compare_words
from embodied_iqa.subjects.protocols import ChunkStatus
from embodied_iqa.trial.record import AnswerRecord, ChunkRecord, RunRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["run_page"]

_X_MM: Final = Axis("x, away from the robot is negative [mm]", 100.0)
_Y_MM: Final = Axis("y [mm]", 100.0)
_TIME_S: Final = Axis("time [s]", 1.0)
_HEIGHT_MM: Final = Axis("height [mm]", 50.0)
_STATUS: Final = {
    ChunkStatus.ACT: "acts",
    ChunkStatus.DONE: "says the task is done",
    ChunkStatus.NO_TARGET: "sees no target",
    None: "failed",
}


def run_page(
    run: RunRecord,
    scores: RunScores,
    reference: RunRecord | None,
    shots: Mapping[View, Shot],
    *,
    anchor: str,
    most_bytes: int,
) -> RunPage:
    """Put together everything of one run.

    Args:
        run: What happened.
        scores: What it is worth.
        reference: The trial's reference run, to draw beside it; None where there is none.
        shots: What the cameras saw at the run's moment (see `page_pictures.moment_of`).
        anchor: For links.
        most_bytes: Of each picture.
    """
    moment = moment_of(run)
    map_plot, height_plot = _paths(run, reference)
    strips, frames = gate_strips(run), scores.frames
    return RunPage(
        anchor=anchor,
        title="Reference run" if run.distortion is None else distortion_name(run.distortion),
        level=0 if run.distortion is None else run.distortion.level,
        detail=_detail(run),
        badge=badge_of(run),
        reason=run.reason,
        scores=scores_of(run, scores, reference),
        gate=gate_count(scores),
        strips=strips,
        troubles=troubles(strips),
        duration=seconds(run.end_ns - run.start_ns, 1),
        frames_lost=f"{frames.lost} of {frames.published}" if run.outcome is not None else "not counted",
        moment=f"{moment.name}, {seconds(moment.stamp_ns - run.start_ns)} after the start",
        views=view_rows(run, moment, shots, most_bytes),
        answers=_answers(run),
        decided=_decided(run, scores, moment),
        map_plot=map_plot,
        height_plot=height_plot,
        remarks=_remarks(run, moment, shots),
        distorted=run.distortion is not None,
    )


def _detail(run: RunRecord) -> str:
    spec = run.distortion
    if spec is None:
        return "Undistorted pictures"
    frozen = ", frozen: the same in every frame" if spec.frozen else ""
    return f"Distortion {spec.id}, level {spec.level} of 5, seed {spec.seed}{frozen}"


def _remarks(run: RunRecord, moment: Moment, shots: Mapping[View, Shot]) -> tuple[str, ...]:
    remarks = []
    if run.outcome is None:
        remarks.append("The recording has no end of this run: what is shown may be a part of it.")
    if not shots:
        remarks.append(f"No picture of {moment.name} was recorded.")
    known = {verdict.view for verdict in run.verdicts} | {chunk.view for chunk in run.chunks}
    absent = [str(view) for view in View if view in known and view not in shots]
    if absent and shots:
        remarks.append(f"No picture of this moment was recorded by: {', '.join(absent)}.")
    if not run.verdicts:
        remarks.append("The gate judged no frame in this run.")
    return tuple(remarks)


def _answers(run: RunRecord) -> tuple[Answer, ...]:
    raw, distorted = run.answer(Source.RAW), run.answer(Source.DISTORTED)
    left, right = compare_words(raw.answer if raw else "", distorted.answer if distorted else "")
    if raw is None or distorted is None:  # nothing to compare with: nothing differs
        left, right = _plain(raw), _plain(distorted)
    answers = [Answer(Side.REFERENCE, left, _missing(raw), _origin(raw, run))]
    if run.distortion is not None:
        answers.append(Answer(Side.DISTORTED, right, _missing(distorted), _origin(distorted, run)))
    return tuple(answers)


def _plain(answer: AnswerRecord | None) -> tuple[MarkedWords, ...]:
    return compare_words(answer.answer, answer.answer)[0] if answer else ()


def _missing(answer: AnswerRecord | None) -> str:
    if answer is None:
        return "No answer was recorded."
    return "" if answer.answer.strip() else "The model had nothing to say."


def _origin(answer: AnswerRecord | None, run: RunRecord) -> str:
    if answer is None:
        return ""
    when = seconds(answer.stamp_ns - run.start_ns)
    took = number(answer.latency_ms, 0, "ms")
    return f"{answer.subject} {answer.subject_version}, {answer.view} camera at {when}, took {took}"


def _decided(run: RunRecord, scores: RunScores, moment: Moment) -> Decided:
    chunk = moment.distorted or moment.raw
    if chunk is None:
        return Decided((), (), "No decision was recorded.")
    left, right = _chunk_facts(moment.raw), _chunk_facts(moment.distorted)
    facts = tuple(Fact(name, left.get(name, ABSENT), right.get(name, ABSENT)) for name in {**left, **right})
    later = () if scores.decision is None else scores.decision.later
    sentences = tuple(
        f"Decision {count} at {seconds(item.stamp_ns - run.start_ns)}: score {number(item.score)}, "
        f"{number(item.position_error_mm, 0, 'mm')} apart."
        for count, item in enumerate(later, start=2)
    )
    when = seconds(chunk.stamp_ns - run.start_ns)
    return Decided(facts, sentences, f"{chunk.subject} {chunk.subject_version}, on the frame at {when}")


def _chunk_facts(chunk: ChunkRecord | None) -> dict[str, str]:
    if chunk is None:
        return {}
    target = chunk.target_px
    facts = {
        "Decision": _STATUS[chunk.status],
        "In its words": chunk.reason or ABSENT,
        "Aims at": f"({target[0]:.0f}, {target[1]:.0f}) px, {chunk.view}" if target else "no pixel named",
        "Increments": str(len(chunk.increments)),
    }
    points_m = chunk_points_m(chunk.T_base_tool, chunk.increments)
    if len(points_m) == 0:
        return facts | {"Leads to": "not a number"}
    shift = points_m[-1] - points_m[0]
    places = (f"{axis}\N{NO-BREAK SPACE}{number(1e3 * m, 0)}" for axis, m in zip("xyz", shift, strict=True))
    facts["Leads to"] = ", ".join(places) + "\N{NO-BREAK SPACE}mm"
    facts["Turns by"] = number(_turn_deg(chunk), 0) + "°"
    if len(chunk.increments):
        facts["Gripper after"] = f"{100 * chunk.increments[-1, 6]:.0f} % closed"
    return facts | {"Took": number(chunk.latency_ms, 0, "ms")}


def _turn_deg(chunk: ChunkRecord) -> float:
    if len(chunk.increments) == 0:
        return 0.0
    T_tool_end = chain_increments(np.eye(4), chunk.increments)[-1]
    return float(np.rad2deg(np.linalg.norm(rotation_to_rotvec(T_tool_end[:3, :3]))))


def _paths(run: RunRecord, reference: RunRecord | None) -> tuple[Plot | None, Plot | None]:
    """Return the way of the tool from above, and its height over time."""
    ours = run.tool_path
    clean = ours if run.distortion is None else (reference.tool_path if reference is not None else None)
    other = None if run.distortion is None else ours
    seen = line_plot(
        _columns(clean, (1, 2), (1e3, 1e3)), _columns(other, (1, 2), (1e3, 1e3)), _X_MM, _Y_MM, equal=True
    )
    height = line_plot(
        _columns(clean, (0, 3), (1.0, 1e3)), _columns(other, (0, 3), (1.0, 1e3)), _TIME_S, _HEIGHT_MM
    )
    return seen, height


def _columns(
    path: NDArray[np.float64] | None, columns: tuple[int, int], factors: tuple[float, float]
) -> NDArray[np.float64] | None:
    if path is None or len(path) == 0:
        return None
    return np.asarray(path[:, columns] * np.array(factors), dtype=np.float64)
