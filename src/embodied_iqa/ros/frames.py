"""Frames from topics: raw and distorted pictures with intrinsics and camera pose, paired by stamp."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo

from embodied_iqa.errors import InputError
from embodied_iqa.images.assembler import FrameAssembler, Source
from embodied_iqa.images.frame import View
from embodied_iqa.images.poses import matrix_from_pose
from embodied_iqa.recording.image_cdr import image_from_cdr
from embodied_iqa.ros.conversion import intrinsics_of, ns_of
from embodied_iqa.ros.pictures import subscribe_pictures
from embodied_iqa.ros.qos import PICTURE

__all__ = ["TOPICS", "subscribe_frames"]

TOPICS = {Source.RAW: "/camera/{view}/image_raw", Source.DISTORTED: "/distorted/{view}/image_raw"}
"""Where pictures are found."""


def subscribe_frames(
    node: Node, views: Iterable[View], capacity: int, on_change: Callable[[View], None]
) -> FrameAssembler:
    """Keep the newest frames of some views.

    Args:
        node: Whose subscriptions they are.
        views: The cameras.
        capacity: Stamps that are kept of each view.
        on_change: Called after each part that has arrived.

    Returns:
        What is kept; it fills as the node spins.
    """
    frames = FrameAssembler(capacity)

    def take_info(view: View, info: CameraInfo) -> None:
        frames.add_intrinsics(view, intrinsics_of(info))
        on_change(view)

    def take_pose(view: View, pose: PoseStamped) -> None:
        frames.add_pose(view, ns_of(pose.header.stamp), matrix_from_pose(pose.pose))
        on_change(view)

    def take_picture(view: View, source: Source, cdr: bytes) -> None:
        try:
            picture = image_from_cdr(cdr)
        except InputError as error:
            node.get_logger().error(f"{view}: {error}", throttle_duration_sec=1.0)
            return
        frames.add_picture(view, source, picture.stamp_ns, picture.rgb)
        on_change(view)

    for view in views:
        prefix = f"/camera/{view}"
        node.create_subscription(
            CameraInfo, f"{prefix}/camera_info", lambda m, v=view: take_info(v, m), PICTURE
        )
        node.create_subscription(PoseStamped, f"{prefix}/pose", lambda m, v=view: take_pose(v, m), PICTURE)
        for source, topic in TOPICS.items():
            subscribe_pictures(
                node, topic.format(view=view), lambda cdr, v=view, s=source: take_picture(v, s, cdr)
            )
    return frames
