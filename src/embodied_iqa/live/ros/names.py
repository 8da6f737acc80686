"""Names of nodes and topics in a namespace.

All names of the graph are relative, so that the namespace of the nodes moves them and each can be remapped.
The exceptions are those that ROS has for all robots together: /clock and /diagnostics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rclpy.node import Node

DIAGNOSTICS: Final = "/diagnostics"
"""Topic of every node, whatever its namespace, as for all of ROS."""
STOP_CAUSE: Final = "stop cause"
SLOWED_BY: Final = "slowed by"
"""Detail of arm_node there: the kind of stop that somebody has to release at the robot."""
CLOCK_TOPIC: Final = "/clock"
"""Topic of the simulated time, as for all of ROS."""

TRIAL_ACTION: Final = "trial/run"
HEARTBEAT: Final = "trial/heartbeat"
"""Of the client of a trial: one that is frozen cannot stop the arm."""
SUPERVISION: Final = "trial/supervision"
"""Heartbeat of trial_node for an arm that it armed."""


def type_name_of(kind: type) -> str:
    """Return the name of a message class in the graph and in recordings, such as sensor_msgs/msg/Image."""
    return f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"


def diagnosed_name(node: Node) -> str:
    """Return the name of a node on /diagnostics: ``gate_node``, or in a namespace ``cell1/gate_node``."""
    return node.get_fully_qualified_name().removeprefix("/")


def local_name(node: Node, diagnosed: str) -> str | None:
    """Return the name without namespace of a node on /diagnostics.

    Args:
        node: The node that reads.
        diagnosed: The name that it has received.

    Returns:
        None where it belongs to another namespace than that of ``node``: to another cell.
    """
    namespace, _, name = diagnosed.rpartition("/")
    return name if namespace == node.get_namespace().strip("/") else None
