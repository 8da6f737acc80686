"""Action calls of a thread that does not spin: no response is lost, no goal runs twice or unattended."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus, GoalStatusArray
from embodied_iqa_msgs.action import RunTrial
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionServer, GoalResponse
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import qos_profile_action_status_default
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros import actions
from embodied_iqa.live.ros.actions import ActionCaller, ClientWatch, GoalRejectedError
from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.node import ManagedNode
from embodied_iqa.live.ros.spinning import SpinThread
from live_process import COMPLETION_S
from ros_graph import RosGraph
from stress.main import busy_processes

NAME = "/tested/run"


def until_late() -> Callable[[], None]:
    """Return a poll that fails the test once the deadline has passed."""
    end_s = time.monotonic() + COMPLETION_S

    def poll() -> None:
        assert time.monotonic() < end_s, f"no response within {COMPLETION_S} s"

    return poll


@dataclass
class Server:
    """A real action server, which counts what it runs; it rejects goals without a task."""

    node: Node
    ran: list[str] = field(default_factory=list)
    began: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._server = ActionServer(
            self.node,
            RunTrial,
            NAME,
            self._run,
            result_timeout=actions.RESULT_KEPT_S,
            goal_callback=self._accept,  # type: ignore[arg-type]
        )

    def _accept(self, goal: RunTrial.Goal) -> GoalResponse:
        return GoalResponse.ACCEPT if goal.task else GoalResponse.REJECT

    def _run(self, handle: Any) -> RunTrial.Result:
        self.ran.append(handle.request.task)
        self.began.set()
        handle.publish_feedback(RunTrial.Feedback(message=handle.request.task))
        handle.succeed()
        return RunTrial.Result(success=True, message=f"did {handle.request.task}")


@dataclass
class Pair:
    """A server and a client, each with a thread of its own that spins it."""

    server: Server
    caller: ActionCaller[RunTrial.Goal, RunTrial.Result, RunTrial.Feedback]
    spin: SpinThread

    @property
    def client(self) -> Any:
        """rclpy's own client."""
        return self.caller._client


@contextmanager
def spun(node: Node) -> Iterator[SpinThread]:
    thread = SpinThread(node)
    try:
        yield thread
    finally:
        thread.close()


