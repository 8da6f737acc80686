"""Why no image comes on a topic, by what the graph shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy

from embodied_iqa.live.ros.image_topics import could_resend, why_no_images

IMAGE, COMPRESSED, TEXT = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "std_msgs/msg/String"

ASKED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
OFFERED = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def graph(published: dict[str, str], offered: QoSProfile = ASKED) -> Any:
    """Return a node called /gate that hears /eye and finds these publishers."""
    node = SimpleNamespace(
        resolve_topic_name=lambda topic: f"/{topic.removeprefix('/')}",
        get_fully_qualified_name=lambda: "/gate",
        get_name=lambda: "gate",
        get_namespace=lambda: "/",
        get_subscriptions_info_by_topic=lambda _topic: [
            SimpleNamespace(node_name="gate", node_namespace="/", qos_profile=ASKED),
            SimpleNamespace(node_name="other", node_namespace="/", qos_profile=OFFERED),
        ],
        get_topic_names_and_types=lambda: [("/eye", [IMAGE]), *((t, [k]) for t, k in published.items())],
        count_publishers=lambda topic: int(topic in published),
        get_publishers_info_by_topic=lambda topic: [
            SimpleNamespace(
                topic_type=kind, qos_profile=offered, node_name=f"{name[1:]}_driver", node_namespace="/"
            )
            for name, kind in published.items()
            if name == topic
        ],
    )
    return cast("Any", node)


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ({"/eye": IMAGE}, ""),
        ({"/eye": TEXT}, f"published as {TEXT}, expected {IMAGE}"),
        ({"/eye": COMPRESSED}, f"published as {COMPRESSED}, expected {IMAGE}"),
        ({}, "no publisher of it is known"),
        (
            {"/gate/overlay/image_raw": IMAGE, "/other": COMPRESSED, "/text": TEXT},
            "no publisher of it is known",
        ),
        ({"/b": IMAGE, "/a": IMAGE}, "nobody publishes it; images are on /a, /b"),
        ({f"/{n}": IMAGE for n in range(6)}, "nobody publishes it; images are on /0, /1, /2, /3, /4, ..."),
    ],
)
def test_the_graph_says_why_no_image_comes(published: dict[str, str], said: str) -> None:
    assert why_no_images(graph(published), "eye", compressed=False) == said


@pytest.mark.parametrize(
    ("waiting", "publisher", "said"),
    [
        ("camera_node", ("camera_node", "/"), "no publisher of it is known"),
        ("camera_node", ("camera_node", "/cell2"), "nobody publishes it; images are on /b"),
        ("camera_node", ("usb_cam", "/"), "nobody publishes it; images are on /b"),
        ("gate", ("camera_node", "/"), "nobody publishes it; images are on /b"),
    ],
)
def test_images_that_the_same_trial_publishes_are_not_offered(
    waiting: str, publisher: tuple[str, str], said: str
) -> None:
    node = graph({"/b": IMAGE})
    node.get_name, node.get_fully_qualified_name = lambda: waiting, lambda: f"/{waiting}"
    name, namespace = publisher
    node.get_publishers_info_by_topic = lambda topic: (
        [SimpleNamespace(topic_type=IMAGE, qos_profile=ASKED, node_name=name, node_namespace=namespace)]
        * (topic == "/b")
    )
    assert why_no_images(node, "eye", compressed=False) == said


BEST_EFFORT, RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE


@pytest.mark.parametrize(
    ("offered", "own", "expected"),
    [
        ([RELIABLE], BEST_EFFORT, True),
        ([RELIABLE], RELIABLE, False),
        ([RELIABLE, BEST_EFFORT], BEST_EFFORT, False),
        ([], BEST_EFFORT, False),
    ],
)
def test_only_reliable_publishers_send_again_to_a_subscription_that_is_not(
    offered: list[ReliabilityPolicy], own: ReliabilityPolicy, expected: bool
) -> None:
    node = graph({})
    node.get_publishers_info_by_topic = lambda _topic: [
        SimpleNamespace(qos_profile=QoSProfile(depth=1, reliability=one)) for one in offered
    ]
    assert could_resend(node, "eye", QoSProfile(depth=1, reliability=own)) is expected


def test_a_publisher_that_offers_less_than_is_asked_for_is_named() -> None:
    said = why_no_images(graph({"/eye": IMAGE}, OFFERED), "eye", compressed=False)
    assert said == (
        "its quality of service does not match: "
        "its publisher offers reliability best_effort, asked for is reliable"
    )
