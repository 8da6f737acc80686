"""Process that connects to the trial of a ROS domain, for programs that do not import rclpy.

The process writes a `JudgingState` as a JSON line whenever it changes, reads answers as JSON lines, and ends
with its input.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import JudgingState

MODULE: Final = "embodied_iqa.live.ros.judging"
ANSWER_S: Final = 12.0
"""Longest wait for the trial's reply to an answer."""
_AGAIN_S: Final = 5.0
_END_S: Final = 3.0
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


class JudgingProcess:
    """A `RunJudge` whose ROS part is a process of its own; it starts with the first question.

    Args:
        command: Program and arguments; the default is `embodied_iqa.live.ros.judging` in this Python.
    """

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", MODULE)) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._started_s = -_AGAIN_S
        self._state = JudgingState(problem="connecting to ROS")
        self._replies: queue.Queue[str] = queue.Queue(_MOST_REPLIES)

    def state(self) -> JudgingState:
        """Return what is asked now; start the process if it does not run."""
        with self._lock:
            self._ensure()
            return self._state

    def answer(self, question: Question, answer: Answer) -> str:
        """Answer a question; return why it was refused, empty for accepted."""
        with self._lock:
            self._ensure()
            process = self._process
            if process is None or process.stdin is None:
                return self._state.problem or "no connection to ROS"
            while not self._replies.empty():  # of an answer that was given up
                self._replies.get_nowait()
            try:
                process.stdin.write(line_of(AnswerLine(question, answer)))
                process.stdin.flush()
                return self._replies.get(timeout=ANSWER_S)
            except OSError:
                return "the connection to ROS has ended"
            except queue.Empty:
                return f"no reply within {ANSWER_S:g} s"

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        with suppress(BrokenPipeError):  # it has ended already
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ensure(self) -> None:
        """Start the process, at most every five seconds."""
        if self._process is not None and self._process.poll() is None:
            return
        if time.monotonic() - self._started_s < _AGAIN_S:
            return
        self._started_s = time.monotonic()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this Python, or as the test gives it
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=dict(os.environ),
            )
        except OSError as error:
            self._process = None
            self._state = JudgingState(problem=f"cannot start the connection to ROS: {error.strerror}")
            return
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            try:
                report = structure(ReportLine, json.loads(line), "a line of the connection to ROS")
            except (InputError, ValueError) as error:
                self._state = JudgingState(problem=f"the connection to ROS fails: {first_line(error)}")
                continue
            if report.state is not None:
                self._state = report.state
            if report.refusal is not None and not self._replies.full():
                self._replies.put_nowait(report.refusal)
        code = process.wait()
        if process is self._process:
            reason = f"the connection to ROS has ended with {code}; is the ROS part installed?"
            self._state = JudgingState(problem=reason)


def line_of(record: AnswerLine | ReportLine) -> str:
    """Return a record as a JSON line."""
    return json.dumps(unstructure(record)) + "\n"
