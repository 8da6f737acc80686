# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.type_support import ActionType

_GoalT = TypeVar("_GoalT")
_ResultT = TypeVar("_ResultT")
_FeedbackT = TypeVar("_FeedbackT")

class GoalResponse(Enum):
    REJECT = ...
    ACCEPT = ...

class CancelResponse(Enum):
    REJECT = ...
    ACCEPT = ...

class ServerGoalHandle(Generic[_GoalT, _ResultT, _FeedbackT]):
    @property
    def request(self) -> _GoalT: ...
    @property
    def is_cancel_requested(self) -> bool: ...
    def publish_feedback(self, feedback: _FeedbackT) -> None: ...
    def succeed(self) -> None: ...
    def abort(self) -> None: ...
    def canceled(self) -> None: ...

class ActionServer(Generic[_GoalT, _ResultT, _FeedbackT]):
    def __init__(
        self,
        node: Node,
        action_type: type[ActionType[_GoalT, _ResultT, _FeedbackT]],
        action_name: str,
        execute_callback: Callable[[ServerGoalHandle[_GoalT, _ResultT, _FeedbackT]], _ResultT],
        *,
        callback_group: CallbackGroup | None = None,
        goal_callback: Callable[[_GoalT], GoalResponse] = ...,
        cancel_callback: Callable[[ServerGoalHandle[_GoalT, _ResultT, _FeedbackT]], CancelResponse] = ...,
        result_timeout: int = 900,
    ) -> None: ...
