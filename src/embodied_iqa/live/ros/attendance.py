"""Questions to the operator of a real arm: sent as action feedback, answered through /trial/confirm."""

from __future__ import annotations

import time
from collections.abc import Callable

from embodied_iqa_msgs.srv import ConfirmRun
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from embodied_iqa.runs.trial.attendance import Answer, unanswered
from embodied_iqa.runs.trial.judging import PROBE, AskingTrial, answered_before, probed, refusal
from embodied_iqa.runs.trial.protocol import AskPerson, Reply


class Attendance:
    """One open question at a time, with a deadline.

    Args:
        node: Node of the service.
        limit_s: Time to answer, real time.
        report: Called with the reply.
    """

    def __init__(self, node: Node, limit_s: float, report: Callable[[Reply], None]) -> None:
        self._limit_s = limit_s
        self._report = report
        self._question: AskPerson | None = None
        self._until_s = 0.0
        self._words, self._trial = "", AskingTrial()
        self._before = ""
        """How the question before was answered, for who comes too late."""
        node.create_service(
            ConfirmRun, "trial/confirm", self._answered, callback_group=ReentrantCallbackGroup()
        )

    def ask(self, question: AskPerson, words: str, trial: AskingTrial) -> None:
        """Open a question of a trial, with the words in which it is asked."""
        self._until_s = time.monotonic() + self._limit_s
        self._words, self._trial = words, trial
        self._question = question

    def check_deadline(self) -> None:
        """Report an open question as unanswered once its deadline has passed."""
        question = self._question
        if question is not None and time.monotonic() > self._until_s:
            self._question = None
            message = unanswered(question.stage, self._limit_s)
            self._report(Reply(question, ok=False, message=message))

    def close(self) -> None:
        """Close the question."""
        self._question = None

    def _answered(self, request: ConfirmRun.Request, response: ConfirmRun.Response) -> ConfirmRun.Response:
        question = self._question
        asked = None if question is None else (int(question.stage), question.run_index)
        if question is None or asked != (request.stage, request.run_index):
            response.message = refusal(asked, self._before)
            if asked is not None and (request.stage, request.run_index) == PROBE:
                response.message = probed(response.message, self._trial, self._words)
            return response
        self._question = None
        answer = Answer(request.yes, give_up=request.give_up)
        self._before = answered_before(question.stage, question.run_index, answer)
        response.success = True
        message = request.remark or ("given up" if request.give_up else "")
        self._report(Reply(question, ok=not request.give_up, message=message, yes=request.yes))
        return response
