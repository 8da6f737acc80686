"""The person at the terminal of a trial: questions on a real arm, and the key that ends a run."""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from embodied_iqa.cli.output import program
from embodied_iqa.runs.trial.attendance import ANSWERS, Answer, Person, Question, question_text
from embodied_iqa.runs.trial.protocol import Stage

if TYPE_CHECKING:
    from embodied_iqa.base.progress import ProgressBars

END_KEY = "e"
"""With Enter, it ends the present run."""
_LINE_BYTES = 4096
_POLL_S = 0.1
_KEYS = {
    Stage.PREPARE: "y = ready, q = end the trial",
    Stage.JUDGE: "y = done, n = not done, q = end the trial, this run gets no outcome",
    Stage.RECOVER: "y = clear, q = end the trial",
}


def parse_answer(line: str, stage: Stage) -> Answer | None:
    """Parse an answer: a key and an optional remark ("n the cube slipped"); None if invalid."""
    key, _, remark = line.strip().partition(" ")
    known = {"y": Answer(True, remark=remark), "q": Answer(False, give_up=True, remark=remark)}
    if stage is Stage.JUDGE:
        known["n"] = Answer(False, remark=remark)
    return known.get(key.lower()[:1])


def end_key() -> Callable[[], bool]:
    """Return a function that returns whether somebody has typed `e` and Enter since its last call.

    Without a terminal, or while this program is in the background, nobody has.
    """
    if not sys.stdin.isatty():
        return lambda: False
    terminal = sys.stdin.fileno()

    def is_typed() -> bool:
        if _is_in_background(terminal) or not select.select([terminal], [], [], 0.0)[0]:
            return False
        return os.read(terminal, _LINE_BYTES).decode("utf-8", "replace").strip().lower() == END_KEY

    return is_typed


def _is_in_background(terminal: int) -> bool:
    """Return whether reading would stop this program; not where the terminal is not its controlling one."""
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:
        return False


def person_at_terminal(bars: ProgressBars, namespace: str = "") -> Person:
    """Return a function that asks at the terminal; without one, it prints how to answer from elsewhere.

    Args:
        bars: Hidden during a question. The end of the input gives up. What was typed before a question is
            no answer to it: it is discarded.
        namespace: Of the graph, such as ``/cell1``.
    """
    if not sys.stdin.isatty():
        return partial(_ask_elsewhere, namespace)

    def ask(question: Question, is_open: Callable[[], bool] = lambda: True) -> Answer | None:
        with bars.paused():
            text = f"\n{question_text(question)}"
            while True:
                _discard_typed()
                print(f"{text}  [{_KEYS[question.stage]}] ", end="", file=sys.stderr, flush=True)
                try:
                    line = _typed(is_open)
                except EOFError:  # Ctrl-D, or a terminal that was closed
                    return Answer(False, give_up=True, remark="nobody answers any more")
                if line is None:
                    print("\nthis question is closed", file=sys.stderr)
                    return None
                if answer := parse_answer(line, question.stage):
                    return answer
                text = f"{line!r} is not an answer to this question"

    return ask


def _discard_typed() -> None:
    """Discard what was typed while nothing was asked: it answers no question that comes later."""
    terminal = sys.stdin.fileno()
    if not _is_in_background(terminal):  # there, it would stop this program
        termios.tcflush(terminal, termios.TCIFLUSH)


def _typed(is_open: Callable[[], bool]) -> str | None:
    """Return the next line; None once the question is closed: a trial does not wait for a key to end."""
    while is_open():
        if select.select([sys.stdin], [], [], _POLL_S)[0]:
            return input()
    return None


def _ask_elsewhere(namespace: str, question: Question, _is_open: Callable[[], bool] = lambda: True) -> None:
    """Print a question with the command that answers it."""
    first, *others = ANSWERS[question.stage]
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    place = f" --namespace {namespace.removeprefix('/')}" if namespace else ""
    command = f"ROS_DOMAIN_ID={domain} {program()} attend {first}{place}"
    text = f"{question_text(question)}\nno terminal; answer: {command}  (or {', '.join(others)})"
    print(text, file=sys.stderr, flush=True)
