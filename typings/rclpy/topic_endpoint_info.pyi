# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from rclpy.qos import QoSProfile

class TopicEndpointInfo:
    @property
    def node_name(self) -> str: ...
    @property
    def topic_type(self) -> str: ...
    @property
    def qos_profile(self) -> QoSProfile: ...
