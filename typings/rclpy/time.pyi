# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from builtin_interfaces.msg import Time as TimeMessage

class Time:
    @property
    def nanoseconds(self) -> int: ...
    def to_msg(self) -> TimeMessage: ...
