"""Connection to a trial from outside: its open questions, answers to /trial/confirm, the end of a run.

The studio runs it as ``python -m embodied_iqa.live.ros.judging``; see `runs.graph.judging_process` for the
lines.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import rclpy
from embodied_iqa_msgs.action import RunTrial
from embodied_iqa_msgs.msg import TrialEvent
from embodied_iqa_msgs.srv import ConfirmRun
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.records import structure
from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.names import TRIAL_ACTION
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.runs.graph.judging_process import AnswerLine, ReportLine, line_of
from embodied_iqa.runs.trial.attendance import Question
from embodied_iqa.runs.trial.judging import PROBE, JudgingState, asked_of, trial_of, words_of
from embodied_iqa.runs.trial.protocol import Stage

if TYPE_CHECKING:
    from rclpy.type_support import FeedbackMessage  # defined in typings/ only

_POLL_S: Final = 1.0
_CALL_S: Final = 10.0
_AGAIN_S: Final = 1.0
"""A trial that does not know a new client yet drops its response."""
_AGAIN_POLL_S: Final = 0.1
_DOMAIN: Final = "ROS_DOMAIN_ID"


class TrialQuestions:
    """A node that listens to one trial.

    Args:
        node: It must be spinning in another thread.
    """

    def __init__(self, node: Node) -> None:
        self._confirm = node.create_client(ConfirmRun, "trial/confirm")
        self._end_run = node.create_client(Trigger, "trial/end_run")
        self._run_count = 0
        self._task, self._stage = "", ""
        kind: type[FeedbackMessage[RunTrial.Feedback]] = RunTrial.Impl.FeedbackMessage  # type: ignore[attr-defined]
        node.create_subscription(kind, f"{TRIAL_ACTION}/_action/feedback", self._progressed, EVENT)
        node.create_subscription(TrialEvent, "trial/events", self._happened, EVENT)

    def state(self) -> JudgingState:
        """Ask the trial which question is open."""
        if problem := self.absent(0.0):
            self._task = self._stage = ""
            return JudgingState(problem=problem)
        try:
            said = self.refusal()
            asked, trial = asked_of(said), trial_of(said)
        except UserError as error:
            return JudgingState(problem=str(error), task=self._task)
        self._task = trial.task or self._task
        question = None
        if asked is not None:
            question = Question(*asked, trial.run_count or self._run_count, words_of(said))
        return JudgingState(question, "", self._task, trial.started, self._stage)

    def absent(self, wait_s: float) -> str:
        """Return that no trial asks anybody, where none has appeared within a time; empty where one does."""
        domain = os.environ.get(_DOMAIN, "0")
        there = self._confirm.wait_for_service(timeout_sec=wait_s)
        return "" if there else f"no trial on a real arm is running in ROS domain {domain}"

    def refusal(self) -> str:
        """Return what the trial says to an answer that fits no question, as `runs.trial.judging.refusal`.

        Raises:
            UserError: The trial does not respond.
        """
        return self._send(*PROBE, answer=None)

    def end_run(self, wait_s: float) -> str:
        """End the present run; return why it was refused, empty where it ends.

        Raises:
            UserError: The trial does not respond within a time.
        """
        response = call(self._end_run, Trigger.Request(), wait_s, again_s=_AGAIN_S)
        return "" if response.success else response.message

    def answer(self, line: AnswerLine) -> str:
        """Answer a question; return why it was refused."""
        try:
            return self._send(int(line.question.stage), line.question.run_index, line)
        except UserError as error:
            return str(error)

    def asked_again(self, stage: Stage, run_index: int, wait_s: float) -> str:
        """Return the words in which an answered question is asked again; empty where the trial has gone on.

        Args:
            stage: Of the question.
            run_index: Of the question.
            wait_s: Longest time to wait, where the trial does not say that it goes on.
        """
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s and not self.absent(0.0):
            try:
                said = self.refusal()
            except UserError:  # it has ended meanwhile
                break
            if asked_of(said) == (stage, run_index):
                return words_of(said) or "the question is asked again"
            if self._stage not in {"", stage.name.lower()}:
                break
            time.sleep(_AGAIN_POLL_S)
        return ""

    def _send(self, stage: int, run_index: int, answer: AnswerLine | None) -> str:
        request = ConfirmRun.Request(stage=stage, run_index=run_index)
        if answer is not None:
            given = answer.answer
            request.yes, request.give_up, request.remark = given.yes, given.give_up, given.remark
        response = call(self._confirm, request, _CALL_S, again_s=_AGAIN_S if answer is None else None)
        return "" if response.success else response.message or "refused without a reason"

    def _progressed(self, message: FeedbackMessage[RunTrial.Feedback]) -> None:
        feedback = message.feedback
        stage = Stage(feedback.stage)
        self._stage = stage.name.lower()
        self._run_count = feedback.run_count

    def _happened(self, event: TrialEvent) -> None:
        self._task = event.task


@contextmanager
def trial_questions(name: str, namespace: str = "") -> Iterator[TrialQuestions]:
    """Connect to the trial of a namespace in a block, by a node of this name."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node(name, namespace=namespace)
    spin = SpinThread(node)
    try:
        yield TrialQuestions(node)
    finally:
        spin.close()
        node.destroy_node()
        rclpy.try_shutdown()


def main() -> int:
    """Report until the input ends; return the exit code."""
    reported: JudgingState | None = None
    with trial_questions("studio_judge") as connection:
        while True:
            state = connection.state()
            if state != reported:
                reported = state
                _print(ReportLine(state=state))
            ready, _, _ = select.select([sys.stdin], [], [], _POLL_S)
            if ready:
                line = sys.stdin.readline()
                if not line:
                    return 0
                _print(ReportLine(refusal=connection.answer(structure(AnswerLine, json.loads(line), "line"))))


def _print(report: ReportLine) -> None:
    sys.stdout.write(line_of(report))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
