# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Iterable

from rclpy.qos import QoSPolicyKind

class QoSOverridingOptions:
    def __init__(self, policy_kinds: Iterable[QoSPolicyKind]) -> None: ...
