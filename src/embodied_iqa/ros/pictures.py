"""Pictures on topics: raw bytes in, raw bytes out."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image

from embodied_iqa.ros.qos import PICTURE

__all__ = ["publish_picture_topic", "subscribe_pictures"]


def publish_picture_topic(node: Node, topic: str) -> Publisher[Image]:
    """Return a publisher that takes serialised pictures (bytes)."""
    return node.create_publisher(Image, topic, PICTURE)


def subscribe_pictures(node: Node, topic: str, callback: Callable[[bytes], None]) -> Subscription:
    """Call back with the serialised picture; nothing is deserialised."""
    return node.create_subscription(Image, topic, callback, PICTURE, raw=True)
