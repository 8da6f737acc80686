"""Topics of images in the graph, and why none come on one of them."""

from __future__ import annotations

from typing import Final

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

IMAGE_TYPES: Final = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_MOST_NAMED: Final = 5
"""Topics in a message for the user."""


def image_topics(node: Node) -> dict[str, str]:
    """Return the topics of images that somebody publishes, each with its type."""
    return {
        name: kind
        for name, kinds in node.get_topic_names_and_types()
        for kind in kinds
        if kind in IMAGE_TYPES and node.count_publishers(name)
    }


def could_resend(node: Node, topic: str, qos: QoSProfile) -> bool:
    """Return whether lost images would be sent again if the subscription were reliable, which it is not.

    Args:
        node: The node that subscribes.
        topic: As the node subscribes to it, before it is remapped.
        qos: Of its subscription.
    """
    publishers = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    offered = {publisher.qos_profile.reliability for publisher in publishers}
    return offered == {ReliabilityPolicy.RELIABLE} and qos.reliability != ReliabilityPolicy.RELIABLE


def why_no_images(node: Node, topic: str, *, compressed: bool) -> str:
    """Return why no image can come on a topic, as the graph shows it; empty where one can.

    Args:
        node: The node that waits. Topics below its name, which are its own, are not offered.
        topic: As the node subscribes to it, before it is remapped.
        compressed: Whether it waits for CompressedImage.
    """
    name, wanted = node.resolve_topic_name(topic), IMAGE_TYPES[compressed]
    kinds = {publisher.topic_type for publisher in node.get_publishers_info_by_topic(name)}
    if wanted in kinds:
        return ""
    if kinds:
        return f"published as {', '.join(sorted(kinds))}, expected {wanted}"
    own = f"{node.get_fully_qualified_name()}/"
    others = sorted(n for n, kind in image_topics(node).items() if kind == wanted and not n.startswith(own))
    named = ", ".join(others[:_MOST_NAMED]) + (", ..." if others[_MOST_NAMED:] else "")
    return f"nobody publishes it; images are on {named}" if named else "no publisher of it is known"
