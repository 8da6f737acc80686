"""Base classes of the nodes: parameters from a dataclass, diagnostics, a main function."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, TypeVar

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import EventHandler
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.waitable import Waitable

from embodied_iqa.base.deadline import end_within
from embodied_iqa.base.errors import EmbodiedIqaError, UserError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.calls import ENDING
from embodied_iqa.live.ros.configured_node import ConfiguredNode
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.names import DIAGNOSTICS, diagnosed_name
from embodied_iqa.live.ros.node_help import help_of, wants_help
from embodied_iqa.live.ros.node_parameters import wanted_qos_overrides
from embodied_iqa.live.ros.qos import adjustable
from embodied_iqa.runs.graph.parameter_files import parameter_files, read_sections
from embodied_iqa.world.simulation.graphics_contexts import report_open_contexts

ConfigT = TypeVar("ConfigT")
MessageT = TypeVar("MessageT")
NodeT = TypeVar("NodeT", bound=Node)
Spin = Callable[[float], None]
"""Handles one event; waits at most the given number of seconds for it."""

_POLL_S = 0.2
_END_S = 1.0
_LEAVE_S = 2.0

SUPERVISOR = "EMBODIED_IQA_SUPERVISOR"
"""Environment variable with the id of the process that started a node; the node ends with it."""

CONFIGURE_FAILED = "configure failed: "
"""Prefix of the reason on /diagnostics why a node could not load."""

RECORDING_FAILED = "recording failed: "
"""Prefix of the reason on /diagnostics why the recorder cannot write."""

_DIAGNOSTICS_PERIOD_S = 1.0
_EVENTS_S = 0.05
"""Time after each period's timer in which a wait set includes the events."""


@dataclass(slots=True)
class Health:
    """State of a node as reported on /diagnostics.

    Attributes:
        level: DiagnosticStatus.OK, WARN, ERROR or STALE.
        message: The state in words.
        values: Details by name.
    """

    level: bytes = DiagnosticStatus.OK
    message: str = "ok"
    values: dict[str, object] = field(default_factory=dict)


class BaseNode(ConfiguredNode[ConfigT]):
    """A node with parameters and diagnostics."""

    _events_until_s = 0.0
    _is_checked = False

    def __init__(self, name: str, config_class: type[ConfigT]) -> None:
        super().__init__(name, config_class)
        self._qos_wanted = wanted_qos_overrides(self)  # the files may change while the node runs
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        # a separate group: where the executor has a second thread, diagnostics continue while a node loads
        group = MutuallyExclusiveCallbackGroup()
        self.create_timer(_DIAGNOSTICS_PERIOD_S, self._each_period, clock=steady, callback_group=group)

    @property
    def waitables(self) -> Iterator[Waitable]:
        """Return what the executor waits for besides topics, services and timers.

        The events of publishers and subscriptions, which only log warnings, are waited for once a second:
        rclpy builds a wait set for every callback, and all these events take half of its time.
        """
        everything = super().waitables
        if time.monotonic() < self._events_until_s:
            return everything
        return (waitable for waitable in everything if not isinstance(waitable, EventHandler))

    def create_publishers(
        self, kind: type[MessageT], topic: str, views: Iterable[View], qos: QoSProfile
    ) -> dict[View, Publisher[MessageT]]:
        """Create a publisher for each view; ``{view}`` in the topic is replaced."""
        return {
            view: self.create_publisher(kind, topic.format(view=view), **adjustable(qos)) for view in views
        }

    @property
    def has_topics(self) -> bool:
        """Whether all topics are open; a lifecycle node opens some when it is configured."""
        return True

    def health(self) -> Health:
        """Return the state to report on /diagnostics; called once a second."""
        return Health()

    def end(self) -> None:
        """End what callbacks wait for; called before the node is destroyed."""

    def unused_qos_overrides(self) -> list[str]:
        """Return the overrides that are set for this very node and that no topic of it has taken."""
        return [name for name in self._qos_wanted if not self.has_parameter(name)]

    def _check_qos_overrides(self) -> None:
        """Report overrides of topics that the node does not have or that cannot be overridden, once."""
        if not self._is_checked and self.has_topics:
            self._is_checked = True
            for name in self.unused_qos_overrides():
                self.get_logger().warning(f"{name} has no effect: no such topic that can be overridden here")

    def _each_period(self) -> None:
        self._events_until_s = time.monotonic() + _EVENTS_S
        self._check_qos_overrides()
        self._report()

    def _report(self, health: Health | None = None) -> None:
        health = self.health() if health is None else health
        status = DiagnosticStatus(
            level=health.level, name=diagnosed_name(self), message=health.message, hardware_id="embodied_iqa"
        )
        status.values = [KeyValue(key=key, value=str(value)) for key, value in health.values.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)


