"""Action calls for threads that do not spin: no response is lost, no goal runs twice.

rclpy's action client sends a request first and registers its number afterwards, without a lock. Where
another thread spins the node, the response may arrive in between; rclpy drops it, and the caller waits for
ever. Every request is therefore made in the thread that spins.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from embodied_iqa.base.errors import UserError

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.type_support import ActionType, FeedbackMessage, GetResultResponse  # defined in typings/ only

    from embodied_iqa.live.ros.spinning import SpinThread

GoalT = TypeVar("GoalT")
ResultT = TypeVar("ResultT")
FeedbackT = TypeVar("FeedbackT")
AnswerT = TypeVar("AnswerT")

_POLL_S = 0.1
_AGAIN_S = 2.0
"""A server drops a response for a client that it has not discovered within 100 ms."""
_LONGEST_AGAIN_S = 30.0
RESULT_KEPT_S = 900
"""How long a server remembers a goal that has ended. It runs a request that arrives later a second time, so
this is far above `_LONGEST_AGAIN_S` and any stall of a busy machine."""
_REQUEST_S = 1.0
_COUNT_S = 0.5
_GONE_S = 2.0
_UNSEEN_S = 10.0
"""Discovery of the client whose goal has arrived already; slow on a busy machine."""


class GoalRejectedError(UserError):
    """The server has not accepted the goal."""


class ActionCaller(Generic[GoalT, ResultT, FeedbackT]):
    """Client of an action, for threads that may block.

    Args:
        node: Node of the client.
        kind: Type of the action.
        name: Name of the action.
        spin: The thread that spins the node; no other thread may.
    """

    def __init__(
        self, node: Node, kind: type[ActionType[GoalT, ResultT, FeedbackT]], name: str, spin: SpinThread
    ) -> None:
        self._kind, self._name, self._spin = kind, name, spin
        self._client = ActionClient(node, kind, name)

    def close(self) -> None:
        """Release the client, which its node does not do; after the thread that spins has ended."""
        self._client.destroy()

    def server_is_ready(self) -> bool:
        """Return whether a server of the action has been discovered."""
        return self._client.server_is_ready()

    def goal(
        self, goal: GoalT, feedback: Callable[[FeedbackMessage[FeedbackT]], object] | None = None
    ) -> GoalCall[ResultT]:
        """Return a call that sends a goal when it runs.

        Args:
            goal: The goal.
            feedback: Called with each feedback, in the thread that spins.
        """
        goal_id = UUID(uuid=list(uuid.uuid4().bytes))
        answer = self._kind.Impl.SendGoalService.Response(accepted=True)  # type: ignore[attr-defined]
        handle: ClientGoalHandle[ResultT] = ClientGoalHandle(self._client, goal_id, answer)
        send = partial(self._client.send_goal_async, goal, feedback, goal_id)
        return GoalCall(self._name, handle, self._spin, send)


class GoalCall(Generic[ResultT]):
    """One goal under an id of its own: a server rejects an id that it knows, so that no goal runs twice.

    Servers are to know an id for `RESULT_KEPT_S` after the goal has ended.

    Args:
        name: Name of the action.
        handle: Handle of the goal, whether or not it is accepted yet.
        spin: The thread that spins the client.
        send: Sends the goal; called in that thread.
    """

    def __init__(
        self,
        name: str,
        handle: ClientGoalHandle[ResultT],
        spin: SpinThread,
        send: Callable[[], Future[ClientGoalHandle[ResultT]]],
    ) -> None:
        self._name, self._handle, self._spin, self._send = name, handle, spin, send

    def run(self, poll: Callable[[], None]) -> ResultT:
        """Send the goal and wait for its result.

        A request without a response is sent again. That starts no second goal: where the first request was
        accepted, the repeated one is rejected, and the result tells the two kinds of rejection apart.

        Args:
            poll: Called ten times a second while waiting; raises to give up. The goal is not cancelled then.

        Raises:
            GoalRejectedError: The server has not accepted the goal.
            UserError: The goal was accepted, but its result is lost.
        """
        handle, sent = self._ask(self._send, poll, conclusive=lambda handle: handle.accepted)
        if not handle.accepted and sent == 1:
            raise GoalRejectedError(f"{self._name} rejected the goal")
        response, _ = self._ask(self._handle.get_result_async, poll, conclusive=lambda _response: True)
        if response.status == GoalStatus.STATUS_UNKNOWN:
            if handle.accepted:
                raise UserError(f"{self._name} no longer holds the result of a goal that it accepted")
            raise GoalRejectedError(f"{self._name} rejected the goal")
        return response.result

    def cancel(self, wait_s: float, still: Callable[[], bool]) -> ResultT | None:
        """Request the server to cancel the goal; wait for its end, and return its result where it comes.

        Args:
            wait_s: Longest wait.
            still: Asked ten times a second whether to wait on.
        """
        ended: queue.SimpleQueue[Future[GetResultResponse[ResultT]]] = queue.SimpleQueue()
        requested = threading.Event()
        self._spin.post(partial(_begin, self._handle.cancel_goal_async, lambda _future: None))
        self._spin.post(partial(_begin, self._handle.get_result_async, ended.put))
        self._spin.post(requested.set)
        requested.wait(_REQUEST_S)  # the thread that spins may be closed next
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s and still():
            with contextlib.suppress(queue.Empty):
                response = ended.get(timeout=_POLL_S).result()
                return None if response.status == GoalStatus.STATUS_UNKNOWN else response.result
        return None

    def _ask(
        self,
        request: Callable[[], Future[AnswerT]],
        poll: Callable[[], None],
        *,
        conclusive: Callable[[AnswerT], bool],
    ) -> tuple[AnswerT, int]:
        """Make a request until a response arrives; return it and how often the request was made.

        Args:
            request: Makes the request; called in the thread that spins.
            poll: See `run`.
            conclusive: Whether a response counts although a later request is still open.
        """
        answers: queue.SimpleQueue[tuple[int, Future[AnswerT]]] = queue.SimpleQueue()
        made, pause_s, due_s = 0, _AGAIN_S, time.monotonic()
        while True:
            if time.monotonic() >= due_s:
                made += 1
                self._spin.post(partial(_begin, request, partial(_put, answers, made)))
                due_s = time.monotonic() + pause_s
                pause_s = min(2 * pause_s, _LONGEST_AGAIN_S)
            try:
                number, future = answers.get(timeout=_POLL_S)
            except queue.Empty:
                self._spin.check()
                poll()
                continue
            answer = future.result()
            if number == made or conclusive(answer):
                return answer, made


class ClientWatch:
    """Tells the server of an action when the client of its goal has gone: no goal runs on unattended.

    Every client of an action subscribes to its status.

    Args:
        node: Node of the server.
        name: Name of the action.
        now_s: Time at which the goal begins, monotonic.
    """

    def __init__(self, node: Node, name: str, now_s: float) -> None:
        self._count = partial(node.count_subscribers, f"{name}/_action/status")
        self._heard_s = self._counted_s = now_s
        self._limit_s = _UNSEEN_S

    def gone(self, now_s: float) -> bool:
        """Return whether no client has been there for 2 s, or none within the first 10 s."""
        if now_s - self._counted_s >= _COUNT_S:
            self._counted_s = now_s
            if self._count() > 0:
                self._heard_s, self._limit_s = now_s, _GONE_S
        return now_s - self._heard_s > self._limit_s


def _begin(request: Callable[[], Future[AnswerT]], done: Callable[[Future[AnswerT]], object]) -> None:
    """Make a request and have its response passed on; runs in the thread that spins."""
    request().add_done_callback(done)


def _put(
    answers: queue.SimpleQueue[tuple[int, Future[AnswerT]]], number: int, future: Future[AnswerT]
) -> None:
    answers.put((number, future))
