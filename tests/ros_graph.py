"""Real nodes as processes over real Fast DDS, and a node of the test's own that talks to them."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from embodied_iqa.live.ros.calls import begin_call
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.node_table import resolve, write_parameters
from embodied_iqa.runs.graph.processes import ProcessGroup, ProcessSpec
from live_process import COMPLETION_S

EVERY = QoSProfile(depth=1000)
"""Of subscriptions whose every message counts: a queue of the product overflows while a busy machine holds a
test up for half a second."""
_POLL_S = 0.01
_LOOKS = 20
Answer = TypeVar("Answer")


@dataclass
class Inbox:
    """What came on one topic, oldest first; serialised bytes where it was subscribed raw."""

    messages: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def last(self) -> Any:
        return self.messages[-1] if self.messages else None


class RosGraph:
    """Starts nodes of the graph and ends them; every wait has a deadline and ends early when a node dies.

    Args:
        domain: ROS domain, for this graph alone.
        folder: For parameters and logs.
        names: The nodes.
        overrides: ``node.parameter`` to value.
        extra: Further processes.
    """

    def __init__(
        self,
        domain: int,
        folder: Path,
        names: Iterable[str],
        overrides: Mapping[str, Any] | None = None,
        extra: tuple[ProcessSpec, ...] = (),
    ) -> None:
        self._domain = domain
        self._news = threading.Condition()
        self._mortal: set[str] = set()
        self._clients: dict[str, Any] = {}
        folder.mkdir(parents=True, exist_ok=True)
        parameters = folder / "parameters.yaml"
        write_parameters(resolve((), overrides), parameters)
        entries = {entry.name: entry for entry in GRAPH}
        specs = [ProcessSpec(name, tuple(command_of(entries[name], parameters))) for name in names]
        environment = os.environ | {"ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(folder)}
        self.processes = ProcessGroup((*specs, *extra), folder, environment)

    def __enter__(self) -> Self:
        self.processes.__enter__()
        try:
            return self._join()
        except BaseException:
            self.processes.stop()
            raise

    def _join(self) -> Self:
        self._context = Context()
        rclpy.init(
            context=self._context, domain_id=self._domain, signal_handler_options=SignalHandlerOptions.NO
        )
        self.node = Node("test_node", context=self._context)
        self._spin = SpinThread(self.node)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spin.close()
        self.node.destroy_node()
        self._context.try_shutdown()
        self.processes.stop()
        assert not self.processes.left, f"not gone some time after SIGKILL: {self.processes.left}"

    # --- topics and services --------------------------------------------------------------------------------

    def subscribe(
        self, kind: type, topic: str, qos: Any, react: Callable[[Any], None] = lambda _message: None
    ) -> Inbox:
        return self._subscribe(kind, topic, qos, react, raw=False)

    def subscribe_raw(self, kind: type, topic: str, qos: Any) -> Inbox:
        return self._subscribe(kind, topic, qos, lambda _message: None, raw=True)

    def _subscribe(
        self, kind: type, topic: str, qos: Any, react: Callable[[Any], None], *, raw: bool
    ) -> Inbox:
        inbox = Inbox()

        def take(message: Any) -> None:
            react(message)
            with self._news:
                inbox.messages.append(message)
                self._news.notify_all()

        self.node.create_subscription(kind, topic, take, qos, raw=raw)
        return inbox

    def publisher(self, kind: type, topic: str, qos: Any, *, listeners: int = 1) -> Any:
        """Return a publisher once somebody listens."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.wait(
            lambda: publisher.get_subscription_count() >= listeners, f"{listeners} who listen to {topic}"
        )
        return publisher

    def close_publisher(self, publisher: Any) -> None:
        """Destroy a publisher in the thread that spins: a wait set that another one builds would fail."""
        gone = threading.Event()

        def destroy() -> None:
            self.node.destroy_publisher(publisher)
            gone.set()

        self._spin.post(destroy)
        assert gone.wait(COMPLETION_S), "the thread that spins has ended"

    def call(self, kind: type, name: str, **request: Any) -> Any:
        return self.ask(self._client(kind, name), kind.Request(**request))

    def _client(self, kind: type, name: str) -> Any:
        """Return a client that the server knows too.

        A client is told of a server when it has found it, not when it has been found: for an answer to a
        client that it does not know yet a server waits 100 ms and then drops it.
        """
        if name not in self._clients:
            client = self.node.create_client(kind, name, callback_group=ReentrantCallbackGroup())
            self.wait(client.service_is_ready, f"the service {name}")
            self.meet(self.wait(lambda: self._server_of(name), f"the node that serves {name}"))
            self._clients[name] = client
        return self._clients[name]

    def _server_of(self, service: str) -> str:
        for name, namespace in self.node.get_node_names_and_namespaces():
            with suppress(NodeNameNonExistentError):  # it has gone meanwhile
                served = self.node.get_service_names_and_types_by_node(name, namespace)
                if service in dict(served):
                    return f"{namespace.rstrip('/')}/{name}"
        return ""

    def meet(self, name: str) -> None:
        """Return once a node knows all subscriptions and clients that this one has by now.

        It learns of them in the order in which they are made, and has answered one that is made last. What
        it publishes or answers from now on arrives.
        """
        group = ReentrantCallbackGroup()
        last = self.node.create_client(GetParameters, f"{name}/get_parameters", callback_group=group)
        futures: list[Future[Any]] = []
        looks = itertools.count()

        def answered() -> bool:
            if next(looks) % _LOOKS == 0:  # an answer before it knows this client is dropped
                futures.append(begin_call(last, GetParameters.Request(), lambda _future: self._wake()))
            return any(future.done() for future in futures)

        self.wait(last.service_is_ready, f"the parameters of {name}")
        self.wait(answered, f"an answer of {name}")

    def ask(self, client: Any, request: Any) -> Any:
        """Call a service; the end of the node that serves it is told at once."""
        self.wait(client.service_is_ready, f"the service {client.srv_name}")
        future = begin_call(client, request, lambda _future: self._wake())
        self.wait(future.done, f"an answer of {client.srv_name}")
        return future.result()

    def activate(self, *names: str) -> None:
        LifecycleManager(self.node, names, ReentrantCallbackGroup()).bring_up(COMPLETION_S)

    def load_again(self, name: str) -> None:
        """Unload a lifecycle node, in whatever state it is, then configure and activate it."""
        state = self.call(GetState, f"/{name}/get_state").current_state.id
        steps = {
            State.PRIMARY_STATE_ACTIVE: (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP),
            State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_CLEANUP,),
        }
        for step in steps.get(state, ()):
            done = self.call(ChangeState, f"/{name}/change_state", transition=Transition(id=step))
            assert done.success, f"transition {step} of {name}"
        self.activate(name)

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()

    # --- waiting --------------------------------------------------------------------------------------------

    def may_die(self, name: str) -> None:
        """From now on the end of this process is what the test is about."""
        self._mortal.add(name)

    def wait(self, answer: Callable[[], Answer], what: str, deadline_s: float = COMPLETION_S) -> Answer:
        """Wait until ``answer`` is true, looking again after every message; return it."""
        until = time.monotonic() + deadline_s
        with self._news:
            while not (found := answer()):
                if not self._mortal:
                    self.processes.check()
                self._spin.check()
                assert time.monotonic() < until, f"not within {deadline_s} s: {what}"
                self._news.wait(_POLL_S)
        return found
