"""arm_node on a UR arm: each fault stops and disarms it, and only re-arming lets it continue.

How soon is shown where the test owns the time: `test_ur_faults` and the tests of the controller.
"""

from __future__ import annotations

import queue
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from live_process import Program, running_program
from manual_clock import PATIENCE_S
from ur_emulator import EmulatorProcess, emulator

rclpy = pytest.importorskip("rclpy", reason="ROS is not installed")
messages = pytest.importorskip("embodied_iqa_msgs.msg", reason="the interface package is not built")
services = pytest.importorskip("embodied_iqa_msgs.srv")

from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: E402 - where ROS is installed

from embodied_iqa.base.kinematics.models import ArmModel  # noqa: E402
from embodied_iqa.live.ros.calls import call  # noqa: E402
from embodied_iqa.live.ros.lifecycle import LifecycleManager  # noqa: E402
from embodied_iqa.live.ros.spinning import SpinThread  # noqa: E402
from embodied_iqa.live.ros.trial_commands import TrialCommands  # noqa: E402
from embodied_iqa.runs.graph.parameters import TrialParameters  # noqa: E402
from embodied_iqa.runs.trial import protocol  # noqa: E402

_AGAIN_S = 5.0
"""A response may be lost while its client is discovered; the requests here may be sent twice."""
_STATUSES = 20
_TICKS = 3
_SILENT = "no measured state for|no state for|closed the connection"
"""The client library gives a silent connection up by itself; who notices first is not decided here."""


class Cell:
    """The emulator, arm_node on it, and a node that watches both."""

    def __init__(
        self, robot: EmulatorProcess, model: ArmModel, start: Callable[[list[str]], Program]
    ) -> None:
        self.robot = robot
        self.model = model
        command = [sys.executable, "-m", "embodied_iqa.live.nodes.arm_node", "--ros-args"]
        for parameter in (
            "robot:=ur5",
            f"model:={model}",
            "limits.workspace_min_m:=[-0.8, -0.45, -0.01]",
            "limits.workspace_max_m:=[-0.2, 0.45, 0.71]",
            f"ur.ip:='{robot.host}'",
            "controller.state_timeout_ns:=5000000000",
        ):
            command += ["-p", parameter]
        # a busy machine may be silent for the ordinary quarter of a second, which is a fault of its own
        command += ["-p", "ur.watchdog_hz:=1.0"]
        command += ["-p", "ur.gripper.reply_s:=10.0"]  # the silence of the arm is noticed first
        self.process = start([*command, "-p", "ur.state_timeout_s:=5.0"]).process
        self.node = rclpy.create_node("watcher")
        self.statuses: list[Any] = []
        self._news = threading.Condition()
        self.node.create_subscription(messages.ArmStatus, "/arm/status", self._take, 10)
        self.clients = {
            kind: self.node.create_client(kind, name)
            for kind, name in ((services.RearmArm, "/arm/rearm"), (services.StopArm, "/arm/stop"))
        }
        self._spin = SpinThread(self.node)
        LifecycleManager(self.node, ("arm_node",), ReentrantCallbackGroup()).bring_up(PATIENCE_S)

    def call(self, kind: Any) -> Any:
        return call(self.clients[kind], kind.Request(reason="test"), PATIENCE_S, again_s=_AGAIN_S)

    def until(self, wanted: Callable[[], object]) -> None:
        """Return once it is so, looked at with every status."""
        with self._news:
            assert self._news.wait_for(wanted, PATIENCE_S)

    def arm(self) -> None:
        since = len(self.statuses)
        while not self.call(services.RearmArm).success:
            seen = len(self.statuses)
            self.until(lambda seen=seen: len(self.statuses) > seen)
        self.await_state(messages.ArmStatus.STATE_IDLE, since)

    def await_state(self, state: int, since: int) -> Any:
        """Return the first status of a state since a number of statuses."""
        self.until(lambda: any(status.state == state for status in self.statuses[since:]))
        return next(status for status in self.statuses[since:] if status.state == state)

    def close(self) -> None:
        self._spin.close()
        self.node.destroy_node()
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE_S) == 0

    def _take(self, status: Any) -> None:
        with self._news:
            self.statuses.append(status)
            self._news.notify_all()


class AttendedTrial:
    """The commands of a trial on the arm, and a person who says yes."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._replies: queue.SimpleQueue[protocol.Reply] = queue.SimpleQueue()
        watch = SimpleNamespace(fault="", unwanted=str, say=lambda _words: None)
        config = TrialParameters(simulated=False, reply_deadline_s=PATIENCE_S)
        self._commands = TrialCommands(cell.node, config, watch, self._replies.put)  # type: ignore[arg-type]
        self._confirm = cell.node.create_client(services.ConfirmRun, "/trial/confirm")

    def do(self, command: protocol.Command) -> protocol.Reply:
        self._commands.carry_out(command)
        return self._replies.get(timeout=PATIENCE_S)

    def answer(self, named: str) -> protocol.Reply:
        """Ask a question that names a stop and answer it."""
        self._commands.carry_out(protocol.AskPerson(protocol.Stage.RECOVER, 0, named))
        request = services.ConfirmRun.Request(stage=int(protocol.Stage.RECOVER), run_index=0, yes=True)
        assert call(self._confirm, request, PATIENCE_S).success
        return self._replies.get(timeout=PATIENCE_S)

    def released(self, named: str) -> str:
        """Return what a question that names a stop adds on its release."""
        question = protocol.AskPerson(protocol.Stage.RECOVER, 0, named)
        return self._commands.words_of(question).removeprefix(named).lstrip()

    def until_fault(self, words: str) -> None:
        """Return once the arm's node reports a fault with these words; none where they are empty."""
        self._cell.until(
            lambda: words in self._commands.with_arm_fault("-") and (words or not self.is_faulty)
        )

    @property
    def is_faulty(self) -> bool:
        return self._commands.with_arm_fault("-") != "-"


