"""The source topic from its parameters: what is subscribed, with which QoS, and what is refused before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.qos import HistoryPolicy, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.live.cameras.camera_poses import known_poses
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.cameras.topic_cameras import open_topics
from embodied_iqa.runs.graph.camera_parameters import CameraParameters

TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
WRIST = np.array([[1, 0, 0, 0.0], [0, 1, 0, -0.08], [0, 0, 1, 0.05], [0, 0, 0, 1.0]])


def parameters(**values: object) -> CameraParameters:
    named = {name.replace("__", "."): value for name, value in values.items()}
    return build(CameraParameters, {"source": "topic", "views": ["top", "wrist"]} | named, "test")


def opened(config: CameraParameters) -> dict[str, tuple[type, Any]]:
    """Open the source on a node that only notes its subscriptions: topic to type and QoS."""
    found: dict[str, tuple[type, Any]] = {}

    def create_subscription(kind: type, topic: str, _take: object, qos_profile: Any, **_options: Any) -> None:
        found[topic] = (kind, qos_profile)

    logger = SimpleNamespace(info=lambda _line: None, warning=lambda _line: None)
    node: Any = SimpleNamespace(
        get_logger=lambda: logger,
        get_namespace=lambda: "/",
        create_subscription=create_subscription,
        create_publisher=lambda *_arguments, **_qos: None,
    )
    open_topics(CameraRig(node, config, lambda _frame: None)).close()
    return found


def test_sensor_data_is_heard_from_any_publisher() -> None:
    found = opened(parameters(topic__depth=True))
    kinds = {topic: kind for topic, (kind, _qos) in found.items()}
    assert kinds == {
        f"/{view}/camera/{name}": kind
        for view in ("top", "wrist")
        for name, kind in (
            ("color/image_raw", Image),
            ("color/camera_info", CameraInfo),
            ("aligned_depth_to_color/image_raw", Image),
        )
    }
    for _kind, qos in found.values():
        assert qos.reliability is ReliabilityPolicy.BEST_EFFORT
        assert (qos.history, qos.depth) == (HistoryPolicy.KEEP_LAST, 5)


def test_the_tool_is_followed_where_a_camera_is_on_the_flange() -> None:
    pose = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.08, 0.0, 0.0, 1.0, 0.05, 0.0, 0.0, 0.0, 1.0]
    assert "arm/tool_pose" not in opened(parameters(hand_eye__T_base_camera_top=pose))
    assert opened(parameters(hand_eye__T_flange_camera_wrist=pose))["arm/tool_pose"][0] is PoseStamped


def test_compressed_images_without_an_info() -> None:
    found = opened(parameters(views=["top"], topic__transport="compressed", topic__info="none"))
    assert {topic: kind for topic, (kind, _qos) in found.items()} == {
        "/top/camera/color/image_raw/compressed": CompressedImage
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"path": "recordings"}, "camera source topic takes no path; expected camera_node.topic.image"),
        ({"topic__image": "/lens"}, "topic.image does not name one topic for each view"),
        ({"hand_eye__T_base_camera_top": [1.0] * 16}, "T_base_camera of the top camera"),
    ],
)
def test_wrong_parameters_subscribe_nothing(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(parameters(**values))


def test_only_a_calibrated_camera_has_a_pose() -> None:
    config = parameters(
        views=["top", "side", "wrist"],
        hand_eye__T_base_camera_top=TOP.ravel().tolist(),
        hand_eye__T_flange_camera_wrist=WRIST.ravel().tolist(),
    )
    poses = known_poses(config, PoseHistory())
    top, wrist = poses[View.TOP], poses[View.WRIST]
    assert poses[View.SIDE] is None
    assert top is not None
    assert wrist is not None
    assert np.array_equal(np.asarray(top(5)), TOP)
    assert wrist(5) is None, "the tool has not been seen"
