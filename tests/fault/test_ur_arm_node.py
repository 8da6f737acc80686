"""arm_node on a UR arm: each fault stops and disarms it in time, and only re-arming lets it continue."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ur_emulator import EmulatorProcess, emulator

rclpy = pytest.importorskip("rclpy", reason="ROS is not installed")
messages = pytest.importorskip("embodied_iqa_msgs.msg", reason="the interface package is not built")
services = pytest.importorskip("embodied_iqa_msgs.srv")
lifecycle = pytest.importorskip("lifecycle_msgs.srv")

_LIMIT_S = 20.0
_CONFIGURE, _ACTIVATE = 1, 3


class Cell:
    """The emulator, arm_node on it, and a node that watches both."""

    def __init__(self, robot: EmulatorProcess) -> None:
        self.robot = robot
        command = [sys.executable, "-m", "embodied_iqa.nodes.arm_node", "--ros-args"]
        for parameter in ("robot:=ur5", f"ur.ip:='{robot.host}'", "controller.state_timeout_ns:=300000000"):
            command += ["-p", parameter]
        # a busy machine may be silent for the ordinary quarter of a second, which is a fault of its own
        command += ["-p", "ur.watchdog_hz:=1.0"]
        self.process = subprocess.Popen([*command, "-p", "ur.state_timeout_s:=0.4"])
        self.node = rclpy.create_node("watcher")
        self.statuses: list[tuple[float, Any]] = []
        self.node.create_subscription(
            messages.ArmStatus,
            "/arm/status",
            lambda status: self.statuses.append((time.monotonic(), status)),
            10,
        )
        for transition in (_CONFIGURE, _ACTIVATE):
            request = lifecycle.ChangeState.Request()
            request.transition.id = transition
            assert self.call(lifecycle.ChangeState, "/arm_node/change_state", request).success

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(_LIMIT_S), name
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=_LIMIT_S)
        self.node.destroy_client(client)
        return future.result()

    def until(self, wanted: Callable[[], object]) -> None:
        end_s = time.monotonic() + _LIMIT_S
        while not wanted():
            assert time.monotonic() < end_s
            rclpy.spin_once(self.node, timeout_sec=0.01)

    def arm(self) -> None:
        request = services.RearmArm.Request(reason="test")
        self.until(lambda: self.call(services.RearmArm, "/arm/rearm", request).success)
        self.await_state(messages.ArmStatus.STATE_IDLE, time.monotonic())

    def await_state(self, state: int, since_s: float) -> Any:
        self.until(lambda: any(at > since_s and status.state == state for at, status in self.statuses))
        return next(status for at, status in self.statuses if at > since_s and status.state == state)

    def close(self) -> None:
        self.node.destroy_node()
        self.process.terminate()
        assert self.process.wait(timeout=10.0) == 0


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    rclpy.init()
    with emulator("--plant", "kinematic", "--unlock-after", "0") as robot:
        made = Cell(robot)
        yield made
        made.close()
    rclpy.try_shutdown()


@pytest.mark.parametrize(
    ("switch", "cause", "reason"),
    [
        ("freeze", "state lost|connection lost", "no measured state for|no state for"),
        ("cut", "state lost|connection lost", "no measured state for|no state for"),
        ("drop", "connection lost", "lost"),
        ("protective-stop", "protective stop", "protective stopped"),
        ("emergency-stop", "emergency stop", "robot emergency stopped"),
        ("stop-program", "program ended", "program ended"),
    ],
)
def test_fault_stops_the_arm_until_it_is_armed_again(
    cell: Cell, switch: str, cause: str, reason: str
) -> None:
    import re

    cell.robot.throw("restore")
    cell.arm()
    assert cell.robot.state()["playing"]
    start = time.monotonic()
    cell.robot.throw(switch)
    status = cell.await_state(messages.ArmStatus.STATE_STOPPED, start)
    assert time.monotonic() - start < 2.0
    assert re.fullmatch(cause, status.stop_cause), status.stop_cause
    assert status.emergency_stop == (switch in {"protective-stop", "emergency-stop"})
    assert re.search(reason, status.reason), status.reason
    cell.robot.throw("restore")
    later = time.monotonic()
    cell.until(lambda: time.monotonic() > later + 0.5)
    assert cell.statuses[-1][1].state == messages.ArmStatus.STATE_STOPPED, "it must not arm itself"


def test_arm_that_cannot_be_armed_reports_why(cell: Cell) -> None:
    cell.robot.throw("restore")
    cell.arm()
    start = time.monotonic()
    cell.robot.throw("emergency-stop")
    cell.await_state(messages.ArmStatus.STATE_STOPPED, start)
    reply = cell.call(services.RearmArm, "/arm/rearm", services.RearmArm.Request(reason="test"))
    assert not reply.success
    assert "emergency stop" in reply.message


def test_dead_controller_stops_the_arm_and_the_node_lives_on(cell: Cell) -> None:
    cell.robot.throw("restore")
    cell.arm()
    start = time.monotonic()
    cell.robot.process.kill()
    status = cell.await_state(messages.ArmStatus.STATE_STOPPED, start)
    assert "lost" in status.reason
    reply = cell.call(services.StopArm, "/arm/stop", services.StopArm.Request(reason="test"))
    assert reply.success
    assert cell.process.poll() is None
