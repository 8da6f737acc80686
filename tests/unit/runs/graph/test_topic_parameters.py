"""Topics of other people's cameras: presets, own names, and names that cannot be meant."""

from __future__ import annotations

import pytest

from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.topic_parameters import TopicParameters, ViewTopics

VIEWS = ("top", "wrist")


def topics(*views: str, **values: object) -> tuple[ViewTopics, ...]:
    return build(TopicParameters, values, "test").topics(views or VIEWS)


def test_presets_are_the_topics_of_the_drivers() -> None:
    assert topics("top", depth=True) == (
        ViewTopics(
            "/top/camera/color/image_raw",
            "/top/camera/color/camera_info",
            "/top/camera/aligned_depth_to_color/image_raw",
        ),
    )
    assert topics(preset="usb_cam")[1] == ViewTopics("/wrist/image_raw", "/wrist/camera_info", "")
    found = topics(preset="camera_ros", transport="compressed")[0]
    assert found == ViewTopics("/top/camera/image_raw/compressed", "/top/camera/camera_info", "")


def test_every_topic_can_be_named() -> None:
    found = topics(image="/a/image, /b/image", info="none", depth=True, depth_image="{view}_depth")
    assert found == (ViewTopics("/a/image", "", "top_depth"), ViewTopics("/b/image", "", "wrist_depth"))
    assert [one.info for one in topics(info="none, /b/info")] == ["", "/b/info"]
    assert [one.info for one in topics(info="none, none")] == ["", ""]
    assert topics("top", image="/a/image", info="/a/info")[0].image == "/a/image"
    assert topics("top", image="/a/compressed", transport="compressed")[0].image == "/a/compressed"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"image": "/a/image"}, "topic.image does not name one topic for each view.*2 names for top, wrist"),
        ({"image": "/a,/b,/c"}, "topic.image does not name one"),
        ({"info": "/a,/a"}, "topic.info does not name one"),
        ({"info": "none,/a,/b"}, "topic.info does not name one"),
        ({"info": "none,/no name"}, "topic.info is not a topic name"),
        ({"image": "/a,"}, "topic.image is not a topic name.*got ''"),
        ({"image": "/{view}/no name"}, "topic.image is not a topic name"),
        ({"image": "/camera/{view}/image_raw"}, "a topic that the graph publishes itself"),
        ({"image": "/distorted/{view}/image_raw"}, "a topic that the graph publishes itself"),
        ({"image": "gate/{view}/image_raw"}, "a topic that the graph publishes itself"),
        (
            {"image": "/distorted/{view}/preview", "transport": "compressed"},
            "a topic that the graph publishes itself",
        ),
        ({"info": "camera/{view}/camera_info"}, "a topic that the graph publishes itself"),
        ({"image": "/{view}/compressed"}, "expected topic.transport: compressed"),
        (
            {"preset": "usb_cam", "depth": True},
            "usb_cam has no depth; expected .*depth_image",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        topics(**values)


def test_in_a_namespace_the_topics_of_the_graph_are_those_below_it() -> None:
    def of(image: str) -> str:
        return build(TopicParameters, {"image": image}, "test").topics(("top",), "/cell1")[0].image

    assert of("/camera/{view}/image_raw") == "/camera/top/image_raw", "another graph's or a driver's"
    for image in ("/cell1/distorted/{view}/image_raw", "camera/{view}/image_raw"):
        with pytest.raises(UsageError, match="a topic that the graph publishes itself"):
            of(image)
