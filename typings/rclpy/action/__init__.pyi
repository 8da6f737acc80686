# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from rclpy.action.client import ActionClient as ActionClient
from rclpy.action.server import ActionServer as ActionServer
from rclpy.action.server import CancelResponse as CancelResponse
from rclpy.action.server import GoalResponse as GoalResponse
