"""Service calls with a deadline, from a thread that may wait."""

from __future__ import annotations

import queue
import time
from typing import Protocol, TypeVar

from rclpy.client import Client
from rclpy.task import Future

from embodied_iqa.errors import UserError

__all__ = ["Answer", "AnswerT", "RequestT", "ResponseT", "call"]

_POLL_S = 0.1

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


class Answer(Protocol):
    """Response of most of our services.

    Attributes:
        success: Whether the request was carried out.
        message: The reason where it was not.
    """

    success: bool
    message: str


AnswerT = TypeVar("AnswerT", bound=Answer)


def call(
    client: Client[RequestT, ResponseT], request: RequestT, deadline_s: float, *, again_s: float | None = None
) -> ResponseT:
    """Call a service and wait for its response.

    Args:
        client: Of a node that is spinning in another thread.
        request: What to ask.
        deadline_s: How long to wait for the service to appear and to answer, real time.
        again_s: Ask again after each such time without an answer; for requests that may be asked twice. A
            server that does not know its client yet waits 100 ms for it and then drops the answer.

    Raises:
        UserError: There is no such service, or it has not answered in time.
    """
    if deadline_s <= 0 or not client.wait_for_service(timeout_sec=deadline_s):
        raise UserError(f"no service {client.srv_name} within its deadline")
    answers: queue.SimpleQueue[Future[ResponseT]] = queue.SimpleQueue()
    began = time.monotonic()
    futures = [_ask(client, request, answers)]
    while True:
        try:
            return answers.get(timeout=_POLL_S).result()
        except queue.Empty:
            waited_s = time.monotonic() - began
        if not client.context.ok():  # nobody will ever hand the answer to us
            raise UserError(f"told to stop before {client.srv_name} answered")
        if waited_s > deadline_s:
            for future in futures:
                client.remove_pending_request(future)
            raise UserError(f"{client.srv_name} has not answered within {deadline_s:.1f} s")
        if again_s is not None and waited_s > again_s * len(futures):
            futures.append(_ask(client, request, answers))


def _ask(
    client: Client[RequestT, ResponseT], request: RequestT, answers: queue.SimpleQueue[Future[ResponseT]]
) -> Future[ResponseT]:
    future = client.call_async(request)
    future.add_done_callback(answers.put)
    return future
