"""The topic of a camera is found in a recording, also below a namespace."""

from __future__ import annotations

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View, topic_of_view, view_of_topic

TOP = View("top")


@pytest.mark.parametrize(
    ("topics", "found"),
    [
        (["/camera/top/image_raw", "/cell1/camera/top/image_raw"], "/camera/top/image_raw"),
        (["/cell1/camera/top/image_raw", "/cell1/camera/side/image_raw"], "/cell1/camera/top/image_raw"),
        (["/site/cell1/camera/top/image_raw/compressed"], "/site/cell1/camera/top/image_raw"),
        (["/distorted/top/image_raw", "/camera/top/depth/image_raw"], "/camera/top/image_raw"),
    ],
)
def test_a_camera_is_found_in_a_namespace_where_it_is_not_at_the_root(topics: list[str], found: str):
    assert topic_of_view(TOP, topics) == found


def test_of_two_namespaces_neither_is_taken():
    topics = ["/cell1/camera/top/image_raw", "/cell2/camera/top/image_raw"]
    with pytest.raises(InputError, match=r"several cameras top; expected .*name of a topic.*cell1.*cell2"):
        topic_of_view(TOP, topics)


@pytest.mark.parametrize(
    ("topic", "plain", "anywhere"),
    [
        ("/camera/top/image_raw", TOP, TOP),
        ("/cell1/camera/top/image_raw", None, TOP),
        ("cell1/camera/top/image_raw", None, None),
        ("/camera/1/image_raw", None, None),
    ],
)
def test_a_namespace_counts_only_where_it_is_asked_for(topic: str, plain: View | None, anywhere: View | None):
    assert (view_of_topic(topic), view_of_topic(topic, in_any_namespace=True)) == (plain, anywhere)
