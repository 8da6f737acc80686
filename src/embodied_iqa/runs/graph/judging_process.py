"""Process that connects to the trial of a ROS domain, for programs that do not import rclpy.

The process writes a `JudgingState` as a JSON line whenever it changes, reads answers as JSON lines, and ends
with its input.
"""

from __future__ import annotations

import json
import queue
import sys
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.runs.graph.line_process import LineProcess
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import JudgingState

MODULE: Final = "embodied_iqa.live.ros.judging"
ANSWER_S: Final = 12.0
"""Longest wait for the trial's reply to an answer."""
_MOST_REPLIES: Final = 16


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line to the process."""

    question: Question
    answer: Answer


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of the process: a new state, or the reply to an answer; the other is None."""

    state: JudgingState | None = None
    refusal: str | None = None


class JudgingProcess(LineProcess):
    """A `RunJudge` whose ROS part is a process of its own; it starts with the first question.

    Args:
        command: Program and arguments; the default is `embodied_iqa.live.ros.judging` in this Python.
    """

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", MODULE)) -> None:
        super().__init__(command)
        self._state = JudgingState(problem="connecting to ROS")
        self._replies: queue.Queue[str] = queue.Queue(_MOST_REPLIES)

    def state(self) -> JudgingState:
        """Return what is asked now; start the process if it does not run."""
        with self._lock:
            self.ensure()
            return self._state

    def answer(self, question: Question, answer: Answer) -> str:
        """Answer a question; return why it was refused, empty for accepted."""
        with self._lock:
            while not self._replies.empty():  # of an answer that was given up
                self._replies.get_nowait()
            try:
                if not self.write(line_of(AnswerLine(question, answer))):
                    return self._state.problem or "no connection to ROS"
                return self._replies.get(timeout=ANSWER_S)
            except OSError:
                return "the connection to ROS has ended"
            except queue.Empty:
                return f"no reply within {ANSWER_S:g} s"

    def took(self, line: str) -> None:
        """Take a new state, or a reply."""
        try:
            report = structure(ReportLine, json.loads(line), "a line of the connection to ROS")
        except (InputError, ValueError) as error:
            self.failed(f"the connection to ROS fails: {first_line(error)}")
            return
        if report.state is not None:
            self._state = report.state
        if report.refusal is not None and not self._replies.full():
            self._replies.put_nowait(report.refusal)

    def failed(self, problem: str) -> None:
        """Say why there is no connection."""
        self._state = JudgingState(problem=problem)


def line_of(record: AnswerLine | ReportLine) -> str:
    """Return a record as a JSON line."""
    return json.dumps(unstructure(record)) + "\n"
