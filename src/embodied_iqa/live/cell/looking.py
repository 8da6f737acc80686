"""A look at cameras for some seconds: on the topics of other nodes, or through their drivers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import Frame, LensCalibration, View, pinhole_lens
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.imaging.images.image_cdr import compressed_from_cdr, image_from_cdr, stamp_from_cdr
from embodied_iqa.imaging.images.message_geometry import lens_from_info
from embodied_iqa.live.cameras.camera_rig import CameraFeed, CameraRig
from embodied_iqa.live.ros.image_topics import could_resend, why_no_images
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.qos import SENSOR, adjustable
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.topic_parameters import ViewTopics

_SLICE_S: Final = 0.05


def spin_for(node: Node, seconds: float) -> None:
    """Handle what arrives at a node for so long."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until_s = time.monotonic() + seconds
    try:
        while (left_s := until_s - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=min(_SLICE_S, left_s))
    finally:
        executor.remove_node(node)
        executor.shutdown(0.0)


def info_topic(node: Node, image: str) -> str:
    """Return the topic of the camera info beside an image topic, empty where nobody publishes it."""
    name = f"{image.removesuffix('/compressed').rpartition('/')[0]}/camera_info"
    return name if node.count_publishers(name) else ""


def look_at_topics(node: Node, topics: Mapping[View, ViewTopics], seconds: float) -> list[SeenCamera]:
    """Hear topics of images for some seconds, with the quality of service of sensor data."""
    ears = [_Ear(node, view, names) for view, names in topics.items()]
    spin_for(node, seconds)
    return [ear.seen() for ear in ears]


def look_through_drivers(
    node: Node, config: CameraParameters, tool_poses: PoseHistory, seconds: float
) -> list[SeenCamera]:
    """Open the cameras as a trial does, see their images for some seconds, and close them.

    Raises:
        UserError: A camera cannot be opened.
    """
    eyes = {view: _Eye(view, str(config.source)) for view in config.views}

    def publish(frame: Frame) -> None:
        eyes[frame.view].take(node.get_clock().now().nanoseconds, frame)

    feed: CameraFeed = load(config.source.opener)(CameraRig(node, config, publish, tool_poses))
    with closing(feed):
        spin_for(node, seconds)
    return [eye.seen() for eye in eyes.values()]


class _Ear:
    """Subscriptions for one camera."""

    def __init__(self, node: Node, view: View, names: ViewTopics) -> None:
        self._node, self._view, self._names = node, view, names
        self._compressed = names.image.endswith("/compressed")
        self._stamps: list[int] = []
        self._arrivals: list[int] = []
        self._last = b""
        self._lens: LensCalibration | None = None
        self._problem = ""
        kind = CompressedImage if self._compressed else Image
        self._late = LateCount()
        take = self._late.counting(self._take)
        self._qos = adjustable(SENSOR)
        node.create_subscription(kind, names.image, take, raw=True, **self._qos)
        if names.info:
            node.create_subscription(CameraInfo, names.info, self._take_info, **adjustable(SENSOR))

    def seen(self) -> SeenCamera:
        image, problem = None, self._problem
        if self._last:
            try:
                image = (compressed_from_cdr if self._compressed else image_from_cdr)(self._last)
            except UserError as error:
                problem = str(error)
        elif not problem:
            problem = why_no_images(self._node, self._names.image, compressed=self._compressed)
            problem = problem and f"{self._names.image}: {problem}"
        return SeenCamera(
            view=self._view,
            source=self._names.image,
            stamps_ns=tuple(self._stamps),
            arrivals_ns=tuple(self._arrivals),
            lost=self._late.total,
            could_resend=could_resend(self._node, self._names.image, self._qos["qos_profile"]),
            encoding="" if image is None else image.encoding,
            rgb=None if image is None else image.rgb,
            problem=problem,
            lens=self._lens,
        )

    def _take(self, cdr: bytes) -> None:
        arrival_ns = self._node.get_clock().now().nanoseconds
        try:
            self._stamps.append(stamp_from_cdr(cdr))
        except InputError as error:
            self._problem = str(error)
            return
        self._arrivals.append(arrival_ns)
        self._last = cdr

    def _take_info(self, info: CameraInfo) -> None:
        try:
            self._lens = lens_from_info(info)
        except InputError as error:
            self._problem = str(error)


class _Eye:
    """Collects the frames of one camera's driver, which may come from a thread of the driver."""

    def __init__(self, view: View, source: str) -> None:
        self._view, self._source = view, source
        self._times: list[tuple[int, int]] = []
        self._last: Frame | None = None

    def take(self, arrival_ns: int, frame: Frame) -> None:
        self._times.append((frame.stamp_ns, arrival_ns))
        self._last = frame

    def seen(self) -> SeenCamera:
        times, frame = list(self._times), self._last
        if frame is None:
            return SeenCamera(self._view, self._source)
        lens = frame.lens if frame.intrinsics is None else frame.lens or pinhole_lens(frame.intrinsics)
        return SeenCamera(
            view=self._view,
            source=self._source,
            stamps_ns=tuple(stamp_ns for stamp_ns, _ in times),
            arrivals_ns=tuple(arrival_ns for _, arrival_ns in times),
            encoding="rgb8",
            rgb=frame.rgb,
            lens=lens,
            T_base_camera=frame.T_base_camera,
        )
