"""Parameters of cameras that other nodes publish, with the topics of common drivers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError

_VIEW: Final = "{view}"
_NAME: Final = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*", re.ASCII)
_OURS: Final = (
    "camera/{view}/image_raw",
    "camera/{view}/camera_info",
    "camera/{view}/depth/image_raw",
    "distorted/{view}/image_raw",
    "distorted/{view}/preview",
    "gate/{view}/image_raw",
)
"""What the graph publishes of a view: a camera that took it would hear itself."""
_COMPRESSED: Final = "/compressed"
_NONE: Final = "none"


class CameraPreset(StrEnum):
    """Driver of cameras: its name and its topics, each in a namespace of the view.

    Attributes:
        image: Topic of the images; ``{view}`` stands for the view.
        info: Topic of the camera info.
        depth: Topic of depth aligned to colour; empty where the driver has none.
    """

    image: str
    info: str
    depth: str

    def __new__(cls, name: str, image: str, info: str, depth: str = "") -> Self:
        """Make a preset that is its name."""
        preset = str.__new__(cls, name)
        preset._value_ = name
        preset.image, preset.info, preset.depth = image, info, depth
        return preset

    REALSENSE = (
        "realsense-ros",
        "/{view}/camera/color/image_raw",
        "/{view}/camera/color/camera_info",
        "/{view}/camera/aligned_depth_to_color/image_raw",
    )
    USB_CAM = "usb_cam", "/{view}/image_raw", "/{view}/camera_info"
    CAMERA_ROS = "camera_ros", "/{view}/camera/image_raw", "/{view}/camera/camera_info"


class Transport(StrEnum):
    """Kind of the image messages."""

    RAW = "raw"
    COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True)
class ViewTopics:
    """The topics of one camera; empty where there is none.

    Attributes:
        image: Its images.
        info: Its camera info.
        depth: Its depth, aligned to colour.
    """

    image: str
    info: str
    depth: str


@dataclass(frozen=True, slots=True)
class TopicParameters:
    """Cameras that other nodes publish.

    A topic is one name for all views, in which {view} stands for the view, or one name for each view in the
    order of views, separated by commas. Empty, it is that of the preset.

    Attributes:
        preset: Driver whose topics are used: realsense-ros, usb_cam or camera_ros.
        image: Topic of the images.
        info: Topic of the camera info; "none" for a camera without one, which is not calibrated, or for all.
        transport: raw for sensor_msgs/Image; compressed for CompressedImage, JPEG or PNG, on the topic of the
            images followed by /compressed.
        depth: Publish depth aligned to colour too, as /camera/<view>/depth/image_raw in mm.
        depth_image: Topic of depth aligned to colour, 16UC1 in mm or 32FC1 in m.
        depth_gap_s: Longest time between the stamps of an image and its depth [s].
        depth_wait_s: Longest time that an image waits for its depth; its lease is later by that [s].
        rectify: Remove the distortion of the lens, as the camera info describes it.
        ahead_s: How far in the future the stamp of an image may be; later ones are refused [s].
        stale_s: Oldest image that is accepted, by its stamp [s].
        give_up_s: Time without an image after which a camera counts as lost, until its next image [s].
    """

    preset: CameraPreset = CameraPreset.REALSENSE
    image: str = ""
    info: str = ""
    transport: Transport = Transport.RAW
    depth: bool = False
    depth_image: str = ""
    depth_gap_s: float = ranged(0.02, 0.0, 0.5)
    depth_wait_s: float = ranged(0.05, 0.0, 0.5)
    rectify: bool = False
    ahead_s: float = ranged(0.02, 0.0, 1.0)
    stale_s: float = ranged(2.0, 0.05, 3600.0)
    give_up_s: float = ranged(30.0, 0.1, 3600.0)

    def topics(self, views: tuple[str, ...], namespace: str = "") -> tuple[ViewTopics, ...]:
        """Return the topics of each view.

        Args:
            views: Names of the views.
            namespace: Of the graph, such as ``/cell1``; empty for none.

        Raises:
            UsageError: There is another number of topics than of views, two views share one, or depth is
                wanted and has no topic.
        """
        preset, count = self.preset, len(views)
        images = image_topics(self.image or preset.image, self.transport, views)
        infos = _infos(self.info or preset.info, views)
        depths = ("",) * count
        if self.depth:
            wanted = self.depth_image or preset.depth
            if not wanted:
                raise UsageError(f"{preset} has no depth", expected="the parameter topic.depth_image")
            depths = _of_views("depth_image", wanted, views)
        for name, words in (("image", images), ("info", infos), ("depth_image", depths)):
            _refuse_ours(name, words, views, namespace)
        return tuple(ViewTopics(*names) for names in zip(images, infos, depths, strict=True))


def image_topics(image: str, transport: Transport, views: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topic of the images of each view.

    Args:
        image: One name in which {view} stands for the view, or one name for each view, separated by commas.
        transport: Of the images; that of compressed ones ends in /compressed, also where the name does not.
        views: The cameras.

    Raises:
        UsageError: There is another number of topics than of views, or a name is not a topic name.
    """
    images = _of_views("image", image, views)
    if transport is Transport.COMPRESSED:
        return tuple(f"{one.removesuffix(_COMPRESSED)}{_COMPRESSED}" for one in images)
    if any(one.endswith(_COMPRESSED) for one in images):
        raise UsageError("topic.image is compressed", expected="topic.transport: compressed", got=images[0])
    return images


def _infos(value: str, views: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topic of the camera info of each view, empty for one that has none."""
    words = [word.strip() for word in value.split(",")]
    if {*words} == {_NONE} and len(words) in {1, len(views)}:
        return ("",) * len(views)
    if _NONE not in words or len(words) != len(views):
        return _of_views("info", value, views)
    named = {view: word for view, word in zip(views, words, strict=True) if word != _NONE}
    found = dict(zip(named, _of_views("info", ",".join(named.values()), tuple(named)), strict=True))
    return tuple(found.get(view, "") for view in views)


def _of_views(name: str, value: str, views: tuple[str, ...]) -> tuple[str, ...]:
    words = [word.strip() for word in value.split(",")]
    if len(words) == 1 and (_VIEW in value or len(views) == 1):
        words = [value.strip().replace(_VIEW, view) for view in views]
    if len(words) != len(views) or len({*words}) != len(words):
        raise UsageError(
            f"topic.{name} does not name one topic for each view",
            expected=f"a name with {_VIEW}, or {len(views)} names for {', '.join(views)}",
            got=value,
        )
    for word in words:
        if _NAME.fullmatch(word) is None:
            raise UsageError(f"topic.{name} is not a topic name", expected="such as /top/image_raw", got=word)
    return tuple(words)


def _refuse_ours(name: str, words: tuple[str, ...], views: tuple[str, ...], namespace: str) -> None:
    ours = {f"{namespace}/{topic.replace(_VIEW, view)}" for view in views for topic in _OURS}
    for word in words:
        topic = word if word.startswith("/") else f"{namespace}/{word}"
        if topic.removesuffix(_COMPRESSED) in ours:
            raise UsageError(f"topic.{name} is a topic that the graph publishes itself", got=word)
