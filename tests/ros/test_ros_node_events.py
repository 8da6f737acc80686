"""Events of publishers and subscriptions cost nothing in most wait sets, and their warnings still come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import rclpy
from rclpy.event_handler import EventHandler
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.waitable import Waitable
from std_msgs.msg import Empty

from embodied_iqa.live.ros.node import BaseNode
from live_process import COMPLETION_S

LOOSE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
STRICT = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


@dataclass(frozen=True, slots=True)
class NoParameters:
    """Parameters of a node that has none."""


@pytest.fixture
def node(ros_domain: int) -> Iterator[BaseNode[NoParameters]]:
    rclpy.init(domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
    made = BaseNode("watched_node", NoParameters)
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def test_events_are_left_out_and_other_waitables_are_not(node: BaseNode[NoParameters]) -> None:
    publisher, own = node.create_publisher(Empty, "/loose", LOOSE), Waitable(node.default_callback_group)
    node.add_waitable(own)
    assert publisher.event_handlers
    assert list(node.waitables) == [own]
    node.remove_waitable(own)


def test_an_incompatible_subscription_is_noticed_within_a_few_periods(node: BaseNode[NoParameters]) -> None:
    publisher = node.create_publisher(Empty, "/loose", LOOSE)
    seen: list[Any] = []
    for handler in publisher.event_handlers:
        assert isinstance(handler, EventHandler)
        handler.callback = seen.append
    node.create_subscription(Empty, "/loose", print, STRICT)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    until = time.monotonic() + COMPLETION_S
    while not seen and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.2)
    executor.shutdown()
    assert [event.total_count for event in seen] == [1]
