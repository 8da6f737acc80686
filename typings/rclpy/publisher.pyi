# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from typing import Generic, TypeVar

_MessageT_contra = TypeVar("_MessageT_contra", contravariant=True)

class Publisher(Generic[_MessageT_contra]):
    @property
    def topic_name(self) -> str: ...
    def publish(self, msg: _MessageT_contra | bytes) -> None: ...
    def get_subscription_count(self) -> int: ...
