"""Nodes are configured all at once and activated in order; a failure is told while others still load."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import NoReturn

import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros import lifecycle
from embodied_iqa.live.ros.calls import NoResponseError
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.node import ManagedNode
from embodied_iqa.live.ros.spinning import SpinThread
from live_process import COMPLETION_S

_NUMBERS = count()
"""For names of their own in each test: services of nodes that have gone are known for a moment longer."""


@dataclass(frozen=True, slots=True)
class NoParameters:
    """Parameters of a node that has none."""


class Loading(ManagedNode[NoParameters]):
    """A node that loads as the test says and tells when it is activated."""

    def __init__(self, name: str, load: Callable[[], None], activated: list[str]) -> None:
        super().__init__(name, NoParameters)
        self._load, self._activated = load, activated

    def load(self) -> None:
        self._load()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._activated.append(self.get_name())
        return super().on_activate(state)


class Graph:
    """Nodes with a thread of its own each, and their manager."""

    def __init__(self, held: ExitStack) -> None:
        self._held = held
        number = next(_NUMBERS)
        self.names = tuple(f"{word}_{number}" for word in ("middle", "first", "last"))  # not the alphabet's
        self.activated: list[str] = []
        self.nodes: dict[str, Loading] = {}
        asking = Node("asking_node")
        held.callback(asking.destroy_node)
        self.manager = LifecycleManager(asking, self.names, ReentrantCallbackGroup())
        held.callback(SpinThread(asking).close)

    def add(self, name: str, load: Callable[[], None]) -> None:
        node = self.nodes[name] = Loading(name, load, self.activated)
        self._held.callback(node.destroy_node)
        self._held.callback(SpinThread(node).close)


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Graph]:
    with ExitStack() as held:
        rclpy.init(domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
        held.callback(rclpy.try_shutdown)
        yield Graph(held)


def test_all_load_at_once_and_are_activated_in_order(graph: Graph) -> None:
    together = threading.Barrier(len(graph.names))

    def load() -> None:
        together.wait(COMPLETION_S)

    for name in reversed(graph.names):
        graph.add(name, load)
    seen: set[tuple[str, str]] = set()
    graph.manager.bring_up(COMPLETION_S, note=lambda name, state: seen.add((name, state)))
    assert graph.activated == list(graph.names)
    stages = ("unconfigured", "inactive", "active")
    assert seen == {(name, stage) for name in graph.names for stage in stages}
    graph.manager.bring_up(COMPLETION_S)
    assert graph.activated == list(graph.names), "what is active stays as it is"


def test_a_node_that_somebody_else_takes_out_of_service_is_named(graph: Graph) -> None:
    for name in graph.names:
        graph.add(name, lambda: None)
    graph.manager.bring_up(COMPLETION_S)
    assert graph.manager.problem == ""
    first = graph.names[1]
    assert graph.nodes[first].trigger_deactivate() is TransitionCallbackReturn.SUCCESS
    arrived = graph.manager._arrived
    with arrived:
        assert arrived.wait_for(lambda: graph.manager.problem, COMPLETION_S)
    assert graph.manager.problem == f"{first} is no longer active (deactivating)"
    graph.manager.bring_up(COMPLETION_S)
    assert graph.manager.problem == ""


def test_a_failure_is_told_while_others_still_load_and_nothing_is_activated(graph: Graph) -> None:
    loading, release = threading.Event(), threading.Event()

    def load_for_long() -> None:
        loading.set()
        assert release.wait(COMPLETION_S)

    def fail() -> None:
        assert loading.wait(COMPLETION_S)
        raise UserError("no weights")

    for name, load in zip(graph.names, (load_for_long, fail, lambda: None), strict=True):
        graph.add(name, load)
    try:
        with pytest.raises(UserError, match=r"first_\d+ failed to configure: no weights"):
            graph.manager.bring_up(COMPLETION_S)
        assert graph.activated == []
    finally:
        release.set()


def test_a_failure_after_a_long_load_is_told_and_nothing_loads_twice(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "_PATIENCE_S", 0.2)
    loads: list[str] = []
    polls, release = count(), threading.Event()

    def fail_late() -> None:
        loads.append("begun")
        assert release.wait(COMPLETION_S)
        raise UserError("no server")

    def check() -> None:  # called ten times a second: the manager's patience is over long before
        if next(polls) == 8:
            release.set()

    for name, load in zip(graph.names, (lambda: None, fail_late, lambda: None), strict=True):
        graph.add(name, load)
    with pytest.raises(UserError, match=r"first_\d+ failed to configure: no server"):
        graph.manager.bring_up(COMPLETION_S, check)
    assert loads == ["begun"]


def test_a_long_load_is_waited_for(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_PATIENCE_S", 0.2)
    polls, release = count(), threading.Event()

    def check() -> None:
        if next(polls) == 8:
            release.set()

    def load() -> None:
        assert release.wait(COMPLETION_S)

    for name in graph.names:
        graph.add(name, load)
    graph.manager.bring_up(COMPLETION_S, check)
    assert graph.activated == list(graph.names)


def test_who_waits_may_give_up_while_nodes_load(graph: Graph) -> None:
    release = threading.Event()
    loading = threading.Barrier(len(graph.names) + 1)

    def load_for_long() -> None:
        loading.wait(COMPLETION_S)
        assert release.wait(COMPLETION_S)

    def check() -> None:
        loading.wait(COMPLETION_S)
        raise UserError("not wanted any more")

    for name in graph.names:
        graph.add(name, load_for_long)
    try:
        with pytest.raises(UserError, match="not wanted any more"):
            graph.manager.bring_up(COMPLETION_S, check)
        assert graph.activated == []
    finally:
        release.set()


def test_a_missing_node_ends_the_wait_for_the_others(graph: Graph) -> None:
    for name in graph.names[1:]:
        graph.add(name, lambda: None)
    with pytest.raises(UserError, match=rf"no service /{graph.names[0]}/get_state within its deadline"):
        graph.manager.bring_up(5.0)
    assert graph.activated == []


def test_the_missing_node_is_named_though_the_others_are_late_too(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a freeze the deadline of all has passed at once, and the missing one may be noticed last."""
    *_, missing = (f"/{name}/get_state" for name in graph.names)
    noticed = threading.Event()

    def late(client: Client[object, object], *_: object, **__: object) -> NoReturn:
        if client.service_name == missing:
            assert noticed.wait(COMPLETION_S)
            raise UserError(f"no service {missing} within its deadline")
        raise NoResponseError(f"{client.service_name} has not responded")

    polls = count()

    def check() -> None:  # called again and again, also once the first failure has been seen
        if next(polls) == 2:
            noticed.set()

    monkeypatch.setattr(lifecycle, "call", late)
    with pytest.raises(UserError, match=f"no service {missing}"):
        graph.manager.bring_up(0.0, check)
