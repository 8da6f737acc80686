"""How long the start of a graph may take: as long as its nodes make progress, within a total limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import UserError

_MOST: Final = 5.0
"""The start takes at most so many times the deadline of one stage."""


def longest_start_s(deadline_s: float) -> float:
    """Return how long a start may take (s) whose stages may take ``deadline_s`` each."""
    return _MOST * deadline_s


class StartPatience:
    """The deadline of a start, which every stage that a node reaches for the first time restarts.

    On a busy machine each stage takes longer, so that a deadline for all of them together would end starts
    that succeed. Threads may report stages while another one checks.

    Args:
        nodes: Names of the nodes that load.
        deadline_s: Longest time without progress.
        ready: The last stage of a node.
        clock: Of both limits.
    """

    def __init__(
        self, nodes: Iterable[str], deadline_s: float, ready: str = "active", clock: Clock = MONOTONIC
    ) -> None:
        self.limit_s = longest_start_s(deadline_s)
        self._deadline_s, self._ready, self._clock = deadline_s, ready, clock
        self._stages = dict.fromkeys(nodes, "not started")
        self._reached: set[tuple[str, str]] = set()
        self._begun_s = self._news_s = clock.now_s()

    def note(self, what: str, stage: str) -> None:
        """Restart the deadline where a node or a view reaches a stage for the first time."""
        if what in self._stages:
            self._stages[what] = stage
        if (what, stage) not in self._reached:
            self._reached.add((what, stage))
            self._news_s = self._clock.now_s()

    def noted(self, what: str, problem: str) -> str:
        """Return a problem; a part of the graph whose problem begins with another word has made progress."""
        self.note(what, problem.partition(":")[0])
        return problem

    def missing_views(
        self, views: Iterable[object], shown: Collection[str], judged: Collection[str], fault: str = ""
    ) -> str:
        """Note the views that have come so far; return which have not, and which node is to bring them.

        Args:
            views: Those that the trial needs.
            shown: Those of which the camera has published an image.
            judged: Those of which the gate has judged one.
            fault: What the camera's node reports of itself, with its name; empty for nothing.
        """
        names = set(map(str, views))
        if missing := self._missing(names, shown, "shown"):
            return fault or f"camera_node: no image of {missing}"
        if missing := self._missing(names, judged, "judged"):
            problem = f"distortion_node, gate_node: no judged image of {missing} on /gate/lease"
            return f"{problem}; {fault}" if fault else problem
        return ""

    def _missing(self, names: set[str], seen: Collection[str], stage: str) -> str:
        present = {view for view in names if view in seen}  # other threads add views meanwhile
        for view in present:
            self.note(f"view {view}", stage)
        return ", ".join(sorted(names - present))

    def check(self, problem: str = "") -> None:
        """Give up where nothing has become ready for too long.

        Args:
            problem: What is missing; empty for the nodes that are not ready.

        Raises:
            UserError: The deadline or the limit of the whole start has passed.
        """
        now_s = self._clock.now_s()
        silent_s, taken_s = now_s - self._news_s, now_s - self._begun_s
        if silent_s > self._deadline_s or taken_s > self.limit_s:
            raise UserError(
                f"not ready after {taken_s:.0f} s, the last {silent_s:.0f} s without progress: "
                f"{problem or self._slow()}"
            )

    def _slow(self) -> str:
        waits = [f"{name} is {stage}" for name, stage in self._stages.items() if stage != self._ready]
        return ", ".join(waits) or "a node does not respond"
