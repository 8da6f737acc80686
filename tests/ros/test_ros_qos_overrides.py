"""Overrides of the quality of service by parameters: of images as of any sensor, of a lease never."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.cell.clean_recording import cell_node
from embodied_iqa.live.cell.looking import look_at_topics
from embodied_iqa.live.ros.node import BaseNode
from embodied_iqa.live.ros.qos import IMAGE, STATE, adjustable
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import DistortionParameters
from ros_graph import RosGraph

BEST, RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE


@contextmanager
def node_with(
    monkeypatch: pytest.MonkeyPatch, domain: int, *overrides: str, remap: str = ""
) -> Iterator[BaseNode[DistortionParameters]]:
    words = ["node", "--ros-args", *(word for one in overrides for word in ("-p", one))]
    words += ["-r", remap] if remap else []
    monkeypatch.setattr("sys.argv", words)
    rclpy.init(args=words, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = BaseNode("distortion_node", DistortionParameters)
        yield node
        node.destroy_node()
    finally:
        rclpy.try_shutdown()


def test_a_topic_takes_its_overrides_and_no_other_topic_does(
    monkeypatch: pytest.MonkeyPatch, ros_domain: int
) -> None:
    overrides = (
        "qos_overrides./usb_cam/image.subscription.reliability:=best_effort",
        "qos_overrides./usb_cam/image.subscription.depth:=3",
        "qos_overrides./pose.publisher.durability:=transient_local",
    )
    with node_with(monkeypatch, ros_domain, *overrides, remap="in:=/usb_cam/image") as node:
        taken = node.create_subscription(Image, "in", lambda _image: None, **adjustable(IMAGE))
        other = node.create_subscription(Image, "other", lambda _image: None, **adjustable(IMAGE))
        poses = node.create_publisher(PoseStamped, "pose", **adjustable(STATE))
        qos: QoSProfile = taken.qos_profile
        assert (qos.reliability, qos.depth) == (BEST, 3)
        assert (other.qos_profile.reliability, other.qos_profile.depth) == (RELIABLE, IMAGE.depth)
        assert poses.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
        assert (IMAGE.reliability, IMAGE.depth) == (RELIABLE, 10), "the profile of all others"
        assert node.unused_qos_overrides() == []
        name = "qos_overrides./usb_cam/image.subscription.reliability"
        assert node.describe_parameter(name).read_only, "setting it later would change nothing"
        node.destroy_subscription(taken)  # a lifecycle node opens its topics again
        again = node.create_subscription(Image, "in", lambda _image: None, **adjustable(IMAGE))
        assert (again.qos_profile.reliability, again.qos_profile.depth) == (BEST, 3)


def test_an_override_of_no_topic_is_reported(monkeypatch: pytest.MonkeyPatch, ros_domain: int) -> None:
    lease = "qos_overrides./gate/lease.publisher.reliability"
    with node_with(monkeypatch, ros_domain, f"{lease}:=best_effort") as node:
        node.create_publisher(PoseStamped, "gate/lease", STATE)
        assert node.unused_qos_overrides() == [lease]


def test_a_file_that_is_gone_later_does_not_end_the_node(
    monkeypatch: pytest.MonkeyPatch, ros_domain: int, tmp_path: Path
) -> None:
    lease = "qos_overrides./gate/lease.publisher.reliability"
    file = tmp_path / "qos.yaml"
    file.write_text(f"distortion_node: {{ros__parameters: {{{lease}: best_effort}}}}\n", encoding="utf-8")
    words = ["node", "--ros-args", "--params-file", str(file)]
    monkeypatch.setattr("sys.argv", words)
    rclpy.init(args=words, domain_id=ros_domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = BaseNode("distortion_node", DistortionParameters)
        file.unlink()
        assert node.unused_qos_overrides() == [lease]
        node.destroy_node()
    finally:
        rclpy.try_shutdown()


def test_a_wrong_override_ends_the_node(monkeypatch: pytest.MonkeyPatch, ros_domain: int) -> None:
    name = "qos_overrides./a.publisher.reliability"
    with (
        pytest.raises(UsageError, match="available: reliable, best_effort"),
        node_with(monkeypatch, ros_domain, f"{name}:=sometimes"),
    ):
        pass


def test_the_images_of_a_camera_are_offered_as_its_file_says(ros_domain: int, tmp_path: Path) -> None:
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "topic",
        "camera_node.views": ["top"],
        "camera_node.topic.preset": "usb_cam",
        "camera_node.qos_overrides./camera/top/image_raw.publisher.reliability": "best_effort",
        "camera_node.qos_overrides./top/image_raw.subscription.reliability": "reliable",
    }
    with RosGraph(ros_domain, tmp_path, ["camera_node"], overrides) as graph:

        def offered(topic: str) -> ReliabilityPolicy | None:
            found = graph.node.get_publishers_info_by_topic(topic)
            return found[0].qos_profile.reliability if found else None

        def wanted(topic: str) -> ReliabilityPolicy | None:
            found = graph.node.get_subscriptions_info_by_topic(topic)
            return found[0].qos_profile.reliability if found else None

        graph.wait(lambda: offered("/camera/top/image_raw"), "the images of the camera")
        graph.wait(lambda: offered("/camera/top/camera_info"), "the camera info")
        graph.wait(lambda: wanted("/top/image_raw"), "the camera's subscription")
        assert (offered("/camera/top/image_raw"), offered("/camera/top/camera_info")) == (BEST, RELIABLE)
        assert wanted("/top/image_raw") is RELIABLE


def test_who_only_looks_at_a_cell_hears_it_as_a_trial_does() -> None:
    words: dict[str, object] = {
        "camera_node.source": "topic",
        "camera_node.views": ["top"],
        "camera_node.topic.image": "/lab/image_raw",
        "camera_node.topic.info": "/lab/camera_info",
        "camera_node.qos_overrides./lab/image_raw.subscription.reliability": "reliable",
        "arm_node.robot": "none",
    }
    graph = resolve((), words, only_reads=True)
    topics = graph.camera_node.topic.topics(("top",))[0]
    with cell_node("cell_check", "", graph) as node:
        look_at_topics(node, {View("top"): topics}, 0.0)
        heard = {each.topic_name: each.qos_profile.reliability for each in node.subscriptions}
    assert (heard["/lab/image_raw"], heard["/lab/camera_info"]) == (RELIABLE, BEST)
