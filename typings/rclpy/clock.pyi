# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from typing import Self

from rclpy.clock_type import ClockType as ClockType
from rclpy.time import Time

class Clock:
    def __new__(cls, *, clock_type: ClockType = ...) -> Self: ...
    def now(self) -> Time: ...
