"""Cameras that other nodes publish: sensor_msgs/Image or CompressedImage, CameraInfo, and depth."""

from __future__ import annotations

from functools import partial

from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.topic_camera import TopicCamera, TopicOptions
from embodied_iqa.live.cameras.camera_poses import followed_tool, known_poses
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.cameras.live_cameras import LiveCameras
from embodied_iqa.live.ros.image_topics import why_no_images
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.qos import SENSOR, adjustable
from embodied_iqa.runs.graph.topic_parameters import TopicParameters, Transport, ViewTopics


def open_topics(rig: CameraRig) -> LiveCameras:
    """Open the source ``topic``.

    Raises:
        UsageError: The topics do not fit the views, a pose is wrong, or a path is given.
    """
    config = rig.config
    if config.path:
        raise UsageError(
            "camera source topic takes no path", expected="camera_node.topic.image", got=config.path
        )
    namespace = rig.node.get_namespace().rstrip("/")
    topics = config.topic.topics(tuple(str(view) for view in config.views), namespace)
    poses = known_poses(config, followed_tool(rig))
    cameras = [
        _camera(rig, view, names, poses[view]) for view, names in zip(config.views, topics, strict=True)
    ]

    def silence() -> str:
        return "; ".join(camera.silence for camera in cameras if camera.silence)

    return LiveCameras(rig, cameras, depth=config.topic.depth, silence=silence)


def options_of(wanted: TopicParameters, topics: ViewTopics) -> TopicOptions:
    """Return how the messages of a view become frames."""
    return TopicOptions(
        image=topics.image,
        compressed=wanted.transport is Transport.COMPRESSED,
        depth=wanted.depth,
        rectify=wanted.rectify,
        depth_gap_s=wanted.depth_gap_s,
        depth_wait_s=wanted.depth_wait_s,
        ahead_s=wanted.ahead_s,
        stale_s=wanted.stale_s,
        give_up_s=wanted.give_up_s,
    )


def _camera(rig: CameraRig, view: View, topics: ViewTopics, pose_at: PoseAt | None) -> TopicCamera:
    late, options = LateCount(), options_of(rig.config.topic, topics)
    report, node = rig.node.get_logger().warning, rig.node
    camera = TopicCamera(
        view,
        options,
        pose_at,
        rig.now_ns,
        report=report,
        missed=lambda: late.total,
        why_none=partial(why_no_images, node, topics.image, compressed=options.compressed),
    )
    kind = CompressedImage if options.compressed else Image
    node.create_subscription(
        kind, topics.image, late.counting(camera.take_image), raw=True, **adjustable(SENSOR)
    )
    if topics.info:
        node.create_subscription(CameraInfo, topics.info, camera.take_info, **adjustable(SENSOR))
    if topics.depth:
        node.create_subscription(Image, topics.depth, camera.take_depth, raw=True, **adjustable(SENSOR))
    return camera
