"""What camera_node gives to a source of images, and what it expects of the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rclpy.node import Node

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.live.ros.node import Health
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


@dataclass(frozen=True, slots=True)
class CameraRig:
    """The camera node, as a source sees it.

    Attributes:
        node: For subscriptions, timers and messages to the user.
        config: The parameters.
        publish: Publishes a frame with its camera_info and pose; may be called from any thread.
    """

    node: Node
    config: CameraParameters
    publish: Callable[[Frame], None]

    def now_ns(self) -> int:
        """Return ROS time."""
        return self.node.get_clock().now().nanoseconds


class CameraFeed(Protocol):
    """An open source: it publishes images until it is closed."""

    def health(self) -> Health:
        """Return the state to report on /diagnostics; called once a second."""
        ...

    def close(self) -> None:
        """Close its cameras; called once no callback of the node runs any more."""
        ...
