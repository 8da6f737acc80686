"""A gripper behind an action of control_msgs, which only an installed ROS has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState

from embodied_iqa.arm.robot.foreign.options import Ros2ControlOptions
from embodied_iqa.arm.robot.messages import GripperState
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.live.ros.qos import NEWEST_STATE, adjustable

_INSTALL = "sudo apt-get install ros-jazzy-control-msgs"


def make_action_gripper(node: Node, options: Ros2ControlOptions) -> ActionGripper:
    """Return the gripper behind the action of another driver.

    Raises:
        MissingDependencyError: control_msgs is not installed.
        UsageError: The gripper is not described.
    """
    action = load("control_msgs.action:GripperCommand", _INSTALL)
    return ActionGripper(node, options, ActionClient(node, action, options.gripper.action), action.Goal)


class ActionGripper:
    """A gripper that `control_msgs/action/GripperCommand` moves and a joint of /joint_states measures.

    Args:
        node: Node of the action and the joint states.
        options: Names and positions.
        client: Client of the action.
        make_goal: Makes a goal of the action.

    Raises:
        UsageError: The joint or its two positions are not set.
    """

    def __init__(
        self, node: Node, options: Ros2ControlOptions, client: Any, make_goal: Callable[[], Any]
    ) -> None:
        options.gripper.check()
        self._node, self._options, self._client = node, options.gripper, client
        self._make_goal = make_goal
        self._age_ns = round(options.state_age_s * SECOND_NS)
        self._position: float | None = None
        self._seen_ns = 0
        self._goals = 0
        self._moving = self._held = False
        self._problem = ""
        node.create_subscription(
            JointState, options.joint_states, self._take_joints, **adjustable(NEWEST_STATE)
        )

    def read(self) -> GripperState:
        """Return the newest measured state.

        Raises:
            InputError: Its joint is not measured; or its action has failed, which is raised once: it stops
                the arm, which can then be armed again.
        """
        if self._position is None or abs(self._now_ns() - self._seen_ns) > self._age_ns:
            raise InputError("the gripper is not measured", expected=f"{self._options.joint} in joint states")
        problem, self._problem = self._problem, ""
        if problem:
            raise InputError(problem)
        return GripperState(self._position, moving=self._moving, object_held=self._held)

    def move(self, position: float) -> None:
        """Start moving to ``position`` in [0, 1] (0 open, 1 closed) and return at once.

        Raises:
            UsageError: The position is out of range.
        """
        if not (math.isfinite(position) and 0.0 <= position <= 1.0):
            raise UsageError("bad gripper target", expected="a number from 0 to 1", got=position)
        options = self._options
        goal = self._make_goal()
        goal.command.position = options.open + position * (options.closed - options.open)
        goal.command.max_effort = options.max_effort
        self._goals += 1
        number = self._goals
        self._moving, self._held = True, False
        self._client.send_goal_async(goal).add_done_callback(lambda done: self._note_goal(number, done))

    def wait_fresh(self, _deadline_s: float) -> None:
        """Check that the action is served and the joint is measured; an earlier failure is over.

        Raises:
            InputError: It is not.
        """
        if not self._client.server_is_ready():
            raise InputError(f"nobody offers the gripper's action {self._options.action}")
        self._problem = ""
        self.read()

    def close(self) -> None:
        """Release the action's client."""
        self._client.destroy()

    def _note_goal(self, number: int, done: Future[Any]) -> None:
        handle = done.result()
        if handle is not None and handle.accepted:
            handle.get_result_async().add_done_callback(lambda result: self._note_result(number, result))
        elif number == self._goals:
            self._moving, self._problem = False, f"{self._options.action} refused to move the gripper"

    def _note_result(self, number: int, done: Future[Any]) -> None:
        if number != self._goals:  # a newer goal replaced it
            return
        answer = done.result()
        self._moving = False
        if answer is None or not (answer.result.reached_goal or answer.result.stalled):
            self._problem = f"{self._options.action} did not move the gripper to its goal"
        else:
            self._held = bool(answer.result.stalled)

    def _take_joints(self, message: JointState) -> None:
        options = self._options
        if options.joint not in message.name:
            return
        index = list(message.name).index(options.joint)
        value = message.position[index] if index < len(message.position) else math.nan
        if math.isfinite(value):
            part = (value - options.open) / (options.closed - options.open)
            self._position, self._seen_ns = min(max(part, 0.0), 1.0), self._now_ns()

    def _now_ns(self) -> int:
        return self._node.get_clock().now().nanoseconds
