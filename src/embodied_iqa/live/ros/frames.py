"""Frames from topics: raw and distorted images with intrinsics and camera pose, paired by stamp."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.assembler import FrameAssembler, Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_uncalibrated,
    is_unknown_pose,
    matrix_from_pose,
)
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.qos import IMAGE, adjustable, image_input

TOPICS = {Source.RAW: "camera/{view}/image_raw", Source.DISTORTED: "distorted/{view}/image_raw"}
"""Topics of the images."""
REPAIRED = "gate/{view}/image_raw"
"""Topic of what the gate passes on to the policy: repaired where it repaired, else as received."""


def tool_pose_of(node: Node, message: PoseStamped) -> NDArray[np.float64] | None:
    """Return the tool's pose ``(4, 4)`` (m, base frame); None, with a report, where it is invalid."""
    try:
        return matrix_from_pose(message.pose)
    except InputError as error:
        node.get_logger().error(f"/arm/tool_pose: {error}", throttle_duration_sec=1.0)
        return None


class FrameInput:
    """Keeps the newest frames of some views while its node spins.

    Args:
        node: Node of the subscriptions.
        views: The cameras.
        capacity: Number of stamps to keep of each view.
        on_change: Called with the view after each part that has arrived.
        newest_only: Of the images that wait, keep only the newest of each topic.
        repaired: Take the distorted images from the gate, which repairs some.

    Attributes:
        late: Count of the images that never got here.
    """

    def __init__(
        self,
        node: Node,
        views: Iterable[View],
        capacity: int,
        on_change: Callable[[View], None],
        *,
        newest_only: bool = False,
        repaired: bool = False,
    ) -> None:
        self._topics = TOPICS | ({Source.DISTORTED: REPAIRED} if repaired else {})
        self.late = LateCount()
        self._image_qos = image_input(newest_only=newest_only)
        self.frames = FrameAssembler(capacity)
        self._node = node
        self._on_change = on_change
        self._subscriptions: list[Subscription] = []
        for view in views:
            self._subscribe(view)

    def close(self) -> None:
        """End the subscriptions and drop the frames."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
        self.frames.clear()

    def _subscribe(self, view: View) -> None:
        node, prefix = self._node, f"camera/{view}"
        self._subscriptions += [
            node.create_subscription(
                CameraInfo, f"{prefix}/camera_info", partial(self._take_info, view), **adjustable(IMAGE)
            ),
            node.create_subscription(
                PoseStamped, f"{prefix}/pose", partial(self._take_pose, view), **adjustable(IMAGE)
            ),
        ]
        for source, topic in self._topics.items():
            take = self.late.counting(partial(self._take_image, view, source))
            self._subscriptions.append(
                node.create_subscription(
                    Image, topic.format(view=view), take, raw=True, **adjustable(self._image_qos)
                )
            )

    def _take_info(self, view: View, info: CameraInfo) -> None:
        try:
            self.frames.add_intrinsics(view, None if is_uncalibrated(info) else intrinsics_from_info(info))
        except InputError as error:
            self._refuse(f"/camera/{view}/camera_info", error)
            return
        self._on_change(view)

    def _take_pose(self, view: View, pose: PoseStamped) -> None:
        try:
            T = None if is_unknown_pose(pose.pose) else matrix_from_pose(pose.pose)
            self.frames.add_pose(view, ns_of(pose.header.stamp), T)
        except InputError as error:
            self._refuse(f"/camera/{view}/pose", error)
            return
        self._on_change(view)

    def _take_image(self, view: View, source: Source, cdr: bytes) -> None:
        try:
            image = image_from_cdr(cdr)
        except InputError as error:
            self._refuse(view, error)
            return
        self.frames.add_image(view, source, image.stamp_ns, image.rgb)
        self._on_change(view)

    def _refuse(self, origin: str, error: InputError) -> None:
        """Report an invalid part: its frame is never whole."""
        self._node.get_logger().error(f"{origin}: {error}", throttle_duration_sec=1.0)
