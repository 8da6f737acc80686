"""Service calls with a deadline, for threads that may block."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from rclpy.client import Client
from rclpy.task import Future

from embodied_iqa.base.errors import UserError

_POLL_S = 0.1

ENDING = threading.Event()
"""Set while the node of this process ends: no response can arrive any more."""

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


class NoResponseError(UserError):
    """A service has not responded in time."""


class Answer(Protocol):
    """Response of most of our services.

    Attributes:
        success: Whether the request was carried out.
        message: Why it was not.
    """

    success: bool
    message: str


AnswerT = TypeVar("AnswerT", bound=Answer)


def call(
    client: Client[RequestT, ResponseT],
    request: RequestT,
    deadline_s: float,
    *,
    again_s: float | None = None,
    check: Callable[[], None] = lambda: None,
) -> ResponseT:
    """Call a service and wait for its response.

    Args:
        client: Client of a node that is spinning in another thread.
        request: The request.
        deadline_s: Time for the service to appear and to respond, real time.
        again_s: Send the request again after each period of this length without a response; only for
            idempotent requests. A server that has not discovered its client yet drops the response after
            100 ms.
        check: Called ten times a second while waiting; raises to give up.

    Raises:
        UserError: The service is missing.
        NoResponseError: It has not responded in time.
    """
    _await_service(client, deadline_s, check)
    return _exchange(client, request, deadline_s, again_s, check)


def _await_service(client: Client[RequestT, ResponseT], deadline_s: float, check: Callable[[], None]) -> None:
    began = time.monotonic()
    while not client.wait_for_service(timeout_sec=_POLL_S):
        _check_not_ending(client)
        check()
        if time.monotonic() - began > deadline_s:
            raise UserError(f"no service {client.service_name} within its deadline")


def _exchange(
    client: Client[RequestT, ResponseT],
    request: RequestT,
    deadline_s: float,
    again_s: float | None,
    check: Callable[[], None],
) -> ResponseT:
    """Send a request, repeat it while no response comes, and return the first response."""
    responses: queue.SimpleQueue[Future[ResponseT]] = queue.SimpleQueue()
    began = time.monotonic()
    futures = [begin_call(client, request, responses.put)]
    while True:
        try:
            return responses.get(timeout=_POLL_S).result()
        except queue.Empty:
            waited_s = time.monotonic() - began
        _check_not_ending(client)
        check()
        if waited_s > deadline_s:
            for future in futures:
                client.remove_pending_request(future)
            raise NoResponseError(f"{client.service_name} has not responded within {deadline_s:.1f} s")
        if again_s is not None and waited_s > again_s * len(futures):
            futures.append(begin_call(client, request, responses.put))


def begin_call(
    client: Client[RequestT, ResponseT], request: RequestT, done: Callable[[Future[ResponseT]], object]
) -> Future[ResponseT]:
    """Call a service without waiting; from any thread, since rclpy registers service calls under a lock.

    Args:
        client: Client of a node that is spinning.
        request: The request.
        done: Called with the finished future, in a thread that spins.

    Returns:
        The future, which `Client.remove_pending_request` gives up.
    """
    future = client.call_async(request)
    future.add_done_callback(done)
    return future


def _check_not_ending(client: Client[RequestT, ResponseT]) -> None:
    if ENDING.is_set() or not client.context.ok():
        raise UserError(f"stopped before {client.service_name} responded")
