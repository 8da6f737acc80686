"""The inference queue of a node: outcomes arrive in the executor's thread, latencies on /diagnostics."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.data.recording.trial_record import failure_in_words
from embodied_iqa.live.ros.node import Health
from embodied_iqa.models.subjects.inference import InferenceQueue, Outcome, OutcomeKind

_STUCK_S = 30.0
"""Longer inference is a warning."""

_COUNTS = {
    OutcomeKind.DONE: "answers",
    OutcomeKind.FAILED: "failures",
    OutcomeKind.LATE: "late",
    OutcomeKind.SUPERSEDED: "superseded",
    OutcomeKind.REFUSED: "refused",
}

AnswerT = TypeVar("AnswerT")


class NodeInference(Generic[AnswerT]):
    """Calls a subject outside of the executor's thread.

    Args:
        node: Its executor handles the outcomes, one after the other with the node's other callbacks.
        limit: Most calls that wait.
        clock: Of the deadlines and latencies.
    """

    def __init__(self, node: Node, *, limit: int = 4, clock: Clock = MONOTONIC) -> None:
        self._node = node
        self._queue: InferenceQueue[Callable[[], AnswerT], AnswerT] = InferenceQueue(
            f"{node.get_name()} subject", _call_each, limit=limit, clock=clock
        )
        self._outcomes: deque[tuple[Callable[[Outcome[AnswerT]], None], Outcome[AnswerT]]] = deque()
        self._wake = node.create_guard_condition(self._hand_over)

    def start(
        self,
        call: Callable[[], AnswerT],
        done: Callable[[Outcome[AnswerT]], None],
        *,
        deadline_s: float,
        key: Hashable = None,
    ) -> None:
        """Queue a call; ``done`` gets the outcome in the executor's thread. See `InferenceQueue.submit`."""

        def settled(future: Future[Outcome[AnswerT]]) -> None:
            self._outcomes.append((done, future.result()))
            self._wake.trigger()

        self._queue.submit(call, deadline_s=deadline_s, key=key).add_done_callback(settled)

    def ask(
        self, call: Callable[[], AnswerT], *, deadline_s: float, key: Hashable = None
    ) -> Outcome[AnswerT]:
        """Queue a call and wait, in a thread that may be blocked. See `InferenceQueue.ask`."""
        return self._queue.ask(call, deadline_s=deadline_s, key=key)

    def health(self, message: str) -> Health:
        """Return counts and latencies for /diagnostics; a warning while the subject fails or is stuck."""
        state = self._queue.health()
        values: dict[str, object] = {name: state.counts[kind] for kind, name in _COUNTS.items()}
        values["waiting"] = state.waiting
        latencies = {"latency_ms": state.last_ms, "median_ms": state.median_ms, "p95_ms": state.p95_ms}
        values |= {name: round(value, 2) for name, value in latencies.items() if math.isfinite(value)}
        if state.busy_s > _STUCK_S:
            return Health(DiagnosticStatus.WARN, f"{message}: busy for {state.busy_s:.0f} s", values)
        if state.failure:
            return Health(DiagnosticStatus.WARN, failure_in_words(message, state.failure), values)
        return Health(message=message, values=values)

    def destroy(self) -> None:
        """End every call as CLOSED, and take the wake-up out of the node."""
        self._queue.close()
        self._node.destroy_guard_condition(self._wake)

    def _hand_over(self) -> None:
        while self._outcomes:
            done, outcome = self._outcomes.popleft()
            done(outcome)


def _call_each(calls: Sequence[Callable[[], AnswerT]]) -> list[AnswerT]:
    return [call() for call in calls]
