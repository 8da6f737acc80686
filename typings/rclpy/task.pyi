# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Callable
from typing import Generic, TypeVar

_ResultT_co = TypeVar("_ResultT_co", covariant=True)

class Future(Generic[_ResultT_co]):
    def done(self) -> bool: ...
    def result(self) -> _ResultT_co: ...
    def add_done_callback(self, callback: Callable[[Future[_ResultT_co]], object]) -> None: ...
