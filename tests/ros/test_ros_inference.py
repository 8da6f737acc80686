"""Inference of a node runs in a thread; outcomes arrive in the executor, which never blocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from embodied_iqa.live.ros.inference import NodeInference
from embodied_iqa.models.subjects.inference import Outcome, OutcomeKind
from manual_clock import PATIENCE_S, ManualClock

DEADLINE_S = 0.4


class Spinner:
    """A node and the thread that it spins in."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("inference_test", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def until(self, event: threading.Event) -> None:
        for _ in range(round(PATIENCE_S / 0.05)):
            if event.is_set():
                return
            self.executor.spin_once(timeout_sec=0.05)
        raise AssertionError("nothing was handed over")

    def close(self) -> None:
        self.executor.shutdown(timeout_sec=PATIENCE_S)
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def spinner(ros_domain: int) -> Iterator[Spinner]:
    made = Spinner(ros_domain)
    yield made
    made.close()


def test_outcomes_come_in_the_thread_that_spins(spinner: Spinner) -> None:
    inference = NodeInference(spinner.node)
    told, released = threading.Event(), threading.Event()
    seen: list[tuple[Outcome[str], str]] = []

    def done(outcome: Outcome[str]) -> None:
        seen.append((outcome, threading.current_thread().name))
        told.set()

    def think() -> str:
        assert released.wait(PATIENCE_S)
        return threading.current_thread().name

    inference.start(think, done, deadline_s=PATIENCE_S)
    spinner.executor.spin_once(timeout_sec=0.0)
    assert not seen, "asking does not wait"
    released.set()
    spinner.until(told)
    ((outcome, where),) = seen
    assert where == threading.current_thread().name
    assert outcome.result == "inference_test subject inference"
    health = inference.health("a subject")
    assert (health.level, health.values["answers"], health.values["late"]) == (DiagnosticStatus.OK, 1, 0)
    assert {"latency_ms", "median_ms", "p95_ms"} <= health.values.keys()
    assert inference.ask(lambda: str(1 // 0), deadline_s=PATIENCE_S).result is None
    health = inference.health("a subject")
    assert (health.level, health.message.split(": ")[0]) == (DiagnosticStatus.WARN, "a subject failed")
    inference.destroy()


def test_a_late_answer_is_reported_at_the_deadline_and_dropped(spinner: Spinner) -> None:
    clock = ManualClock()
    inference = NodeInference(spinner.node, clock=clock)
    told, asked, released = threading.Event(), threading.Event(), threading.Event()
    seen: list[OutcomeKind] = []

    def done(outcome: Outcome[str]) -> None:
        seen.append(outcome.kind)
        told.set()

    def think() -> str:
        asked.set()
        return str(released.wait(PATIENCE_S))

    inference.start(think, done, deadline_s=DEADLINE_S)
    assert asked.wait(PATIENCE_S)
    clock.await_waiting()
    clock.advance(DEADLINE_S - 0.001)
    clock.await_waiting()
    spinner.executor.spin_once(timeout_sec=0.0)
    assert not seen, "the deadline has not come"
    clock.advance(0.001)
    spinner.until(told)
    released.set()
    assert inference.ask(lambda: "next", deadline_s=DEADLINE_S).result == "next"
    spinner.executor.spin_once(timeout_sec=0.0)
    assert seen == [OutcomeKind.LATE]
    assert inference.health("a subject").values["late"] == 1
    inference.destroy()
