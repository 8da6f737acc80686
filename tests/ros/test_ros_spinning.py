"""Executors end in order: callbacks finish before their node is destroyed, and errors are not lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.waitable import NumberOfEntities, Waitable
from std_msgs.msg import Empty

from embodied_iqa.live.ros.spinning import SpinThread, ThreadedExecutor
from manual_clock import PATIENCE_S


@pytest.fixture
def node(ros_domain: int) -> Iterator[Node]:
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
    made = Node("spun_node", context=context)
    yield made
    made.destroy_node()
    context.try_shutdown()


def test_shutdown_waits_for_a_callback(node: Node) -> None:
    began, go_on, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert go_on.wait(PATIENCE_S)
        finished.set()

    executor = ThreadedExecutor(2, context=node.context)
    executor.add_node(node)
    node.create_guard_condition(work).trigger()
    while not began.is_set():
        executor.spin_once(timeout_sec=0.1)
    assert not executor.shutdown(timeout_sec=0.0)
    threading.Timer(0.1, go_on.set).start()
    assert executor.shutdown(timeout_sec=PATIENCE_S)
    assert finished.is_set()


def test_an_error_of_a_callback_is_raised_by_the_spinning_thread(node: Node) -> None:
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    executor = ThreadedExecutor(2, context=node.context)
    executor.add_node(node)
    node.create_guard_condition(fail).trigger()

    def spin() -> None:
        for _turn in range(200):
            executor.spin_once(timeout_sec=0.1)

    with pytest.raises(ZeroDivisionError, match="a bug"):
        spin()
    executor.shutdown(timeout_sec=PATIENCE_S)


class ClosedMeanwhile(Waitable):
    """What a wait set finds of a topic that a callback closes while the set is made."""

    def __init__(self) -> None:
        super().__init__(ReentrantCallbackGroup())
        self.seen = 0

    def __enter__(self) -> None:
        """Be in use."""

    def __exit__(self, *_: object) -> None:
        """Be in use no more."""

    def get_num_entities(self) -> NumberOfEntities:
        return NumberOfEntities()

    def add_to_wait_set(self, wait_set: object) -> None:
        self.seen += 1
        if self.seen == 1:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")

    def is_ready(self, wait_set: object) -> bool:
        return False


def test_a_topic_that_a_callback_closes_meanwhile_does_not_end_the_node(node: Node) -> None:
    executor, called, closed = ThreadedExecutor(2, context=node.context), threading.Event(), ClosedMeanwhile()
    executor.add_node(node)
    node.add_waitable(closed)
    executor.spin_once(timeout_sec=0.0)
    assert closed.seen == 1
    node.create_guard_condition(called.set).trigger()
    while not called.is_set():
        executor.spin_once(timeout_sec=0.1)
    assert executor.shutdown(timeout_sec=PATIENCE_S)


def test_posted_actions_run_in_their_order(node: Node) -> None:
    spin, ran, last = SpinThread(node), list[int](), threading.Event()
    for number in range(20):
        spin.post(partial(ran.append, number))
    spin.post(last.set)
    assert last.wait(PATIENCE_S)
    spin.close()
    assert ran == list(range(20))


def test_a_spin_thread_is_closed_while_messages_arrive(node: Node, capfd: pytest.CaptureFixture[str]) -> None:
    arrived = threading.Event()
    publisher = node.create_publisher(Empty, "/spun", 10)

    def take(_message: Empty) -> None:
        arrived.set()
        publisher.publish(Empty())

    node.create_subscription(Empty, "/spun", take, 10)
    spin = SpinThread(node)
    publisher.publish(Empty())
    assert arrived.wait(PATIENCE_S)
    spin.close()
    assert all(thread.name != "spun_node spin" for thread in threading.enumerate())
    assert capfd.readouterr().err == ""
