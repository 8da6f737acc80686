"""Configures lifecycle nodes, all at once, and activates them in order, from a thread that may block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros.calls import NoResponseError, call
from embodied_iqa.live.ros.names import DIAGNOSTICS, local_name
from embodied_iqa.live.ros.node import CONFIGURE_FAILED

_AGAIN_S = 2.0
_PATIENCE_S = 10.0
"""A transition is requested again only after the node has answered about its state: it would load twice."""
_REASON_S = 1.0
_POLL_S = 0.1
_ACTIVE = (State.PRIMARY_STATE_ACTIVE,)
_CONFIGURED = (State.PRIMARY_STATE_INACTIVE, State.PRIMARY_STATE_ACTIVE)
_NEXT = {
    State.PRIMARY_STATE_UNCONFIGURED: (Transition.TRANSITION_CONFIGURE, "configure"),
    State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_ACTIVATE, "activate"),
}


class _GivenUpError(Exception):
    """Another node has failed, or the caller waits no more."""


class LifecycleManager:
    """Clients of the lifecycle services of some nodes.

    Args:
        node: Node of the clients; it must be spinning in another thread.
        names: The managed nodes.
        group: Callback group of the clients.
    """

    def __init__(self, node: Node, names: Iterable[str], group: CallbackGroup) -> None:
        self._node = node
        self._clients = {
            name: (
                node.create_client(GetState, f"{name}/get_state", callback_group=group),
                node.create_client(ChangeState, f"{name}/change_state", callback_group=group),
            )
            for name in names
        }
        self._reasons: dict[str, str] = {}
        self._left: dict[str, str] = {}
        self._note: Callable[[str, str], None] = lambda _name, _state: None
        self._arrived = threading.Condition()
        node.create_subscription(DiagnosticArray, DIAGNOSTICS, self._take, 10, callback_group=group)
        for name in self._clients:
            topic, changed = f"{name}/transition_event", partial(self._changed, name)
            node.create_subscription(TransitionEvent, topic, changed, 10, callback_group=group)

    @property
    def problem(self) -> str:
        """Which node somebody else has deactivated or shut down since `bring_up`; empty for none."""
        left = self._left.copy()
        return ", ".join(f"{name} is no longer active ({state})" for name, state in left.items())

    def bring_up(
        self,
        deadline_s: float,
        check: Callable[[], None] = lambda: None,
        note: Callable[[str, str], None] = lambda _name, _state: None,
    ) -> None:
        """Configure every node that is not active yet, all at once, then activate them in order.

        Args:
            deadline_s: Time for all of it, real time.
            check: Called ten times a second while waiting; raises to give up.
            note: Called with name and state of a node whenever it has answered; from any thread.

        Raises:
            UserError: A node is missing, fails, or takes too long.
        """
        until = time.monotonic() + deadline_s
        self._note = note
        self._configure_all(until, check)
        for name in self._clients:
            self._bring(name, _ACTIVE, until, check)
        self._left.clear()

    def _configure_all(self, until: float, check: Callable[[], None]) -> None:
        """Configure all nodes at once: each loads in its own process, and the slowest decides how long."""
        if not self._clients:
            return
        given_up = threading.Event()

        def check_wanted() -> None:
            if given_up.is_set():
                raise _GivenUpError

        with ThreadPoolExecutor(len(self._clients), "configure") as threads:
            try:
                begun = [
                    threads.submit(self._bring, name, _CONFIGURED, until, check_wanted)
                    for name in self._clients
                ]
                left = set(begun)
                while left:
                    _, left = wait(left, _POLL_S, FIRST_COMPLETED)
                    check()
                    failed = any(future.done() and future.exception() for future in begun)
                    if failed and time.monotonic() < until:
                        given_up.set()  # later all end by themselves; which one is missing shows then
            finally:
                given_up.set()
        found = [error for future in begun if (error := future.exception()) is not None]
        failures = [error for error in found if not isinstance(error, _GivenUpError)]
        if failures:  # a node that has only not answered may wait for the one that is missing or has failed
            raise min(failures, key=lambda error: isinstance(error, NoResponseError))

    def _bring(self, name: str, wanted: Container[int], until: float, check: Callable[[], None]) -> None:
        """Request transitions of a node until it is in one of some states."""
        get_state, change_state = self._clients[name]

        def ask_state() -> State:
            left_s = until - time.monotonic()
            request = GetState.Request()
            state = call(get_state, request, left_s, again_s=_AGAIN_S, check=check).current_state
            self._note(name, state.label)
            return state

        while True:
            state = ask_state()
            if state.id in wanted:
                return
            if state.id not in _NEXT:
                raise UserError(f"{name} cannot be activated", got=f"lifecycle state {state.label}")
            transition, word = _NEXT[state.id]
            request = ChangeState.Request(transition=Transition(id=transition))
            left_s = until - time.monotonic()
            try:
                refused = not call(change_state, request, min(_PATIENCE_S, left_s), check=check).success
            except NoResponseError:
                if left_s <= _PATIENCE_S:
                    raise
                ask_state()  # answered once the node has loaded; its response may be lost
                refused = name in self._reasons
            # where the state is another one, another manager was faster
            if refused and ask_state().id == state.id:
                raise UserError(f"{name} failed to {word}: {self._reason(name)}")

    def _take(self, message: DiagnosticArray) -> None:
        with self._arrived:
            for status in message.status:
                name = local_name(self._node, status.name)
                if name is not None and status.message.startswith(CONFIGURE_FAILED):
                    self._reasons[name] = status.message.removeprefix(CONFIGURE_FAILED)
            self._arrived.notify_all()

    def _changed(self, name: str, event: TransitionEvent) -> None:
        if event.start_state.id == State.PRIMARY_STATE_ACTIVE:
            self._left[name] = event.goal_state.label

    def _reason(self, name: str) -> str:
        """Return why a node failed; the reason comes on another topic and may arrive later."""
        with self._arrived:
            self._arrived.wait_for(lambda: name in self._reasons, _REASON_S)
            return self._reasons.pop(name, "see its log")
