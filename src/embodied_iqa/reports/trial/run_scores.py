"""The scores of a run as text: number, bar and the numbers that it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.gate.verdict import GateMode
from embodied_iqa.reports.kit.formatting import ABSENT, number, share
from embodied_iqa.scoring.execution import Outcome
from embodied_iqa.trial.record import RunRecord
from embodied_iqa.trial.scores import Cognition, Decision, RunScores

__all__ = ["Badge", "GateCount", "ScoreText", "badge_of", "gate_count", "score_texts"]


class Mark(StrEnum):
    """Icon and CSS class of an outcome."""

    GOOD = "good"
    BAD = "bad"
    STOP = "stop"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Badge:
    """An outcome: icon and text."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class ScoreText:
    """One score of a run.

    Attributes:
        title: Cognition, decision or execution.
        text: The number, or ABSENT.
        scale: Such as "of 1".
        share: Length of the bar in percent; None for no bar.
        sentence: How it is computed, with the numbers of this run.
    """

    title: str
    text: str
    scale: str
    share: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class GateCount:
    """Frames by verdict.

    Attributes:
        mode: on, shadow or off.
        note: Meaning of the mode.
        counts: Passed, held, rejected.
        shares: The same in percent; zeros if no frame was judged.
    """

    mode: str
    note: str
    counts: tuple[int, int, int]
    shares: tuple[float, float, float]


_BADGES: Final = {
    None: Badge(Mark.UNKNOWN, "No end recorded"),
    Outcome.SUCCESS: Badge(Mark.GOOD, "Success"),
    Outcome.FAILURE: Badge(Mark.BAD, "Failure"),
    Outcome.EMERGENCY_STOP: Badge(Mark.STOP, "Emergency stop"),
}
_MODES: Final[dict[str, str]] = {
    GateMode.ON: "mode on: the arm obeys",
    GateMode.SHADOW: "mode shadow: judged, but the arm moves anyway",
    GateMode.OFF: "mode off: no picture is judged",
}


def badge_of(run: RunRecord) -> Badge:
    """Return how the run ended."""
    return _BADGES[run.outcome]


def gate_count(scores: RunScores) -> GateCount:
    """Return the number of frames with each verdict."""
    counts = (scores.gate.passed, scores.gate.hold, scores.gate.reject)
    total = max(1, sum(counts))
    passed, held, rejected = (round(100 * count / total, 2) for count in counts)
    return GateCount(scores.gate.mode, _MODES.get(scores.gate.mode, ""), counts, (passed, held, rejected))


def score_texts(run: RunRecord, scores: RunScores, reference: RunRecord | None) -> tuple[ScoreText, ...]:
    """Return cognition, decision and execution."""
    execution = scores.execution.score
    return (
        _cognition(scores.cognition, run),
        _decision(scores.decision, run),
        ScoreText(
            "Execution",
            number(execution, 0),
            "" if execution is None else "of 100",
            share(execution, 100.0),
            _execution_sentence(run, scores, reference),
        ),
    )


def _cognition(part: Cognition | None, run: RunRecord) -> ScoreText:
    if part is None:
        return ScoreText("Cognition", ABSENT, "", None, "There is no pair of answers about the same frame.")
    sentence = (
        f"How far the two answers agree: the mean of BLEU {number(part.bleu)}, "
        f"ROUGE-L {number(part.rouge)} and a tenth of CIDEr {number(part.cider, 1)}."
    )
    return _of_one("Cognition", part.score, run, sentence)


def _decision(part: Decision | None, run: RunRecord) -> ScoreText:
    if part is None:
        return ScoreText("Decision", ABSENT, "", None, "There is no pair of decisions on the same frame.")
    sentence = (
        f"How far the two actions agree: the mean of position {number(part.position)} "
        f"({number(part.position_error_mm, 0, 'mm')} apart), rotation {number(part.rotation)} "
        f"and gripper {number(part.state)}."
    )
    return _of_one("Decision", part.score, run, sentence)


def _of_one(title: str, score: float, run: RunRecord, sentence: str) -> ScoreText:
    if run.distortion is None:
        sentence = "Asked twice about the same picture: how far the model repeats itself."
    return ScoreText(title, number(score), "of 1", share(score, 1.0), sentence)


def _execution_sentence(run: RunRecord, scores: RunScores, reference: RunRecord | None) -> str:
    part = scores.execution
    if part.score is None and run.index == 0 and run.outcome is Outcome.FAILURE:
        return "The reference run itself failed: there is nothing to compare it with."
    if part.score is None and reference is not None and reference.outcome is Outcome.FAILURE:
        return "The reference run failed too: the distance between two failures says nothing."
    if part.score is None:
        return "Needs the end of this run and of the reference run."
    match run.outcome:
        case Outcome.SUCCESS:
            return "The task was done: full score."
        case Outcome.EMERGENCY_STOP:
            return "An emergency stop scores nothing."
        case _:
            distance = number(part.distance_cm, 1, "cm")
            return f"100 less the distance in cm from where the reference run ended: {distance}."
