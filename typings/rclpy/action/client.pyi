# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from rclpy.type_support import ActionType, FeedbackMessage, GetResultResponse
from unique_identifier_msgs.msg import UUID

_GoalT = TypeVar("_GoalT")
_ResultT = TypeVar("_ResultT")
_FeedbackT = TypeVar("_FeedbackT")

class ClientGoalHandle(Generic[_ResultT]):
    def __init__(
        self, action_client: ActionClient[Any, _ResultT, Any], goal_id: UUID, goal_response: object
    ) -> None: ...
    @property
    def accepted(self) -> bool: ...
    def cancel_goal_async(self) -> Future[object]: ...
    def get_result_async(self) -> Future[GetResultResponse[_ResultT]]: ...

class ActionClient(Generic[_GoalT, _ResultT, _FeedbackT]):
    def __init__(
        self,
        node: Node,
        action_type: type[ActionType[_GoalT, _ResultT, _FeedbackT]],
        action_name: str,
        *,
        callback_group: CallbackGroup | None = None,
    ) -> None: ...
    def destroy(self) -> None: ...
    def server_is_ready(self) -> bool: ...
    def send_goal_async(
        self,
        goal: _GoalT,
        feedback_callback: Callable[[FeedbackMessage[_FeedbackT]], object] | None = None,
        goal_uuid: UUID | None = None,
    ) -> Future[ClientGoalHandle[_ResultT]]: ...
