"""Inference of a node, in a thread: outcomes return to the executor, latencies go to /diagnostics."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from embodied_iqa.ros.node import Health
from embodied_iqa.subjects.worker import InferenceWorker, Outcome, OutcomeKind

__all__ = ["NodeInference"]

_STUCK_S = 30.0
"""Inference time after which /diagnostics shows a warning."""


class NodeInference:
    """Queries a subject outside of the threads of the executor.

    Args:
        node: Node whose executor handles the outcomes.
        limit: Maximum number of waiting queries.
        group: Callback group of the outcomes; by default, that of the node, so that no other callback of the
            node runs at the same time.
    """

    def __init__(self, node: Node, *, limit: int = 4, group: CallbackGroup | None = None) -> None:
        self._node = node
        self._worker: InferenceWorker[Any] = InferenceWorker(f"{node.get_name()} subject", limit)
        self._outcomes: deque[tuple[Callable[[Outcome[Any]], None], Outcome[Any]]] = deque()
        self._wake = node.create_guard_condition(self._hand_over, callback_group=group)

    def start(
        self,
        work: Callable[[], Any],
        done: Callable[[Outcome[Any]], None],
        *,
        deadline_s: float,
        key: Hashable = None,
    ) -> None:
        """Start a query; ``done`` gets the outcome in the executor. See `InferenceWorker.submit`."""

        def put(outcome: Outcome[Any]) -> None:
            self._outcomes.append((done, outcome))
            self._wake.trigger()

        self._worker.submit(work, put, deadline_s=deadline_s, key=key)

    def ask(self, work: Callable[[], Any], *, deadline_s: float, key: Hashable = None) -> Outcome[Any]:
        """Query and wait, in a thread that may block. See `InferenceWorker.ask`."""
        return self._worker.ask(work, deadline_s=deadline_s, key=key)

    def health(self, message: str) -> Health:
        """Return the counts and latencies of the subject for /diagnostics."""
        state = self._worker.health()
        values: dict[str, object] = {
            "answers": state.counts[OutcomeKind.DONE],
            "failures": state.counts[OutcomeKind.FAILED],
            "late": state.counts[OutcomeKind.LATE],
            "superseded": state.counts[OutcomeKind.SUPERSEDED],
            "refused": state.counts[OutcomeKind.REFUSED],
            "waiting": state.waiting,
        }
        for name, value in (
            ("latency_ms", state.last_ms),
            ("median_ms", state.median_ms),
            ("p95_ms", state.p95_ms),
        ):
            if math.isfinite(value):
                values[name] = round(value, 2)
        if state.busy_s > _STUCK_S:
            return Health(DiagnosticStatus.WARN, f"{message}: busy for {state.busy_s:.0f} s", values)
        return Health(message=message, values=values)

    def close(self) -> None:
        """Cancel all queries; those of `start` get their outcome while the executor still spins."""
        self._worker.close()

    def destroy(self) -> None:
        """Close, and remove the guard condition from the node."""
        self.close()
        self._node.destroy_guard_condition(self._wake)

    def _hand_over(self) -> None:
        while self._outcomes:
            done, outcome = self._outcomes.popleft()
            done(outcome)
