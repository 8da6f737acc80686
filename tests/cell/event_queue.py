"""One event queue with time as a number (ns), actors on it, and links between them that can go wrong.

Events at the same time come in an order that the seed draws; so do latencies, and what a fault does. Nothing
else is random, so that a seed gives the same interleaving again.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

MS_NS = 1_000_000
SECOND_NS = 1_000 * MS_NS


class EventQueue:
    """Calls in the order of their time; ties in an order of the seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_ns = 0
        self.handled = 0
        self._heap: list[tuple[int, float, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        self._count += 1
        event = (self.now_ns + delay_ns, self.random.random(), self._count, call)
        heapq.heappush(self._heap, event)

    def run(self, is_over: Callable[[], bool], *, until_ns: int) -> None:
        """Handle events until something is so, or until a time."""
        while self._heap and self._heap[0][0] <= until_ns and not is_over():
            self.now_ns, _, _, call = heapq.heappop(self._heap)
            self.handled += 1
            call()
        if not is_over():
            self.now_ns = max(self.now_ns, until_ns)


@dataclass(eq=False)
class Inbox:
    """Messages of one topic that wait for an actor: the newest ``depth``, as a subscription keeps them."""

    actor: Actor
    handle: Callable[..., object]
    depth: int
    waiting: deque[tuple[Any, ...]] = field(default_factory=deque)

    def put(self, *message: Any) -> None:
        if self.actor.is_dead:
            return
        if not self.actor.is_frozen and not self.waiting:
            self.handle(*message)
            return
        self.waiting.append(message)
        if len(self.waiting) > self.depth:
            self.waiting.popleft()
        elif not self.actor.is_frozen:
            self.actor.queue.after(0, self.actor.wake)


class Actor:
    """A process: handles one message after the other; it can freeze, thaw and die."""

    def __init__(self, queue: EventQueue, name: str) -> None:
        self.queue, self.name = queue, name
        self.is_frozen = self.is_dead = False
        self._inboxes: list[Inbox] = []
        self._overdue: list[Callable[[], None]] = []

    def inbox(self, handle: Callable[..., object], depth: int) -> Inbox:
        self._inboxes.append(Inbox(self, handle, depth))
        return self._inboxes[-1]

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        """Call later; while the actor is frozen, at its thaw."""
        self.queue.after(delay_ns, partial(self._due, call))

    def every(self, period_ns: int, call: Callable[[], None]) -> None:
        """Call periodically from now on; what is missed while frozen is done once."""

        def tick() -> None:
            call()
            self.after(period_ns, tick)

        self.after(0, tick)

    def freeze(self) -> None:
        self.is_frozen = True

    def thaw(self) -> None:
        """Go on: what waits is handled in an order of the seed, each topic in its own order."""
        self.is_frozen = False
        overdue, self._overdue = self._overdue, []
        for call in overdue:
            self.queue.after(0, partial(self._due, call))
        for _ in range(sum(len(inbox.waiting) for inbox in self._inboxes)):
            self.queue.after(0, self.wake)

    def kill(self) -> None:
        self.is_dead = True

    def wake(self) -> None:
        """Handle one of the messages that wait."""
        if self.is_frozen or self.is_dead:
            return
        full = [inbox for inbox in self._inboxes if inbox.waiting]
        if full:
            inbox = self.queue.random.choice(full)
            inbox.handle(*inbox.waiting.popleft())

    def _due(self, call: Callable[[], None]) -> None:
        if self.is_frozen:
            self._overdue.append(call)
        elif not self.is_dead:
            call()


class Link:
    """A topic: each message reaches every subscriber after a latency of the seed, in order, once.

    Attributes:
        delay_ns: Further latency.
        drop: Probability that a message is lost.
        duplicate: Probability that it arrives twice.
        shuffles: Whether messages overtake each other.
        is_blocked: Whether nothing gets through; then the publisher keeps its newest messages.
    """

    def __init__(self, queue: EventQueue, depth: int, latencies_ns: tuple[int, ...] = (0, MS_NS)) -> None:
        self.queue, self.depth, self._latencies_ns = queue, depth, latencies_ns
        self.delay_ns, self.drop, self.duplicate = 0, 0.0, 0.0
        self.shuffles = self.is_blocked = False
        self.published = 0
        self._routes: list[tuple[Inbox, deque[tuple[Any, ...]]]] = []

    def to(self, actor: Actor, handle: Callable[[Any], object], depth: int | None = None) -> Inbox:
        return self.numbered_to(actor, lambda message, _info: handle(message), depth)

    def numbered_to(
        self, actor: Actor, handle: Callable[[Any, dict[str, int]], object], depth: int | None = None
    ) -> Inbox:
        inbox = actor.inbox(handle, depth or self.depth)
        self._routes.append((inbox, deque()))
        return inbox

    def publish(self, message: Any) -> None:
        """Send; LateCount reads a message's number, as rclpy gives it."""
        self.published += 1
        info = {"publication_sequence_number": self.published}
        for inbox, transit in self._routes:
            self._send(inbox, transit, (message, info))

    def unblock(self) -> None:
        self.is_blocked = False
        for inbox, transit in self._routes:
            for _ in range(len(transit)):
                self._travel(inbox, transit)

    def _send(self, inbox: Inbox, transit: deque[tuple[Any, ...]], message: tuple[Any, ...]) -> None:
        chance = self.queue.random.random
        copies = 0 if self.drop and chance() < self.drop else 1
        copies += bool(copies and self.duplicate and chance() < self.duplicate)
        for _ in range(copies):
            transit.append(message)
            if not self.is_blocked:
                self._travel(inbox, transit)
            elif len(transit) > self.depth:
                transit.popleft()

    def _travel(self, inbox: Inbox, transit: deque[tuple[Any, ...]]) -> None:
        latency_ns = self.queue.random.choice(self._latencies_ns) + self.delay_ns
        if self.shuffles:
            latency_ns += self.queue.random.randrange(0, 120) * MS_NS
        self.queue.after(latency_ns, partial(self._arrive, inbox, transit))

    def _arrive(self, inbox: Inbox, transit: deque[tuple[Any, ...]]) -> None:
        if self.is_blocked or not transit:
            return
        if self.shuffles:
            transit.rotate(-self.queue.random.randrange(len(transit)))
        inbox.put(*transit.popleft())


@dataclass(eq=False)
class Service:
    """A service of an actor: ``answer(request, reply)`` calls ``reply`` once, perhaps later."""

    server: Actor
    name: str
    answer: Callable[[Any, Callable[[Any], None]], None]

    def call(
        self, client: Actor, request: Any, done: Callable[[Any | None, str], None], deadline_ns: int
    ) -> None:
        """Ask; ``done`` gets the response, or None and why there is none. A late response is ignored."""
        queue, is_open = self.server.queue, [True]

        def settle(response: Any | None, problem: str) -> None:
            if is_open[0]:
                is_open[0] = False
                done(response, problem)

        def reply(response: Any) -> None:
            queue.after(queue.random.choice((0, MS_NS)), partial(answers.put, response, ""))

        answers = client.inbox(settle, 1)
        requests = self.server.inbox(lambda asked: self.answer(asked, reply), 1)
        queue.after(queue.random.choice((0, MS_NS)), partial(requests.put, request))
        seconds = deadline_ns / SECOND_NS
        late = f"{self.name} has not responded within {seconds:.1f} s"
        client.after(deadline_ns, partial(settle, None, late))
