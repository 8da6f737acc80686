"""What the subjects said in a run: the answers of the VLM and the decisions of the VLA, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.images.assembler import Source
from embodied_iqa.kinematics import chain_increments, rotation_to_rotvec
from embodied_iqa.reports.kit.formatting import ABSENT, number, seconds
from embodied_iqa.reports.trial.run_pictures import Moment, Side
from embodied_iqa.reports.trial.tool_path_projection import chunk_points_m
from embodied_iqa.reports.trial.word_diff import MarkedWords, compare_words
from embodied_iqa.subjects.protocols import ChunkStatus
from embodied_iqa.trial.record import AnswerRecord, ChunkRecord, RunRecord
from embodied_iqa.trial.scores import RunScores

__all__ = ["Answer", "Decisions", "Fact", "answers_of", "decisions_of"]

_STATUS: Final = {
    ChunkStatus.ACT: "acts",
    ChunkStatus.DONE: "says the task is done",
    ChunkStatus.NO_TARGET: "sees no target",
    None: "failed",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The VLM's answer about one picture.

    Attributes:
        side: Of the reference or the distorted picture.
        words: With differences marked; empty without an answer.
        missing: Why there is no answer; empty if there is one.
        origin: Subject, camera, time.
    """

    side: Side
    words: tuple[MarkedWords, ...]
    missing: str
    origin: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of the decisions on the reference and on the distorted picture."""

    name: str
    reference: str
    distorted: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """The VLA's decisions.

    Attributes:
        facts: Of the first decision.
        later: A sentence for each later decision.
        origin: Subject and frame, or that there was no decision.
    """

    facts: tuple[Fact, ...]
    later: tuple[str, ...]
    origin: str


def answers_of(run: RunRecord) -> tuple[Answer, ...]:
    """Return the answer about the reference picture and, in a distorted run, about the distorted one."""
    raw, distorted = run.answer(Source.RAW), run.answer(Source.DISTORTED)
    if raw is not None and distorted is not None:
        left, right = compare_words(raw.answer, distorted.answer)
    else:  # nothing to compare with, so nothing differs
        left, right = (compare_words(one.answer, one.answer)[0] if one else () for one in (raw, distorted))
    answers = [Answer(Side.REFERENCE, left, _missing(raw), _origin(raw, run))]
    if run.distortion is not None:
        answers.append(Answer(Side.DISTORTED, right, _missing(distorted), _origin(distorted, run)))
    return tuple(answers)


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


def decisions_of(run: RunRecord, scores: RunScores, moment: Moment) -> Decisions:
    """Return the first decision on both pictures of the moment shown, and the scores of later ones."""
    chunk = moment.distorted or moment.raw
    if chunk is None:
        return Decisions((), (), "No decision was recorded.")
    left, right = _chunk_facts(moment.raw), _chunk_facts(moment.distorted)
    facts = tuple(Fact(name, left.get(name, ABSENT), right.get(name, ABSENT)) for name in left | right)
    later = () if scores.decision is None else scores.decision.later
    sentences = tuple(
        f"Decision {count} at {seconds(item.stamp_ns - run.start_ns)}: score {number(item.score)}, "
        f"{number(item.position_error_mm, 0, 'mm')} apart."
        for count, item in enumerate(later, start=2)
    )
    when = seconds(chunk.stamp_ns - run.start_ns)
    return Decisions(facts, sentences, f"{chunk.subject} {chunk.subject_version}, on the frame at {when}")


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