class ManagedNode(BaseNode[ConfigT], LifecycleNode):
    """A lifecycle node: loads in `configure`, works while active, and reports why a transition failed."""

    active = False
    failure = ""
    """Why the newest `configure` failed."""
    _was_configured = False

    def __init__(self, name: str, config_class: type[ConfigT]) -> None:
        super().__init__(name, config_class)
        change = self._service_change_state  # rclpy 7.1 raises for an impossible transition (its issue 1209)
        change.callback = partial(self._change_state, change.callback)

    def _change_state(
        self,
        change: Callable[[ChangeState.Request, ChangeState.Response], ChangeState.Response],
        request: ChangeState.Request,
        response: ChangeState.Response,
    ) -> ChangeState.Response:
        """Change the state, or answer that the transition is not possible in it."""
        wanted = request.transition
        possible = {number: label for number, label, *_states in self._state_machine.available_transitions}
        if wanted.label in possible.values() if wanted.label else wanted.id in possible:
            return change(request, response)
        _, state = self._state_machine.current_state
        names = ", ".join(possible.values()) or "none"
        self.get_logger().warning(
            f"no transition {wanted.label or wanted.id} from the state {state}; possible: {names}"
        )
        response.success = False
        return response

    @property
    def has_topics(self) -> bool:
        """Whether the node has been configured, now or earlier."""
        return self._was_configured

    def progress(self, line: str) -> None:
        """Report the progress of loading in the log and on /diagnostics."""
        self.get_logger().info(line)
        self._report(Health(DiagnosticStatus.STALE, f"loading: {line}"))

    def load(self) -> None:
        """Load models and open devices.

        Raises:
            UserError: That failed.
        """

    def unload(self) -> None:
        """Release what `load` acquired."""

    def end(self) -> None:
        """Stop working and unload."""
        self.active = False
        self.unload()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load; where that fails, report it in one line and stay unconfigured."""
        self.failure = ""
        try:
            self.load()
        except UserError as error:
            self.failure = str(error)
            self.get_logger().error(f"configure failed: {error}")
            self._report(Health(DiagnosticStatus.ERROR, f"{CONFIGURE_FAILED}{error}"))
            return TransitionCallbackReturn.FAILURE
        self._was_configured = True
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start working."""
        self.active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop working."""
        self.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload."""
        self.unload()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop working and unload."""
        self.active = False
        self.unload()
        return super().on_shutdown(state)


class _StoppedError(Exception):
    """The node received a request to stop."""


class StopRequest:
    """A request to stop: SIGINT, SIGTERM, or the end of the process that started the node.

    The node stops between two callbacks, so that none is interrupted.
    """

    def __init__(self) -> None:
        self._received = False
        self._supervisor = int(os.environ.get(SUPERVISOR, "0"))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    @property
    def requested(self) -> bool:
        """Whether the node has to end."""
        return self._received or (self._supervisor != 0 and os.getppid() != self._supervisor)

    def _receive(self, _number: int, _frame: object) -> None:
        self._received = True


def main_of(
    make_node: Callable[[], NodeT],
    *,
    executor: Callable[[], Executor] = SingleThreadedExecutor,
    work: Callable[[NodeT, Spin], None] = lambda _node, spin: spin(_POLL_S),
    sockets_only: bool = False,
) -> int:
    """Run a node until it is requested to stop; return the exit code. With --help it is explained instead.

    Args:
        make_node: Returns the node.
        executor: Returns the executor.
        work: Called again and again with the node and a function that handles an event; by default, handles
            one event.
        sockets_only: The node closes a control loop: no other process may block it, see `use_sockets_only`.
    """
    if wants_help(sys.argv[1:]):
        sys.stdout.write(help_of(make_node, sys.argv[0]))
        return 0
    prepare_environment(sockets_only=sockets_only)
    gc.freeze()  # what is imported stays: to look through all of it again and again would delay callbacks
    gc.enable()
    node = runner = None
    try:
        for path in parameter_files(sys.argv):
            read_sections(path)  # ROS, which reads it next, takes the last of two values
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        stop = StopRequest()
        node = make_node()
        runner = executor()
        runner.add_node(node)
        spin = _spinning(runner, stop)
        while True:
            work(node, spin)
    except _StoppedError:
        return 0
    except EmbodiedIqaError as error:
        name = getattr(make_node, "__name__", "node")
        sys.stderr.write(f"{name}: {error}\n")
        return error.exit_code
    finally:
        _end(node, runner)


def leave(exit_code: int) -> NoReturn:
    """End the process at once: its teardown by the interpreter takes longer than all the rest of its end."""
    end_within(_LEAVE_S)
    report_open_contexts()
    gc.collect()  # destroys the DDS participant, which takes leave of the others
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


def _end(node: Node | None, runner: Executor | None) -> None:
    """Destroy the node once no callback runs any more."""
    ENDING.set()
    try:
        if isinstance(node, BaseNode):
            node.end()
        if runner is not None and not runner.shutdown(timeout_sec=_END_S):
            sys.stderr.write(f"a callback still runs {_END_S} s after the request to stop\n")
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    finally:
        ENDING.clear()


def _spinning(runner: Executor, stop: StopRequest) -> Spin:
    def spin(seconds: float) -> None:
        if not stop.requested:
            runner.spin_once(timeout_sec=min(seconds, _POLL_S))
        if stop.requested:
            raise _StoppedError

    return spin
