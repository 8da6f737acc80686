"""Asks the person at the terminal what a trial on a real arm wants to know."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from embodied_iqa.trial.attendance import Answer, Question, question_text
from embodied_iqa.trial.protocol import Stage

if TYPE_CHECKING:
    from embodied_iqa.progress import ProgressBars

__all__ = ["parse_answer", "person_at_terminal"]

_KEYS = {Stage.PREPARE: "y = ready, q = give up", Stage.JUDGE: "y = done, n = not done, q = give up"}


def parse_answer(line: str, stage: Stage) -> Answer | None:
    """Read a typed answer: a key, and after it any remark ("n the cube slipped"); None where it is none."""
    key, _, remark = line.strip().partition(" ")
    known = {"y": Answer(True, remark=remark), "q": Answer(False, give_up=True, remark=remark)}
    if stage is Stage.JUDGE:
        known["n"] = Answer(False, remark=remark)
    return known.get(key.lower()[:1])


def person_at_terminal(bars: ProgressBars) -> Callable[[Question], Answer] | None:
    """Return who asks the person, or None where nobody sits at a terminal.

    Args:
        bars: Hidden while the person is asked.
    """
    if not sys.stdin.isatty():
        print(
            "nobody sits at this terminal: prepare and judge each run through the service /trial/confirm "
            "(see docs/robot-guide.md)",
            file=sys.stderr,
        )
        return None

    def ask(question: Question) -> Answer:
        with bars.paused():
            while True:
                print(f"\n{question_text(question)}  [{_KEYS[question.stage]}] ", end="", file=sys.stderr)
                answer = parse_answer(input(), question.stage)
                if answer is not None:
                    return answer

    return ask
