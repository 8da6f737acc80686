# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

class InvalidHandle(RuntimeError): ...  # noqa: N818 - rclpy's name
