"""The person at a real arm: asked through the action's feedback, answers through /trial/confirm."""

from __future__ import annotations

import time
from collections.abc import Callable

from embodied_iqa_msgs.srv import ConfirmRun
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from embodied_iqa.trial.protocol import AskPerson, Event, Reply

__all__ = ["Attendance"]


class Attendance:
    """One open question at a time, with a deadline.

    Args:
        node: Offers the service.
        limit_s: How long the person has to answer, real time.
        report: Takes the reply.
    """

    def __init__(self, node: Node, limit_s: float, report: Callable[[Event], None]) -> None:
        self._limit_s = limit_s
        self._report = report
        self._question: AskPerson | None = None
        self._until_s = 0.0
        node.create_service(
            ConfirmRun, "/trial/confirm", self._answered, callback_group=ReentrantCallbackGroup()
        )

    def ask(self, question: AskPerson) -> None:
        """Wait for the answer from now on."""
        self._until_s = time.monotonic() + self._limit_s
        self._question = question

    def look(self) -> bool:
        """Report that nobody has answered, once it is too late; return whether a question is open."""
        question = self._question
        if question is not None and time.monotonic() > self._until_s:
            self._question = None
            message = f"nobody has answered within {self._limit_s:g} s ({question.stage.name.lower()})"
            self._report(Reply(question, ok=False, message=message))
        return self._question is not None

    def forget(self) -> None:
        """Nobody waits for the answer any longer."""
        self._question = None

    def _answered(self, request: ConfirmRun.Request, response: ConfirmRun.Response) -> ConfirmRun.Response:
        question = self._question
        asked = None if question is None else (int(question.stage), question.run_index)
        if question is None or asked != (request.stage, request.run_index):
            response.message = "no question is open" if asked is None else f"stage and run asked are {asked}"
            return response
        self._question = None
        response.success = True
        message = request.remark or ("given up" if request.give_up else "")
        self._report(Reply(question, ok=not request.give_up, message=message, yes=request.yes))
        return response
