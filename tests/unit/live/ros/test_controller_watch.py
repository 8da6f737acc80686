"""An inactive controller is noticed where its manager can be asked; otherwise nothing is claimed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from embodied_iqa.arm.robot.foreign.options import CommandKind, Ros2ControlOptions
from embodied_iqa.live.ros.controller_watch import ControllerWatch

NAME = "scaled_joint_trajectory_controller"


class Promise:
    """A future that the test finishes."""

    def add_done_callback(self, react: Callable[[Any], None]) -> None:
        self.react = react

    def finish(self, **states: str) -> None:
        found = [SimpleNamespace(name=name, state=state) for name, state in states.items()]
        self._result = SimpleNamespace(controller=found)
        self.react(self)

    def result(self) -> Any:
        return self._result


class Node:
    """A node, and its client of the controller manager."""

    def __init__(self) -> None:
        self.asked: list[Promise] = []
        self.lines: list[str] = []
        self.services: list[str] = []
        self.is_offered = True

    def get_logger(self) -> Any:
        return SimpleNamespace(info=self.lines.append)

    def create_client(self, _kind: Any, name: str) -> Any:
        self.services.append(name)
        return self

    def create_timer(self, _seconds: float, callback: Callable[[], None], **_clock: Any) -> None:
        self.tick = callback

    def service_is_ready(self) -> bool:
        return self.is_offered

    def call_async(self, _request: Any) -> Promise:
        self.asked.append(Promise())
        return self.asked[-1]

    def remove_pending_request(self, promise: Promise) -> None:
        promise.is_dropped = True  # type: ignore[attr-defined]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("controller_manager_msgs.srv")
    module.ListControllers = SimpleNamespace(Request=SimpleNamespace)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", ModuleType("controller_manager_msgs"))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", module)
    return Node()


def test_an_inactive_controller_is_a_problem_until_it_is_active(node: Any) -> None:
    watch = ControllerWatch(node, Ros2ControlOptions())
    assert node.services == ["/controller_manager/list_controllers"]
    assert (watch.problem, watch.text) == ("", "not known: not asked")
    node.tick()
    node.asked[-1].finish(**{NAME: "inactive", "joint_state_broadcaster": "active"})
    assert watch.problem == (
        f"the controller {NAME} is inactive and moves nothing: "
        f"ros2 control switch_controllers --activate {NAME}"
    )
    node.tick()
    node.asked[-1].finish(**{NAME: "active"})
    assert (watch.problem, watch.text) == ("", "active")


def test_a_manager_that_falls_silent_leaves_what_was_known(node: Any) -> None:
    watch = ControllerWatch(node, Ros2ControlOptions())
    node.tick()
    node.asked[-1].finish(**{NAME: "inactive"})
    node.is_offered = False
    node.tick()
    assert "is inactive" in watch.problem
    assert len(node.asked) == 1


def test_a_question_without_an_answer_is_asked_again_and_its_late_answer_is_dropped(node: Any) -> None:
    watch = ControllerWatch(node, Ros2ControlOptions())
    for _ in range(6):
        node.tick()
    assert len(node.asked) == 1
    node.tick()
    first, second = node.asked
    assert first.is_dropped
    assert watch.text == "not known: /controller_manager/list_controllers does not answer"
    second.finish(**{NAME: "active"})
    first.finish(**{NAME: "inactive"})
    assert watch.problem == ""


def test_nothing_is_claimed_of_another_topic_or_without_a_manager(node: Any) -> None:
    other = Ros2ControlOptions(command_topic="/relay/targets", controller_manager="/left/controller_manager")
    watch = ControllerWatch(node, other)
    node.tick()
    node.asked[-1].finish(**{NAME: "inactive"})
    assert watch.problem == ""
    assert watch.text == "not known: /left/controller_manager/list_controllers has no relay"
    node.is_offered = False
    node.tick()
    assert watch.text == "not known: nobody offers /left/controller_manager/list_controllers"
    assert ControllerWatch(node, Ros2ControlOptions(controller_manager="")).text == "not known: not asked"
    assert node.services == ["/left/controller_manager/list_controllers"]


def test_without_the_package_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", None)
    node: Any = Node()
    watch = ControllerWatch(node, Ros2ControlOptions(command=CommandKind.POSITION))
    (line,) = node.lines
    assert line.startswith("whether forward_position_controller is active is not checked: controller_manager")
    assert line.endswith("sudo apt-get install ros-jazzy-controller-manager-msgs")
    assert watch.problem == ""
