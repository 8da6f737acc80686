"""Topics of images in the graph, and why none come on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, ReliabilityPolicy, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

from embodied_iqa.runs.graph.graph_nodes import GRAPH

IMAGE_TYPES: Final = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_POLICIES: Final = ("reliability", "durability")
_DRAWN: Final = "/overlay/"
"""In topics of `gate run` whose images have a verdict drawn above them."""
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


def why_not_matched(node: Node, name: str, publishers: Sequence[TopicEndpointInfo]) -> str:
    """Return why the node's subscription matches none of the publishers; empty where it matches one."""
    own = (node.get_name(), node.get_namespace())
    subscriptions = [
        one
        for one in node.get_subscriptions_info_by_topic(name)
        if (one.node_name, one.node_namespace) == own
    ]
    pairs = [(one.qos_profile, ours.qos_profile) for one in publishers for ours in subscriptions]
    checked = [(qos_check_compatible(offered, asked), offered, asked) for offered, asked in pairs]
    if not checked or any(int(found) != QoSCompatibility.ERROR for (found, _), _, _ in checked):
        return ""
    _, offered, asked = checked[0]
    differing = [
        f"{word} {getattr(offered, word).name.lower()}, asked for is {getattr(asked, word).name.lower()}"
        for word in _POLICIES
        if getattr(offered, word) != getattr(asked, word)
    ]
    return f"its quality of service does not match: its publisher offers {'; '.join(differing)}"


def why_no_images(node: Node, topic: str, *, compressed: bool) -> str:
    """Return why no image can come on a topic, as the graph shows it; empty where one can.

    Args:
        node: The node that waits. Its own topics are not offered, nor are those of its trial.
        topic: As the node subscribes to it, before it is remapped.
        compressed: Whether it waits for CompressedImage.
    """
    name, wanted = node.resolve_topic_name(topic), IMAGE_TYPES[compressed]
    publishers = node.get_publishers_info_by_topic(name)
    kinds = {publisher.topic_type for publisher in publishers}
    if wanted in kinds:
        return why_not_matched(node, name, [one for one in publishers if one.topic_type == wanted])
    if kinds:
        return f"published as {', '.join(sorted(kinds))}, expected {wanted}"
    others = sorted(n for n, kind in image_topics(node).items() if kind == wanted and not _is_own(node, n))
    named = ", ".join(others[:_MOST_NAMED]) + (", ..." if others[_MOST_NAMED:] else "")
    return f"nobody publishes it; images are on {named}" if named else "no publisher of it is known"


def _is_own(node: Node, topic: str) -> bool:
    """Return whether a topic is an output: of the node, of its trial alone, or with a verdict drawn on it."""
    if topic.startswith(f"{node.get_fully_qualified_name()}/") or _DRAWN in topic:
        return True
    trial = {(entry.name, node.get_namespace()) for entry in GRAPH}
    if (node.get_name(), node.get_namespace()) not in trial:
        return False
    publishers = {(one.node_name, one.node_namespace) for one in node.get_publishers_info_by_topic(topic)}
    return bool(publishers) and publishers <= trial
