"""The example node keeps the same contract as the filter, and its watchdog stops it by a clock of its own."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.time import Time as RosTime

from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import header_of, lease_to_msg
from lease_cases import MS, VIEWS, lease, lease_cases


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str((source_checkout() or Path()) / "examples" / "ros"))
    return importlib.import_module("lease_follower")


def test_it_allows_what_the_filter_allows(example: ModuleType) -> None:
    allowed = 0
    for seed in range(400):
        theirs, ours = example.Leases([str(view) for view in VIEWS]), LeaseFilter(VIEWS)
        for made, now, later in lease_cases(seed):
            ours = ours.with_lease(made, now)
            theirs.take(lease_to_msg(made, GateMode.ON), now.ros_ns, now.steady_ns)
            expected = ours.permission(later).verdict is Verdict.PASS
            assert theirs.allow(later.ros_ns, later.steady_ns) == expected
            allowed += expected
    assert allowed > 500


def clocks_and_words(monkeypatch: pytest.MonkeyPatch) -> tuple[SimpleNamespace, list[TwistStamped]]:
    """Make nodes without a graph: return their two clocks, and what they publish."""
    now, sent = SimpleNamespace(ros_ns=1000 * MS, steady_ns=0), list[TwistStamped]()
    ros_clock = SimpleNamespace(now=lambda: RosTime(nanoseconds=now.ros_ns))
    quiet = SimpleNamespace(warning=lambda _line: None)
    for name, made in {
        "__init__": lambda _self, _name: None,
        "declare_parameter": lambda _self, _name, _default: SimpleNamespace(value=["top"]),
        "create_publisher": lambda _self, *_words: SimpleNamespace(publish=sent.append),
        "create_subscription": lambda _self, *_words: None,
        "create_timer": lambda _self, *_words, **_named: None,
        "get_clock": lambda _self: ros_clock,
        "destroy_node": lambda _self: None,
        "get_logger": lambda _self: quiet,
    }.items():
        monkeypatch.setattr(Node, name, made)
    monkeypatch.setattr("time.monotonic_ns", lambda: now.steady_ns)
    return now, sent


def test_the_node_stops_once_where_nothing_comes_any_more(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, sent = clocks_and_words(monkeypatch)
    node, command = example.LeaseFollower(), TwistStamped()
    command.twist.linear.x, command.header.frame_id = 0.2, "tool0"
    node.take_command(command)
    assert sent == []
    node.take_lease(lease_to_msg(lease(View.TOP, 1000, Verdict.PASS), GateMode.ON))
    node.take_command(command)
    assert sent == [command]
    now.steady_ns += 120 * MS
    node.watch()
    assert sent == [command]
    now.steady_ns += MS  # ROS time stands still
    node.watch()
    node.watch()
    node.take_command(command)
    assert sent == [command, TwistStamped(header=header_of(now.ros_ns, "tool0"))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_stop(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    now, sent = clocks_and_words(monkeypatch)
    handled: list[object] = []
    monkeypatch.setattr("rclpy.init", lambda **options: handled.append(options["signal_handler_options"]))

    def spin(_node: object) -> None:
        os.kill(os.getpid(), number)
        pytest.fail("it goes on")

    monkeypatch.setattr("rclpy.spin", spin)
    monkeypatch.setattr("rclpy.try_shutdown", lambda: None)
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)}
    try:  # ignored, as SIGINT is of what a script starts in the background
        example.main()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert handled == [SignalHandlerOptions.NO], "those of ROS end the context, and nothing can be published"
    assert sent == [TwistStamped(header=header_of(now.ros_ns, ""))]
