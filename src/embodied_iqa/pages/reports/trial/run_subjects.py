"""What the subjects said in a run: the answers of the VLM and the decisions of the VLA, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.base.kinematics import chain_increments, rotation_to_rotvec
from embodied_iqa.data.recording.trial_record import AnswerRecord, ChunkRecord, RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.scoring.decision import is_still
from embodied_iqa.pages.reports.kit.formatting import ABSENT, number
from embodied_iqa.pages.reports.trial.run_images import Moment, Side
from embodied_iqa.pages.reports.trial.tool_path_projection import chunk_points_m
from embodied_iqa.pages.reports.trial.word_diff import MarkedWords, compare_words
from embodied_iqa.runs.trial.scores import comparable_decisions
from embodied_iqa.world.protocols import ChunkStatus

_STATUS: Final = {
    ChunkStatus.ACT: "acts",
    ChunkStatus.DONE: "says the task is done",
    ChunkStatus.NO_TARGET: "sees no target",
    None: "failed",
}

_DIGITS: Final = {10.0: 0, 1.0: 1, 0.0005: 3}
"""Digits of an angle from so many degrees."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The VLM's answer about the reference or the distorted image.

    Attributes:
        side: The image.
        record: None without an answer.
        words: The answer, with differences marked; empty if it is blank.
    """

    side: Side
    record: AnswerRecord | None
    words: tuple[MarkedWords, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of the decisions on the reference and on the distorted image."""

    name: str
    reference: str
    distorted: str


def answers_of(run: RunRecord) -> tuple[Answer, ...]:
    """Return the answer about the reference image and, in a distorted run, about the distorted one."""
    raw, distorted = run.answer(Source.RAW), run.answer(Source.DISTORTED)
    if raw is not None and distorted is not None:
        left, right = compare_words(raw.answer, distorted.answer)
    else:  # nothing to compare with, so nothing differs
        left, right = (compare_words(one.answer, one.answer)[0] if one else () for one in (raw, distorted))
    answers = (Answer(Side.REFERENCE, raw, left), Answer(Side.DISTORTED, distorted, right))
    return answers if run.distortion is not None else answers[:1]


def decision_facts(moment: Moment) -> tuple[Fact, ...]:
    """Return the properties of the decisions at a moment, side by side."""
    left, right = _chunk_facts(moment.raw), _chunk_facts(moment.distorted)
    return tuple(Fact(name, left.get(name, ABSENT), right.get(name, ABSENT)) for name in left | right)


def one_hardly_turns(run: RunRecord) -> bool:
    """Return whether exactly one of the two scored actions turns the tool too little for a direction."""
    pairs = comparable_decisions(run)
    if not pairs:
        return False
    reference, distorted = pairs[0]
    turns = distorted.is_decision and not is_still(distorted.increments)
    return turns is is_still(reference.increments)


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
    facts["Turns by"] = _degrees(_turn_deg(chunk))
    if chunk.q_rad is not None and chunk.joints_rad is not None and len(chunk.joints_rad):
        turns_deg = np.rad2deg(chunk.joints_rad[-1] - chunk.q_rad)
        facts["Joints turn by"] = (
            ", ".join(number(float(deg), 1) for deg in np.round(turns_deg, 1) + 0.0) + "°"
        )
    if len(chunk.increments):
        facts["Gripper after"] = f"{100 * chunk.increments[-1, 6]:.0f} % closed"
    return facts | {"Took": number(chunk.latency_ms, 0, "ms")}


def _degrees(turn_deg: float) -> str:
    """Return an angle; a small one with digits that show whether it has a direction in the score."""
    digits = next((digits for least, digits in _DIGITS.items() if turn_deg >= least), 0)
    return f"{number(turn_deg, digits)}°"


def _turn_deg(chunk: ChunkRecord) -> float:
    if len(chunk.increments) == 0:
        return 0.0
    T_tool_end = chain_increments(np.eye(4), chunk.increments)[-1]
    return float(np.rad2deg(np.linalg.norm(rotation_to_rotvec(T_tool_end[:3, :3]))))
