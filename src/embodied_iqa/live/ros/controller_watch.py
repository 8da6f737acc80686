"""Whether the controller of another driver is active: an inactive one hears targets and does not move."""

from __future__ import annotations

from typing import Any, Final

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from embodied_iqa.arm.robot.foreign.options import Ros2ControlOptions
from embodied_iqa.base.errors import MissingDependencyError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.live.ros.calls import begin_call

_INSTALL: Final = "sudo apt-get install ros-jazzy-controller-manager-msgs"
_PERIOD_S: Final = 0.5
_PATIENCE: Final = 6
"""Periods after which an unanswered question is asked again."""
_ACTIVE: Final = "active"


class ControllerWatch:
    """Asks the controller manager twice a second for the state of the controller.

    Where controller_manager_msgs is not installed, which is said in one line, or no manager answers, the
    state is not known. Then it does not keep the arm from being available; a state that was known stays.

    Args:
        node: Node of the service's client.
        options: Names of the controller's topic and of its manager; without a manager nothing is asked.
    """

    def __init__(self, node: Node, options: Ros2ControlOptions) -> None:
        self._node, self._name = node, options.controller
        self._service = f"{options.controller_manager}/list_controllers"
        self._pending: Future[Any] | None = None
        self._waited = 0
        self._problem = ""
        self._note_unknown("not asked")
        if not options.controller_manager:
            return
        try:
            service = load("controller_manager_msgs.srv:ListControllers", _INSTALL)
        except MissingDependencyError as error:
            self._note_unknown(str(error))
            node.get_logger().info(f"whether {self._name} is active is not checked: {error}")
            return
        self._make_request = service.Request
        self._client = node.create_client(service, self._service)
        node.create_timer(_PERIOD_S, self.ask, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def problem(self) -> str:
        """Why the controller does not move the arm, as far as that is known."""
        return self._problem

    @property
    def text(self) -> str:
        """The state, for diagnostics."""
        return self._problem or self._unknown or _ACTIVE

    def ask(self) -> None:
        """Ask for the state, unless an answer is awaited."""
        if self._pending is not None:
            self._waited += 1
            if self._waited < _PATIENCE:
                return
            self._client.remove_pending_request(self._pending)
            self._pending = None
            self._note_unknown(f"{self._service} does not answer")
        if not self._client.service_is_ready():
            self._note_unknown(f"nobody offers {self._service}")
            return
        self._waited = 0
        self._pending = begin_call(self._client, self._make_request(), self._take)

    def _take(self, future: Future[Any]) -> None:
        if future is not self._pending:
            return  # of a question that was given up
        self._pending = None
        try:
            response = future.result()
        except Exception as error:  # noqa: BLE001 - whatever the client raises, the state is not known
            self._note_unknown(f"{self._service} failed: {first_line(error)}")
            return
        states = {one.name: one.state for one in response.controller} if response is not None else {}
        state = states.get(self._name)
        self._problem = self._unknown = ""
        if state is None:  # another node may take the targets
            self._note_unknown(f"{self._service} has no {self._name or 'name for it'}")
        elif state != _ACTIVE:
            self._problem = (
                f"the controller {self._name} is {state} and moves nothing: "
                f"ros2 control switch_controllers --activate {self._name}"
            )

    def _note_unknown(self, why: str) -> None:
        self._unknown = f"not known: {why}"
