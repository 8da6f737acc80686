# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from typing import Generic, TypeVar

from rclpy.context import Context
from rclpy.task import Future

_RequestT = TypeVar("_RequestT")
_ResponseT = TypeVar("_ResponseT")

class Client(Generic[_RequestT, _ResponseT]):
    context: Context
    @property
    def service_name(self) -> str: ...
    def call_async(self, request: _RequestT) -> Future[_ResponseT]: ...
    def remove_pending_request(self, future: Future[_ResponseT]) -> None: ...
    def service_is_ready(self) -> bool: ...
    def wait_for_service(self, timeout_sec: float | None = None) -> bool: ...
