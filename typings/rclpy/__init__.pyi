# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

def init(
    *,
    args: list[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> None: ...
def shutdown(*, context: Context | None = None) -> None: ...
def spin(node: Node) -> None: ...
def try_shutdown(*, context: Context | None = None) -> None: ...
