# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Callable
from typing import Generic, TypeVar

_RequestT = TypeVar("_RequestT")
_ResponseT = TypeVar("_ResponseT")

class Service(Generic[_RequestT, _ResponseT]):
    callback: Callable[[_RequestT, _ResponseT], _ResponseT]
