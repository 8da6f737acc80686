"""What a trial on a real arm asks of the person beside it, and what the person answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from embodied_iqa.trial.protocol import Stage


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        stage: PREPARE or JUDGE.
        run_index: 0 is the reference run.
        run_count: Runs of the trial.
        problem: PREPARE: what has to be seen to first, empty for nothing; JUDGE: why the run ended.
    """

    stage: Stage
    run_index: int
    run_count: int
    problem: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer.

    Attributes:
        yes: PREPARE: all is ready; JUDGE: the task was done.
        give_up: End the trial; what was done until now is kept.
        remark: In words, kept with the run.
    """

    yes: bool
    give_up: bool = False
    remark: str = ""


Person: TypeAlias = Callable[[Question], Answer]


def question_text(question: Question) -> str:
    """Put a question into words. The distortion is not named: who judges should not know it."""
    run = f"run {question.run_index + 1} of {question.run_count}"
    if question.stage is Stage.PREPARE:
        first = f"{question.problem}\n" if question.problem else ""
        return f"{first}{run}: put the scene back and keep clear of the arm. Ready?"
    return (
        f"{run} has ended: {question.problem}\nAfter your answer gripper and arm go back to their start: "
        "keep clear. Was the task done?"
    )
