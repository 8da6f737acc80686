"""What a proxy says while it works: a line for each change of a client, never for each query, and counts."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.models.subjects.wire.errors import one_line
from embodied_iqa.quality.gate.proxy.gated_policy import Answered

MOST_LINES: Final = 20
"""In `PER_S` seconds: a client whose images flicker must not fill the terminal."""
PER_S: Final = 60.0
_PASSES: Final = ("passes",)
_FAILS: Final = ("fails",)

State: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class _Client:
    """Where a client stands.

    Attributes:
        state: Whether it passes or fails, or the cameras that hold it.
        since_ns: When it asked for what did not pass any more.
        held: Queries that were held since.
        failed: Queries without an answer since.
    """

    state: State = _PASSES
    since_ns: int = 0
    held: int = 0
    failed: int = 0


@dataclass(slots=True)
class _Counts:
    passed: int = 0
    held: int = 0
    failed: int = 0
    views: Counter[str] = field(default_factory=Counter)


class ChangeLog:
    """Says what changes for the clients; threads may share it.

    Args:
        say: Takes a line; it returns at once, as clients wait.
        clock: Of the durations and of the limit.
    """

    def __init__(self, say: Callable[[str], None], clock: Clock = MONOTONIC) -> None:
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._clients: dict[str, _Client] = {}
        self._counts = _Counts()
        self._held = "held"
        self._said_ns: deque[int] = deque(maxlen=MOST_LINES)
        self._unsaid = 0

    def attend(self, client: str, *, is_here: bool, why: str = "") -> None:
        """Note that a client came or left; ``why`` where it had to."""
        with self._lock:
            if is_here:
                self._clients[client] = _Client()
            else:
                self._clients.pop(client, None)
            self._line(f"client {client} {'connected' if is_here else 'left'}{why and f': {why}'}")

    def look(self, answered: Answered) -> None:
        """Note an observation, as a `Witness`."""
        with self._lock:
            state = self._count(answered)
            client = self._clients.get(answered.client)
            if client is None:
                return  # it has left
            before, client.state = client.state, state
            if before == _PASSES and state != _PASSES:
                asked_ns = self._clock.now_ns() - round(answered.took_ms * MILLISECOND_NS)
                client.since_ns, client.held, client.failed = asked_ns, 0, 0
            client.held += state not in {_PASSES, _FAILS}
            client.failed += state == _FAILS
            if state != before:
                self._line(f"client {answered.client}: {self._words(answered, client)}")

    def summary(self) -> str:
        """Return the counts of all clients; each query is counted once."""
        with self._lock:
            counts = self._counts
            views = ", ".join(f"{name} {count}" for name, count in counts.views.most_common())
            count = counts.passed + counts.held + counts.failed
            total = f"{count} {'query' if count == 1 else 'queries'}: {counts.passed} passed"
            held = f"{counts.held} {self._held}" + (f" ({views})" if views else "")
            failed = f", {counts.failed} without an answer" if counts.failed else ""
            return f"{total}, {held}{failed}"

    def _count(self, answered: Answered) -> State:
        counts = self._counts
        if answered.report["mode"] != GateMode.ON:
            self._held = "would be held"
        if answered.failure:
            counts.failed += 1
            return _FAILS
        cameras = answered.stopped
        if not cameras:
            counts.passed += 1
            return _PASSES
        counts.held += 1
        counts.views.update(cameras)
        return ("holds", *cameras)

    def _words(self, answered: Answered, client: _Client) -> str:
        if client.state == _FAILS:
            failure = one_line(answered.failure)
            return failure if failure.startswith("no answer") else f"no answer: {failure}"
        if client.state != _PASSES:
            hold = "would hold" if answered.report["mode"] != GateMode.ON else "hold"
            return f"{hold}: {one_line(answered.report['reason'])}"
        took_s = (self._clock.now_ns() - client.since_ns) / SECOND_NS
        counts = {self._held: client.held, "without an answer": client.failed}
        return f"passes again after {took_s:.1f} s ({_words_of(counts)})"

    def _line(self, text: str) -> None:
        """Say a line, unless there were too many in the last minute; the next one has the count of those."""
        now_ns = self._clock.now_ns()
        if len(self._said_ns) == MOST_LINES and now_ns - self._said_ns[0] < PER_S * SECOND_NS:
            self._unsaid += 1
            return
        self._said_ns.append(now_ns)
        left_out = f" ({self._unsaid} changes before this one are not shown)" if self._unsaid else ""
        self._unsaid = 0
        self._say(text + left_out)


def _words_of(counts: dict[str, int]) -> str:
    found = [(name, count) for name, count in counts.items() if count]
    return ", ".join(f"{count} {'query' if count == 1 else 'queries'} {name}" for name, count in found)
