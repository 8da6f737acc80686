"""A subject's thread for a node: outcomes come back in the executor's, latencies go to /diagnostics."""

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
"""A subject that thinks for so long deserves a warning."""


class NodeInference:
    """Asks a subject outside of the executor's thread.

    Args:
        node: Whose executor takes the outcomes.
        limit: Most questions that wait.
        group: Callback group of the outcomes; by default, the node's own, so that nothing else of the node
            runs at the same time.
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
        """Ask; ``done`` takes the outcome in the executor's thread. See `InferenceWorker.submit`."""

        def put(outcome: Outcome[Any]) -> None:
            self._outcomes.append((done, outcome))
            self._wake.trigger()

        self._worker.submit(work, put, deadline_s=deadline_s, key=key)

    def ask(self, work: Callable[[], Any], *, deadline_s: float, key: Hashable = None) -> Outcome[Any]:
        """Ask and wait, in a thread that may be blocked. See `InferenceWorker.ask`."""
        return self._worker.ask(work, deadline_s=deadline_s, key=key)

    def health(self, message: str) -> Health:
        """Return what /diagnostics says of the subject: counts and latencies."""
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
            return Health(DiagnosticStatus.WARN, f"{message}: thinks for {state.busy_s:.0f} s", values)
        return Health(message=message, values=values)

    def close(self) -> None:
        """Give all questions up; what `start` asked is told while the executor still spins."""
        self._worker.close()

    def destroy(self) -> None:
        """Close, and take the wake-up out of the node."""
        self.close()
        self._node.destroy_guard_condition(self._wake)

    def _hand_over(self) -> None:
        while self._outcomes:
            done, outcome = self._outcomes.popleft()
            done(outcome)
