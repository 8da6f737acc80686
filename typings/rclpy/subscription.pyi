# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

class Subscription:
    @property
    def topic_name(self) -> str: ...