@pytest.fixture(scope="module")
def cell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    model = ArmModel(getattr(request, "param", "ur5"))
    rclpy.init()
    logs = tmp_path_factory.mktemp("arm_node")
    words = ("--model", str(model), "--plant", "kinematic", "--unlock-after", "0")
    with emulator(*words) as robot, ExitStack() as programs:
        made = Cell(robot, model, lambda command: programs.enter_context(running_program(command, logs)))
        yield made
        made.close()
    rclpy.try_shutdown()


@pytest.mark.parametrize(
    ("switch", "cause", "reason"),
    [
        ("freeze", "state lost|connection lost", _SILENT),
        ("cut", "state lost|connection lost", _SILENT),
        ("drop", "connection lost", "lost"),
        ("protective-stop", "protective stop", "protective stopped"),
        ("emergency-stop", "emergency stop", "robot emergency stopped"),
        ("stop-program", "program ended", "program ended"),
    ],
)
def test_fault_stops_the_arm_until_it_is_armed_again(
    cell: Cell, switch: str, cause: str, reason: str
) -> None:
    cell.robot.throw("restore")
    cell.arm()
    assert cell.robot.state()["playing"]
    since = len(cell.statuses)
    cell.robot.throw(switch)
    status = cell.await_state(messages.ArmStatus.STATE_STOPPED, since)
    assert re.fullmatch(cause, status.stop_cause), status.stop_cause
    assert status.emergency_stop == (switch in {"protective-stop", "emergency-stop"})
    assert re.search(reason, status.reason), status.reason
    cell.robot.throw("restore")
    since = len(cell.statuses)
    cell.until(lambda: len(cell.statuses) > since + _STATUSES)
    assert cell.statuses[-1].state == messages.ArmStatus.STATE_STOPPED, "it must not arm itself"


@pytest.mark.parametrize(
    ("switch", "cause"), [("protective-stop", "protective stop"), ("emergency-stop", "emergency stop")]
)
def test_first_states_that_tell_of_a_fault_stop_the_arm(cell: Cell, switch: str, cause: str) -> None:
    _stops_within_three_ticks(cell, switch, cause)


def _stops_within_three_ticks(cell: Cell, switch: str, cause: str) -> None:
    """The controller's time stands but for three ticks: the node may need no more of it to stop.

    An ended program is told by the second state that shows it, and states that come at once may be read as
    one: `test_ur_faults` has its ticks one by one.
    """
    cell.robot.throw("restore")
    cell.arm()
    since = len(cell.statuses)
    cell.robot.throw("hold")
    thrown_s = cell.robot.state()["time_s"]
    cell.robot.throw(switch)
    cell.robot.step(_TICKS)
    status = cell.await_state(messages.ArmStatus.STATE_STOPPED, since)
    assert status.stop_cause == cause, "it noticed only that no states came"
    assert cell.robot.state()["time_s"] - thrown_s == pytest.approx(_TICKS / cell.model.rate_hz)


def test_arm_that_cannot_be_armed_reports_why(cell: Cell) -> None:
    cell.robot.throw("restore")
    cell.arm()
    since = len(cell.statuses)
    cell.robot.throw("emergency-stop")
    cell.await_state(messages.ArmStatus.STATE_STOPPED, since)
    reply = cell.call(services.RearmArm)
    assert not reply.success
    assert "emergency stop" in reply.message


def test_a_trial_does_not_arm_after_a_stop_until_a_person_answers_after_its_release(cell: Cell) -> None:
    cell.robot.throw("restore")
    cell.arm()
    trial = AttendedTrial(cell)
    trial.do(protocol.CheckArm())
    since = len(cell.statuses)
    cell.robot.throw("emergency-stop")
    cell.await_state(messages.ArmStatus.STATE_STOPPED, since)
    trial.until_fault("the robot made an emergency stop")
    stopped = trial.do(protocol.Rearm(0)).stopped
    assert re.search("the robot made an emergency stop", stopped)
    assert trial.answer(stopped).stopped == stopped, "it is still pressed"
    release = "release the emergency stop, power on and release the brakes"
    assert trial.released(stopped) == f"It is still stopped: {release} first."
    cell.robot.throw("restore")
    trial.until_fault("")
    reply = trial.do(protocol.Rearm(0))
    assert (reply.ok, reply.message) == (False, stopped), "released, but nobody has answered"
    assert cell.statuses[-1].state == messages.ArmStatus.STATE_STOPPED
    assert trial.answer(stopped).stopped == ""
    assert trial.do(protocol.Rearm(0)).ok


def test_dead_controller_stops_the_arm_and_the_node_lives_on(cell: Cell) -> None:
    """The last test of this controller, which has ended afterwards."""
    cell.robot.throw("restore")
    cell.arm()
    since = len(cell.statuses)
    cell.robot.process.kill()
    status = cell.await_state(messages.ArmStatus.STATE_STOPPED, since)
    assert "lost" in status.reason
    reply = cell.call(services.StopArm)
    assert reply.success
    assert cell.process.poll() is None


@pytest.mark.parametrize("cell", ["ur5e"], indirect=True)
def test_e_series_stops_within_three_of_its_ticks(cell: Cell) -> None:
    _stops_within_three_ticks(cell, "protective-stop", "protective stop")