@pytest.fixture
def pair(ros_domain: int) -> Iterator[Pair]:
    with ExitStack() as held:
        context = Context()
        rclpy.init(context=context, domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
        held.callback(context.try_shutdown)
        nodes = [Node(name, context=context) for name in ("action_server", "action_client")]
        for node in nodes:
            held.callback(node.destroy_node)
        server = Server(nodes[0])
        held.enter_context(spun(nodes[0]))
        spin = SpinThread(nodes[1])
        caller = ActionCaller(nodes[1], RunTrial, NAME, spin)
        held.callback(caller.close)
        held.callback(spin.close)
        poll = until_late()
        while not caller.server_is_ready():
            poll()
        yield Pair(server, caller, spin)


class Handle:
    """rclpy's handle of a client, with some of its calls replaced."""

    def __init__(self, client: Any, **replaced: Any) -> None:
        self._real = client._client_handle
        vars(self).update(replaced)
        client._client_handle = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def late_number(pair: Pair) -> None:
    """Give the number of a request to rclpy only once the server has run the goal."""
    real = pair.client._client_handle.send_goal_request

    def send(request: Any) -> Any:
        number = real(request)
        assert pair.server.began.wait(COMPLETION_S)
        return number

    Handle(pair.client, send_goal_request=send)


def lose_the_first(pair: Pair, take: str) -> None:
    """Lose the first response of a kind, like a server that has not discovered its client yet."""
    real, lost = getattr(pair.client._client_handle, take), []

    def take_response(kind: Any) -> Any:
        taken = real(kind)
        if all(taken) and not lost:
            lost.append(taken)
            return None, None
        return taken

    Handle(pair.client, **{take: take_response})


def test_a_response_that_arrives_before_the_request_is_registered_is_not_lost(pair: Pair) -> None:
    late_number(pair)
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    goal = pair.caller.goal(
        RunTrial.Goal(task="at once"), lambda message: heard.put(message.feedback.message)
    )
    assert goal.run(until_late()).message == "did at once"
    assert pair.server.ran == ["at once"]
    assert heard.get(timeout=COMPLETION_S) == "at once"


def test_who_cancels_a_goal_gets_what_it_came_to(pair: Pair) -> None:
    goal = pair.caller.goal(RunTrial.Goal(task="at once"))
    goal.run(until_late())
    result = goal.cancel(COMPLETION_S, lambda: True)
    assert result is not None
    assert result.message == "did at once"
    assert pair.server.ran == ["at once"]


def test_rclpy_itself_loses_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why `ActionCaller` exists; where this fails, rclpy has been corrected."""
    late_number(pair)
    lost = threading.Event()
    real = pair.client._client_handle.send_goal_request

    def send(request: Any) -> Any:
        number = real(request)
        assert lost.wait(COMPLETION_S), "rclpy has kept the response"
        return number

    pair.client._client_handle.send_goal_request = send
    logger = pair.client._logger
    monkeypatch.setattr(pair.client, "_logger", Warnings(logger, lost), raising=True)
    future = pair.client.send_goal_async(RunTrial.Goal(task="lost"))
    assert lost.is_set()
    assert not future.done()


@dataclass
class Warnings:
    """A logger that sets an event for the warning about an unexpected response."""

    logger: Any
    seen: threading.Event

    def warning(self, text: str) -> None:
        assert "Ignoring unexpected goal response" in text
        self.seen.set()


@pytest.mark.parametrize("take", ["take_goal_response", "take_result_response"])
def test_a_request_whose_response_is_lost_is_repeated_and_runs_once(
    pair: Pair, take: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "_AGAIN_S", 0.2)
    lose_the_first(pair, take)
    assert pair.caller.goal(RunTrial.Goal(task="once")).run(until_late()).message == "did once"
    assert pair.server.ran == ["once"]


def test_a_rejected_goal_is_told(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GoalRejectedError, match=f"{NAME} rejected the goal"):
        pair.caller.goal(RunTrial.Goal()).run(until_late())
    monkeypatch.setattr(actions, "_AGAIN_S", 0.2)
    lose_the_first(pair, "take_goal_response")
    with pytest.raises(GoalRejectedError):
        pair.caller.goal(RunTrial.Goal()).run(until_late())
    assert pair.server.ran == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_callback_ends_the_wait(pair: Pair) -> None:
    def fail(_message: Any) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        pair.caller.goal(RunTrial.Goal(task="any"), fail).run(until_late())


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.stress)])
def test_no_goal_of_many_is_lost_beside_busy_processes(pair: Pair, count: int) -> None:
    with busy_processes(2):
        for number in range(count):
            result = pair.caller.goal(RunTrial.Goal(task=str(number))).run(until_late())
            assert result.message == f"did {number}"
    assert pair.server.ran == [str(number) for number in range(count)]


@dataclass
class Counted:
    """A node in whose graph a number of clients subscribe."""

    clients: int

    def count_subscribers(self, topic: str) -> int:
        assert topic == f"{NAME}/_action/status"
        return self.clients


def test_a_client_has_gone_after_two_seconds_without_it() -> None:
    node = Counted(1)
    watch = ClientWatch(node, NAME, 100.0)  # type: ignore[arg-type]
    assert not watch.gone(100.5)
    node.clients = 0
    assert not watch.gone(102.4)
    node.clients = 1
    assert not watch.gone(102.9)
    node.clients = 0
    assert not watch.gone(104.9)
    assert watch.gone(105.0)


def test_a_client_that_is_not_discovered_yet_has_ten_seconds() -> None:
    watch = ClientWatch(Counted(0), NAME, 100.0)  # type: ignore[arg-type]
    assert not watch.gone(110.0)
    assert watch.gone(110.1)


def test_a_trial_whose_client_has_gone_ends(ros_domain: int, tmp_path: Path) -> None:
    with RosGraph(ros_domain, tmp_path, ["trial_node"]) as graph:
        begun = threading.Event()

        def take(statuses: GoalStatusArray) -> None:
            if any(status.status == GoalStatus.STATUS_EXECUTING for status in statuses.status_list):
                begun.set()

        node = Node("gone_client", context=graph.node.context)
        # Not the first feedback: it is lost where the server has not discovered its subscriber yet.
        node.create_subscription(
            GoalStatusArray, "/trial/run/_action/status", take, qos_profile_action_status_default
        )
        with spun(node) as spin:
            caller = ActionCaller(node, RunTrial, "/trial/run", spin)
            graph.wait(caller.server_is_ready, "trial_node")
            goal = caller.goal(RunTrial.Goal(task="pick the red cube"))

            def poll() -> None:
                graph.processes.check()
                if begun.is_set():
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                goal.run(poll)
        caller.close()
        node.destroy_node()
        log = tmp_path / "trial_node.log"
        graph.wait(lambda: "the terminal of this trial has gone" in log.read_text(), "its end")


@dataclass(frozen=True, slots=True)
class NoParameters:
    """Parameters of a node that has none."""


def test_a_transition_that_is_not_possible_is_answered(ros_domain: int) -> None:
    with ExitStack() as held:
        rclpy.init(domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
        held.callback(rclpy.try_shutdown)
        managed, asking = ManagedNode("managed_node", NoParameters), Node("asking_node")
        held.callback(asking.destroy_node)
        held.callback(managed.destroy_node)
        held.enter_context(spun(managed))
        spin = held.enter_context(spun(asking))
        change = asking.create_client(ChangeState, "/managed_node/change_state")
        ask = asking.create_client(GetState, "/managed_node/get_state")

        def changed(number: int = 0, label: str = "") -> bool:
            request = ChangeState.Request(transition=Transition(id=number, label=label))
            return call(change, request, COMPLETION_S).success

        def state() -> int:
            return call(ask, GetState.Request(), COMPLETION_S).current_state.id

        assert not changed(Transition.TRANSITION_ACTIVATE)
        assert not changed(label="no such transition")
        assert changed(Transition.TRANSITION_CONFIGURE)
        assert not changed(Transition.TRANSITION_CONFIGURE)
        assert not changed(label="configure")
        assert changed(label="activate")
        assert state() == State.PRIMARY_STATE_ACTIVE
        spin.check()


def test_a_service_that_never_responds_can_be_given_up(ros_domain: int) -> None:
    with ExitStack() as held:
        rclpy.init(domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
        held.callback(rclpy.try_shutdown)
        node = Node("lonely_node")
        held.callback(node.destroy_node)
        held.enter_context(spun(node))

        def give_up() -> None:
            raise UserError("not wanted any more")

        with pytest.raises(UserError, match="not wanted any more"):
            call(node.create_client(GetState, "/nobody"), GetState.Request(), COMPLETION_S, check=give_up)
