"""The example node keeps the same contract as the filter, and its watchdog stops it by a clock of its own."""

from __future__ import annotations

import importlib
import os
import random
import signal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import lease_to_msg

MS = 1_000_000
VIEWS = (View.TOP, View.WRIST)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str((source_checkout() or Path()) / "examples" / "ros"))
    return importlib.import_module("lease_follower")


def lease(view: View, stamp_ms: int, verdict: Verdict, ttl_ms: int = 120, **changes: Any) -> GateLease:
    return GateLease(view, stamp_ms * MS, verdict, verdict, (stamp_ms + ttl_ms) * MS, **changes)


def test_it_allows_what_the_filter_allows(example: ModuleType) -> None:
    allowed = 0
    for seed in range(400):
        chance, ros_ms, steady_ms = random.Random(seed), 1000, 0
        theirs, ours = example.Leases([str(view) for view in VIEWS]), LeaseFilter(VIEWS)
        for _ in range(20):
            made = lease(
                chance.choice((*VIEWS, View.SIDE)),
                ros_ms - chance.choice([0, 0, 5, 40, 200, -30]),
                chance.choices(list(Verdict), [8, 1, 1])[0],
                chance.choice([120, 120, 40, 5000]),
                needs_decision=chance.random() < 0.03,
                decision=1 if chance.random() < 0.03 else None,
            )
            now = Moment(ros_ms * MS, steady_ms * MS)
            ours = ours.with_lease(made, now)
            theirs.take(lease_to_msg(made, GateMode.ON), now.ros_ns, now.steady_ns)
            wait_ms = chance.choice([0, 1, 10, 60])
            ros_ms += chance.choice([wait_ms, wait_ms, 0, -100 if chance.random() < 0.1 else wait_ms])
            steady_ms += wait_ms
            now = Moment(ros_ms * MS, steady_ms * MS)
            expected = ours.permission(now).verdict is Verdict.PASS
            assert theirs.allow(now.ros_ns, now.steady_ns) == expected
            allowed += expected
    assert allowed > 500


def clocks_and_words(monkeypatch: pytest.MonkeyPatch) -> tuple[SimpleNamespace, list[TwistStamped]]:
    """Make nodes without a graph: return their two clocks, and what they publish."""
    now, sent = SimpleNamespace(ros_ns=1000 * MS, steady_ns=0), list[TwistStamped]()
    ros_clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=now.ros_ns))
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
    command.twist.linear.x = 0.2
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
    assert sent == [command, TwistStamped()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_stop(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    _now, sent = clocks_and_words(monkeypatch)
    handled: list[object] = []
    monkeypatch.setattr("rclpy.init", lambda **options: handled.append(options["signal_handler_options"]))
    monkeypatch.setattr("rclpy.spin", lambda _node: os.kill(os.getpid(), number))
    monkeypatch.setattr("rclpy.try_shutdown", lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    try:
        example.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert handled == [SignalHandlerOptions.NO], "those of ROS end the context, and nothing can be published"
    assert sent == [TwistStamped()]
