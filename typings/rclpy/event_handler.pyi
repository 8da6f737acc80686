# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from rclpy.waitable import Waitable

class EventHandler(Waitable): ...
