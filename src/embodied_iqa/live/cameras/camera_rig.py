"""What camera_node gives to a source of images, and what it expects of the source."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rclpy.node import Node

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.live.ros.node import Health
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


class Closable(Protocol):
    """An open camera of any kind."""

    def close(self) -> None:
        """Close it."""
        ...


CameraT = TypeVar("CameraT", bound=Closable)


@dataclass(frozen=True, slots=True)
class CameraRig:
    """The camera node, as a source sees it.

    Attributes:
        node: For subscriptions, timers and messages to the user.
        config: The parameters.
        publish: Publishes a frame with its camera_info and pose; may be called from any thread.
        tool_poses: Poses of the tool, kept up by whoever made this; None to follow the topic arm/tool_pose.
    """

    node: Node
    config: CameraParameters
    publish: Callable[[Frame], None]
    tool_poses: PoseHistory | None = None

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


def open_views(config: CameraParameters, open_view: Callable[[View], CameraT]) -> list[CameraT]:
    """Open a camera for each view; if one fails, close those already open and raise its error.

    Args:
        config: The views.
        open_view: Opens the camera of a view; what it raises is passed on.
    """
    opened: list[CameraT] = []
    with ExitStack() as undo:
        for view in config.views:
            camera = open_view(view)
            undo.callback(_close, camera)
            opened.append(camera)
        undo.pop_all()
    return opened


def _close(camera: Closable) -> None:
    with suppress(UserError):
        camera.close()
