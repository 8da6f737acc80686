"""Which topic of stored images belongs to which camera: by its name, as a user or a driver names it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View, ordered_views, parse_view, view_of_topic
from embodied_iqa.imaging.images.stored_images import Frames, chosen_topics, shown_topic

DRIVERS: Final = {
    "realsense-ros": re.compile(r"(/\w+)*/color/image_raw(/compressed)?", re.ASCII),
    "usb_cam": re.compile(r"(/\w+)?/image_raw(/compressed)?", re.ASCII),
    "camera_ros": re.compile(r"(/\w+)?/camera/image_raw(/compressed)?", re.ASCII),
}
"""Name of a driver to its image topics, in any namespace that it is started in."""
_TRANSPORTS: Final = ("", "/compressedDepth", "/compressed")
_BESIDE: Final = {
    "color": ("aligned_depth_to_color",),  # realsense-ros
    "rgb": ("depth_to_rgb", "depth_registered"),  # Azure Kinect; OpenNI, Astra
}
"""Name of a camera of colour to those of the depth in its pixels; other depth has pixels of its own."""
_OPTION: Final = "--topic"
_PREVIEW: Final = re.compile(r"(/\w+)*/distorted/\w+/preview(/compressed)?", re.ASCII)
"""Of `distortion_node`, in any namespace: shows what a camera shows, distorted, at a lower rate."""
_DISTORTED: Final = re.compile(r"(/\w+)*/distorted/\w+/(preview(/compressed)?|image_raw)", re.ASCII)
"""Of `distortion_node`, in any namespace: what its recording holds beside the images of cameras."""
_LISTED: Final = 5
"""Of more topics, the rest is counted."""
_EXAMPLE: Final = "such as top=/camera/camera/color/image_raw or top=realsense-ros"


def parse_topics(words: Sequence[str], option: str = _OPTION) -> dict[View, str]:
    """Return the topics, or names of drivers, of ``VIEW=TOPIC`` by their cameras, in this order.

    The topic may be empty: the frames of a video have no other.

    Raises:
        UsageError: A word is of another form, or a camera or a topic is named twice.
    """
    found: dict[View, str] = {}
    for word in words:
        view, separator, topic = word.partition("=")
        if not separator:
            raise UsageError(
                f"wrong {option}", expected=_EXAMPLE if option == _OPTION else "VIEW=TOPIC", got=word
            )
        found[parse_view(view)] = topic
    named = [topic for topic in found.values() if topic not in DRIVERS]  # two cameras may be of one driver
    if len(found) < len(words) or len(set(named)) < len(named):
        raise UsageError(f"{option} names a camera or topic twice", got=", ".join(words))
    return found


def cameras_of(
    frames: Frames, views: Sequence[View] | None = None, topics: Mapping[View, str] | None = None
) -> dict[str, View]:
    """Return the topics that are read, each with its camera.

    Args:
        frames: The images.
        views: Cameras that are wanted; empty for all. One names the only topic. None: no --view.
        topics: Of `parse_topics`; by default the topics that name their camera, see `Frames.views`.

    Raises:
        UsageError: Images without a topic, and ``views`` does not name their camera.
        InputError: There is no such camera or topic, or several that may be meant.
    """
    if topics:
        found = {
            _of_driver(frames, topic, view) if topic in DRIVERS else _stored_topic(frames, topic): view
            for view, topic in topics.items()
        }
        chosen_topics(frames.path, tuple(found), frames.topics)
        if len(found) < len(topics):
            raise InputError(f"{frames.path} has one topic for two cameras", got=", ".join(found))
        return found
    if "" in frames.topics:
        if views is None or len(views) != 1:
            fault = f"{frames.path} holds images of a camera without a name"
            expected = "--topic top=. or another name" if views is None else "--view top or another name"
            if len(frames.topics) == 1:
                raise UsageError(fault, expected=expected)
            available = map(shown_topic, frames.topics)
            raise UsageError(fault, expected=f"{expected}, or --topic VIEW=TOPIC", available=available)
        return {"": views[0]}
    named, views = frames.views(), views or ()
    if not named:
        if len(frames.topics) == len(views) == 1:
            return {next(iter(frames.topics)): views[0]}
        raise InputError(
            f"{frames.path} has no camera with a default name", expected="--topic", available=frames.topics
        )
    for view in views:
        if view not in named:
            raise InputError(
                f"{frames.path} has no images of this camera", got=str(view), available=ordered_views(named)
            )
    return {named[view]: view for view in views or ordered_views(named)}


def topics_not_read(frames: Frames, cameras: Collection[str]) -> str:
    """Return a sentence on the image topics that nobody chose, without previews; empty for none."""
    of_cameras = (topic for topic in frames.topics if not _PREVIEW.fullmatch(topic))
    rest = [shown_topic(topic) for topic in of_cameras if topic not in cameras]
    words = f"{', '.join(rest[:_LISTED])}{f' and {len(rest) - _LISTED} more' if len(rest) > _LISTED else ''}"
    return f"not read without {_OPTION} VIEW=TOPIC: {words}" if rest else ""


def depth_topic_beside(topic: str, depths: Collection[str]) -> str | None:
    """Return the topic of depth in the pixels of an image topic, by its name; None without one.

    Args:
        topic: Of the images.
        depths: Topics of depth; a raw one comes before its compressed copy.
    """
    raw = topic.removesuffix("/compressed")
    driver, _, camera = raw.rpartition("/")[0].rpartition("/")
    names = [f"{driver}/{name}/image_raw" for name in _BESIDE.get(camera, ())]
    if view_of_topic(raw, in_any_namespace=True) is not None:  # of this package
        names.insert(0, f"{raw.removesuffix('/image_raw')}/depth/image_raw")
    found = [name + ending for name in names for ending in _TRANSPORTS]
    return next((name for name in found if name in depths), None)


def topics_of(frames: Frames, words: Sequence[str]) -> tuple[str, ...]:
    """Return topics, each given by its name or by that of a driver.

    Raises:
        InputError: A driver has none or several.
    """
    return tuple(_of_driver(frames, word, None) if word in DRIVERS else word for word in words)


def undistorted_topics(frames: Frames) -> tuple[tuple[str, ...], str]:
    """Return the image topics that hold no images that `distortion_node` distorted.

    Returns:
        The topics, none where all are meant, and a sentence on those left out; empty for none.
    """
    kept = tuple(topic for topic in frames.topics if not _DISTORTED.fullmatch(topic))
    left_out = [topic for topic in frames.topics if topic not in kept]
    if not kept or not left_out:
        return (), ""
    return kept, f"images that are distorted already are left out (--only-topic): {', '.join(left_out)}"


def _stored_topic(frames: Frames, word: str) -> str:
    """Return the topic that a word names: ``.`` is that of images without one, as lists show it."""
    return "" if word == shown_topic("") and "" in frames.topics else word


def _of_driver(frames: Frames, driver: str, view: View | None) -> str:
    """Return the only topic of a driver, or of several that with the name of the camera in it."""
    found = [topic for topic in frames.topics if DRIVERS[driver].fullmatch(topic)]
    of_view = [topic for topic in found if view in topic.split("/")]
    if len(found) > 1 and len(of_view) == 1:
        return of_view[0]
    if len(found) != 1:
        raise InputError(
            f"{frames.path} has {len(found) or 'no'} image topic{'s' * (len(found) > 1)} of {driver}",
            expected=f"{'--only-topic' if view is None else _OPTION} with the name of one",
            available=found or frames.topics,
        )
    return found[0]
