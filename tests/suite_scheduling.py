"""Hands groups of tests to the workers of `make test`; tests of real time wait until one worker is alone."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from suite_order import WALL_CLOCK, group_of


class GroupScheduling(LoadScopeScheduling):
    """Workers take whole groups in the order of collection.

    When only the tests of real time are left, workers that run out of tests are ended but for one, which
    takes them once the others have finished. A worker that replaces a crashed one counts from its collection
    on: before, it can be given nothing.
    """

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Give work to a worker that waited for the end of another's test too."""
        super().mark_test_complete(node, item_index, duration)
        if self._only_real_time_is_left():
            for other in self.nodes:
                self._reschedule(other)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not self._only_real_time_is_left() or not self._pending_elsewhere(node):
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if node not in self.registered_collections:
            return
        if self._only_real_time_is_left() and self._runs_out(node):
            if any(not other.shutting_down for other in self._others(node)):
                node.shutdown()
                return
            if self._pending_elsewhere(node):
                return
        super()._reschedule(node)

    def _runs_out(self, node: WorkerController) -> bool:
        return not node.shutting_down and self._pending_of(self.assigned_work[node]) <= 2

    def _only_real_time_is_left(self) -> bool:
        if WALL_CLOCK in self.workqueue:
            self.workqueue.move_to_end(WALL_CLOCK)  # what a worker that crashed had left comes before
        return list(self.workqueue) == [WALL_CLOCK]

    def _pending_elsewhere(self, node: WorkerController) -> bool:
        return any(self._pending_of(self.assigned_work[other]) for other in self._others(node))

    def _others(self, node: WorkerController) -> list[WorkerController]:
        """The other workers that have collected the tests."""
        return [other for other in self.nodes if other is not node and other in self.registered_collections]
