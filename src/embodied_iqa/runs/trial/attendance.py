"""Questions of a trial on a real arm to the person beside it, and the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from embodied_iqa.runs.trial.protocol import Stage


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person.

    Attributes:
        stage: PREPARE, JUDGE or RECOVER.
        run_index: 0 is the reference run.
        run_count: Runs of the trial; 0 where it is not known.
        problem: PREPARE: problem to be solved first, may be empty; JUDGE: see `judged_next`, empty where it
            is not known; RECOVER: the stop, or why the arm is not at its start.
        task: The instruction, to tell the tasks of a command apart; empty where it is not known.
    """

    stage: Stage
    run_index: int
    run_count: int
    problem: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the person.

    Attributes:
        yes: PREPARE: everything is ready; JUDGE: the task was done; RECOVER: the way is free.
        give_up: End the trial; finished runs are kept.
        remark: Stored with the run.
    """

    yes: bool
    give_up: bool = False
    remark: str = ""


class Person(Protocol):
    """Answers a question; None where another client of /trial/confirm is to answer it, or has."""

    def __call__(self, question: Question, is_open: Callable[[], bool], /) -> Answer | None:
        """Answer a question while `is_open` says that it waits for an answer."""


_GIVE_UP: Final = {"give-up": Answer(False, give_up=True)}
ANSWERS: Final = {
    Stage.PREPARE: {"ready": Answer(True), **_GIVE_UP},
    Stage.JUDGE: {"done": Answer(True), "not-done": Answer(False), **_GIVE_UP},
    Stage.RECOVER: {"clear": Answer(True), **_GIVE_UP},
}
"""Words of `embodied-iqa attend` for each question."""


def judged_next(ending: str, stopped: str) -> str:
    """Return why a run has ended, and on a line of its own what moves after the judgement of it.

    Args:
        ending: Why the run has ended.
        stopped: A stop that needs an answer of its own before the arm moves; empty for none.
    """
    moves = (
        "The arm was stopped: it stays where it is after your answer, and another question comes."
        if stopped
        else "After your answer gripper and arm go back to their start: keep clear."
    )
    return f"{ending}\n{moves}"


def question_text(question: Question) -> str:
    """Return the text of a question. It does not name the distortion, so that the judgement is blind."""
    of_task = f' of "{question.task}"' if question.task else ""
    run = f"run {question.run_index + 1} of {question.run_count}{of_task}"
    if question.stage is Stage.PREPARE:
        first = f"{question.problem}\n" if question.problem else ""
        return f"{first}{run}: put the scene back and keep clear of the arm. Ready?"
    if question.stage is Stage.RECOVER:
        return (
            f"{question.problem}\nThe arm stays where it is. Keep clear: after your answer it moves back to "
            "its start. Clear?"
        )
    return f"{run} has ended: {question.problem} Was the task done?"


def unanswered(stage: Stage, limit_s: float) -> str:
    """Return that nobody has answered a question within a time."""
    message = f"no answer within {limit_s:g} s ({stage.name.lower()})"
    if stage is not Stage.RECOVER:
        return message
    return f"{message}; the arm stays where it was stopped: see that it is clear, then start the trial again"
