"""The scores of a run: number, bar, and a sentence with what it is made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from embodied_iqa.reports.kit.formatting import ABSENT, number, share
from embodied_iqa.reports.trial.page_model import Badge, GateCount, Mark, Recipe, Score
from embodied_iqa.scoring.execution import Outcome
from embodied_iqa.trial.record import RunRecord
from embodied_iqa.trial.scores import RECIPES, RunScores

__all__ = ["badge_of", "gate_count", "mean_share", "recipes", "scores_of"]

_BADGES: Final = {
    Outcome.SUCCESS: Badge(Mark.GOOD, "Success"),
    Outcome.FAILURE: Badge(Mark.BAD, "Failure"),
    Outcome.EMERGENCY_STOP: Badge(Mark.STOP, "Emergency stop"),
}

_MODES: Final = {
    "on": "mode on: the arm obeys",
    "shadow": "mode shadow: judged, but the arm moves anyway",
    "off": "mode off: no picture is judged",
}
_SAME: Final = "Asked twice about the same picture: how far the model repeats itself."


def badge_of(run: RunRecord) -> Badge:
    """Return how the run ended."""
    return Badge(Mark.UNKNOWN, "No end recorded") if run.outcome is None else _BADGES[run.outcome]


def recipes() -> tuple[Recipe, ...]:
    """Return how every score is made, as it stands in every result file."""
    return tuple(Recipe(f"recipe-{name}", name.capitalize(), text) for name, text in RECIPES.items())


def scores_of(run: RunRecord, scores: RunScores, reference: RunRecord | None) -> tuple[Score, ...]:
    """Return cognition, decision and execution."""
    return _cognition(run, scores), _decision(run, scores), _execution(run, scores, reference)


def gate_count(scores: RunScores) -> GateCount:
    """Return how many frames got which verdict."""
    counts = (scores.gate.passed, scores.gate.hold, scores.gate.reject)
    total = max(1, sum(counts))
    passed, held, rejected = (round(100 * count / total, 2) for count in counts)
    return GateCount(scores.gate.mode, _MODES.get(scores.gate.mode, ""), counts, (passed, held, rejected))


def mean_share(values: Sequence[float | None], whole: float) -> float | None:
    """Return the mean of the finite values in percent of the whole; None without any."""
    finite = [value for value in (share(value, whole) for value in values) if value is not None]
    return sum(finite) / len(finite) if finite else None


def _cognition(run: RunRecord, scores: RunScores) -> Score:
    part = scores.cognition
    if part is None:
        text = "There is no pair of answers about the same frame."
        return Score("Cognition", ABSENT, "", None, text, "recipe-cognition")
    sentence = (
        _SAME
        if run.distortion is None
        else (
            f"How far the two answers agree: the mean of BLEU {number(part.bleu)}, "
            f"ROUGE-L {number(part.rouge)} and a tenth of CIDEr {number(part.cider, 1)}."
        )
    )
    return Score(
        "Cognition", number(part.score), "of 1", share(part.score, 1.0), sentence, "recipe-cognition"
    )


def _decision(run: RunRecord, scores: RunScores) -> Score:
    part = scores.decision
    if part is None:
        text = "There is no pair of decisions on the same frame."
        return Score("Decision", ABSENT, "", None, text, "recipe-decision")
    sentence = (
        _SAME
        if run.distortion is None
        else (
            f"How far the two actions agree: the mean of position {number(part.position)} "
            f"({number(part.position_error_mm, 0, 'mm')} apart), rotation {number(part.rotation)} "
            f"and gripper {number(part.state)}."
        )
    )
    return Score("Decision", number(part.score), "of 1", share(part.score, 1.0), sentence, "recipe-decision")


def _execution(run: RunRecord, scores: RunScores, reference: RunRecord | None) -> Score:
    part = scores.execution
    bar = share(part.score, 100.0)
    scale = "" if part.score is None else "of 100"
    return Score(
        "Execution",
        number(part.score, 0),
        scale,
        bar,
        _execution_sentence(run, scores, reference),
        "recipe-execution",
    )


def _execution_sentence(run: RunRecord, scores: RunScores, reference: RunRecord | None) -> str:
    part = scores.execution
    if part.score is None and run.index == 0 and run.outcome is Outcome.FAILURE:
        return "The reference run itself failed: there is nothing to compare it with."
    if part.score is None and reference is not None and reference.outcome is Outcome.FAILURE:
        return "The reference run failed too: how near two failures ended is no merit."
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
