"""Judging of attended runs from outside of the trial's terminal: what is asked, and the answer to it."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Final, Protocol

from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.base.user_files.json_files import parse_json
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.trial.attendance import ANSWERS, Answer, Question
from embodied_iqa.runs.trial.protocol import Stage

PROBE: Final = (255, 2**32 - 1)
"""Stage and run index of an answer that fits no question: the refusal names the open one, and below it the
trial and the words in which it is asked."""
NOTHING_OPEN: Final = "no question is open"
_ASKED: Final = "stage and run asked are"
_ANSWERED: Final = {
    Stage.PREPARE: "the question before run {} was answered already",
    Stage.JUDGE: "run {} was judged already",
    Stage.RECOVER: "the question after run {} was answered already",
}


@dataclass(frozen=True, slots=True)
class AskingTrial:
    """The trial that asks, as it says itself.

    Attributes:
        task: Its instruction; empty if unknown.
        run_count: Its runs; 0 if unknown.
        started: When it started, UTC as in ISO 8601; empty if unknown.
    """

    task: str = ""
    run_count: int = 0
    started: str = ""


@dataclass(frozen=True, slots=True)
class JudgingState:
    """What a person beside the arm can answer now.

    Attributes:
        question: The open question; None for none.
        problem: Why nothing can be asked, such as that no trial is running; empty for none.
        task: The instruction of the trial; empty if unknown.
        trial: When the trial started, UTC as in ISO 8601; empty if unknown.
        stage: In words what the trial is doing; empty if unknown.
    """

    question: Question | None = None
    problem: str = ""
    task: str = ""
    trial: str = ""
    stage: str = ""


class RunJudge(Protocol):
    """Connection to a trial that asks a person."""

    def state(self) -> JudgingState:
        """Return what is asked now, at once."""
        ...

    def answer(self, question: Question, answer: Answer) -> str:
        """Answer an open question through /trial/confirm; return why it was refused, empty for accepted."""
        ...


def answered_before(stage: Stage, run_index: int, answer: Answer) -> str:
    """Return that a question was answered, and how, for who answers it once more."""
    given = Answer(answer.yes and not answer.give_up, give_up=answer.give_up)
    word = next((word for word, known in ANSWERS[stage].items() if known == given), "no")
    return f"{_ANSWERED[stage].format(run_index + 1)}: {word.replace('-', ' ')}"


def refusal(asked: tuple[int, int] | None, before: str = "") -> str:
    """Return why an answer does not fit the open question.

    Args:
        asked: Stage and run of the open question, which `asked_of` reads again; None for none.
        before: Of `answered_before`, which `late_answer` reads again; empty where none was answered.
    """
    words = NOTHING_OPEN if asked is None else f"{_ASKED} {asked}"
    return f"{words}; {before}" if before else words


def late_answer(message: str, word: str) -> str:
    """Return from a refusal how the question was answered before to which a word of `ANSWERS` belongs.

    Empty where the last answer was to a question of another kind, or where there was none.
    """
    before = message.partition("\n")[0].partition("; ")[2]
    for stage, words in _ANSWERED.items():
        if word in ANSWERS[stage] and before.startswith(words.partition("{}")[0]):
            return before
    return ""


def asked_of(message: str) -> tuple[Stage, int] | None:
    """Return the open question that a refusal names; None for none."""
    found = re.fullmatch(rf"{_ASKED} \((\d+), (\d+)\)(; .*)?", message.partition("\n")[0])
    if found is None or int(found[1]) not in ANSWERS:
        return None
    return Stage(int(found[1])), int(found[2])


def utc_of(stamp_ns: int) -> str:
    """Return a time as in ISO 8601, UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp_ns // SECOND_NS))


def probed(refused: str, trial: AskingTrial, words: str) -> str:
    """Return the reply to a `PROBE` about the open question; `trial_of` and `words_of` read it."""
    return "\n".join([refused, json.dumps(unstructure(trial)), words])


def trial_of(message: str) -> AskingTrial:
    """Return the trial that asks the question which the refusal of a `PROBE` names.

    Raises:
        InputError: It says something else of itself, as that of another version.
    """
    line = message.partition("\n")[2].partition("\n")[0]
    return structure(AskingTrial, parse_json(line, "the trial"), "the trial") if line else AskingTrial()


def words_of(message: str) -> str:
    """Return the words in which the question is asked that the refusal of a `PROBE` names."""
    return message.partition("\n")[2].partition("\n")[2]


def judgement_answer(outcome: Outcome, distance_mm: float | None, note: str, *, give_up: bool) -> Answer:
    """Return the answer to "was the task done?" that a judgement gives.

    The service knows yes and no: outcome, distance and note are kept in the run's remark.
    """
    words = [
        "emergency stop" if outcome is Outcome.EMERGENCY_STOP else "",
        "" if distance_mm is None else f"measured distance {distance_mm:g} mm",
        note,
    ]
    remark = "; ".join(word for word in words if word)
    return Answer(outcome is Outcome.SUCCESS, give_up=give_up, remark=remark)
